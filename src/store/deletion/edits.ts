import type { ChannelId, Seq } from "../../core/ids.ts";
import type { InboundEdit } from "../../core/message.ts";
import { tellingTerms } from "../../text/terms.ts";
import { storableText } from "../../text/text.ts";
import { estimateTokens, MESSAGE_OVERHEAD } from "../../text/tokens.ts";
import type { Digester } from "../compaction/extracts.ts";
import type { Queryable } from "../database/queryable.ts";
import { LINE_HEAD_TOKENS } from "../log/draft-rows.ts";
import type { DeletionEngine } from "./deletion-engine.ts";
import { type Deleted, prepareDeletion } from "./deletions.ts";
import { printsOf, type TermKeys } from "./fingerprints.ts";
import { termsRemoved } from "./removal.ts";

/** An edit gives a message another text, and removes what repeats the words that it lost. */

export type EditOutcome =
  | { readonly outcome: "unknown" }
  | { readonly outcome: "unchanged"; readonly seq: Seq }
  /** Nobody had read it: it simply says something else now. */
  | {
      readonly outcome: "replaced";
      readonly seq: Seq;
      /** Its text had expired: the edit has deleted it. */
      readonly isDeleted?: true;
    }
  /** A model had read it: a notice at `notedSeq` announces the change. */
  | { readonly outcome: "noted"; readonly seq: Seq; readonly notedSeq: Seq };

export type LoggedEdit = Pick<InboundEdit, "id" | "text" | "at" | "isLate">;

/**
 * Does the part of an edit that needs no lock.
 * @returns deletes the message, where its text has expired; undefined: it has not
 */
export async function prepareEdit(
  engine: DeletionEngine,
  db: Queryable,
  channel: ChannelId,
  edit: LoggedEdit,
  digester: Digester,
): Promise<((tx: Queryable) => Promise<Deleted>) | undefined> {
  if (!(await changesExpired(db, channel, edit, engine.keys))) return undefined;
  return prepareDeletion(engine, db, channel, [edit.id], digester);
}

/**
 * Gives a message a new text, and removes what repeats its old one.
 * @param tx a transaction
 * @param deleteMessage as {@link prepareEdit} has prepared it
 */
export async function editMessage(
  engine: DeletionEngine,
  tx: Queryable,
  channel: ChannelId,
  edit: LoggedEdit,
  digester: Digester,
  deleteMessage?: (tx: Queryable) => Promise<Deleted>,
): Promise<EditOutcome> {
  const text = storableText(edit.text);
  const tokens = estimateTokens(text) + LINE_HEAD_TOKENS + MESSAGE_OVERHEAD;
  const [row] = await tx.query<RawEdit>(
    "revise_message",
    "select * from revise_message($1, $2, $3, $4, $5)",
    [channel, storableText(edit.id), text, tokens, edit.at],
  );
  if (row === undefined || row.outcome === "unknown") return { outcome: "unknown" };
  const { seq } = row;
  if (row.outcome === "unchanged") return { outcome: "unchanged", seq };
  if (row.outcome === "expired") {
    if (!(await changesExpired(tx, channel, edit, engine.keys))) return { outcome: "unchanged", seq };
    // Nobody knows which of its words the edit removed, so all count. The text may have expired since the preparation.
    await (deleteMessage ?? (await prepareDeletion(engine, tx, channel, [edit.id], digester)))(tx);
    return { outcome: "replaced", seq, isDeleted: true };
  }
  if (edit.isLate === true) await noteLate(tx, channel, seq);
  const { memories, dueWork, reworded, isViewCut } = await engine.remove(tx, {
    channel,
    cause: { kind: "edited", seq, text, notices: await readNotices(tx, channel, seq) },
    seqs: [seq],
    terms: termsRemoved(row.former, text),
    digester,
  });
  // The notice announces the new text alone: results of tools may quote memories.
  const hasMore = memories.length + dueWork.length + reworded.length > 0 || isViewCut;
  return row.outcome === "noted" && !hasMore
    ? { outcome: "noted", seq, notedSeq: row.notedSeq }
    : { outcome: "replaced", seq };
}

/** Marks the newest edit of an entry as late: who could read the channel when it was made is unknown. */
async function noteLate(tx: Queryable, channel: ChannelId, seq: Seq): Promise<void> {
  await tx.query(
    "revision_late",
    `update revisions r set is_late = true
      where r.channel_id = $1 and r.seq = $2
        and r.revision = (select max(n.revision) from revisions n where n.channel_id = $1 and n.seq = $2)`,
    [channel, seq],
  );
}

/**
 * Whether an edit changes a message whose text has expired. An edit that is not newer than the last known one comes from a catch-up; one
 * with the same terms changes no word, as many edits of platforms do.
 */
async function changesExpired(
  client: Queryable,
  channel: ChannelId,
  { id, text, at }: LoggedEdit,
  keys: TermKeys,
): Promise<boolean> {
  const [row] = await client.query<{ known: Date; keyId: string | null; said: string | null }>(
    "message_expired",
    `select greatest(e.appended_at, (select max(r.at) from revisions r
                                      where r.channel_id = e.channel_id and r.seq = e.seq)) as known,
            p.key_id, encode(p.said, 'hex') as said
       from entries e left join entry_prints p on p.channel_id = e.channel_id and p.seq = e.seq
      where e.message_id = $2 and e.channel_id = $1 and e.expired_at is not null and e.deleted_at is null`,
    [channel, storableText(id)],
  );
  if (row === undefined || at <= row.known) return false;
  const key = row.keyId === null ? null : await keys.find();
  if (key === null || key.id !== row.keyId) return true;
  return printsOf(key, channel, tellingTerms(storableText(text))) !== row.said;
}

interface RawEdit {
  /** `expired`: its text has expired, and nothing was changed. */
  outcome: EditOutcome["outcome"] | "expired";
  seq: Seq;
  notedSeq: Seq;
  former: string[];
}

async function readNotices(tx: Queryable, channel: ChannelId, seq: Seq): Promise<Seq[]> {
  const rows = await tx.query<{ seq: Seq }>(
    "notes_of_entry",
    "select noted_seq as seq from revisions where channel_id = $1 and seq = $2 and noted_seq is not null",
    [channel, seq],
  );
  return rows.map((row) => row.seq);
}
