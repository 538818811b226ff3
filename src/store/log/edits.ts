import type { ChannelId, Seq } from "../../core/ids.ts";
import type { InboundEdit } from "../../core/message.ts";
import { tellingTerms } from "../../text/terms.ts";
import { storableText } from "../../text/text.ts";
import { estimateTokens, MESSAGE_OVERHEAD } from "../../text/tokens.ts";
import { readChannel } from "../channels/channels.ts";
import type { Digester } from "../compaction/extracts.ts";
import { renewSummaries } from "../compaction/renewed-summaries.ts";
import type { Queryable } from "../database/queryable.ts";
import { blankRetoldCalls, takeRetoldMemories, takeUnquoted, tellJobs, termsGone } from "../memory/retold.ts";
import { takeRetoldBesideLog, takeRetoldDueWork } from "../memory/retold-due-work.ts";
import { goneOf, type Noted, readShown, shownInThreads } from "../memory/showings.ts";
import { type Blanked, prepareBlanking, takeShown } from "./deletion.ts";
import { LINE_HEAD_TOKENS } from "./draft-rows.ts";
import { printsOf, type TermKeys } from "./fingerprints.ts";

/** What an edit of a message does to the log, and takes of what was made of the old text. */

export type EditOutcome =
  | { readonly outcome: "unknown" }
  | { readonly outcome: "unchanged"; readonly seq: Seq }
  /** Nobody had read it: it simply says something else now. */
  | {
      readonly outcome: "replaced";
      readonly seq: Seq;
      /** Its text was no longer kept: the edit has taken it back. */
      readonly isGone?: true;
    }
  /** A model had read it: a notice at `notedSeq` tells of the change. */
  | { readonly outcome: "noted"; readonly seq: Seq; readonly notedSeq: Seq };

/** What the log takes of an edit. */
export type LoggedEdit = Pick<InboundEdit, "id" | "text" | "at" | "isLate">;

/** What an edit takes of what was made of the old text. */
export interface EditMakers {
  /** Undefined: summaries stay as they are. */
  readonly digester: Digester | undefined;
  readonly keys: TermKeys;
}

/**
 * Does ahead what an edit need not do under its lock.
 * @returns takes the message back, where its text is no longer kept; undefined: it is
 */
export async function prepareEdit(
  db: Queryable,
  channel: ChannelId,
  edit: LoggedEdit,
  makers: EditMakers,
): Promise<((client: Queryable) => Promise<Blanked>) | undefined> {
  const { digester, keys } = makers;
  if (digester === undefined || !(await isNews(db, channel, edit, keys))) return undefined;
  return prepareBlanking(db, channel, [edit.id], digester, keys);
}

/**
 * Gives a message a new text, and takes what was made of its old one.
 * @param client in a transaction
 * @param blank what {@link prepareEdit} has prepared
 */
export async function editMessage(
  client: Queryable,
  channel: ChannelId,
  edit: LoggedEdit,
  makers: EditMakers,
  blank?: (client: Queryable) => Promise<Blanked>,
): Promise<EditOutcome> {
  const { digester, keys } = makers;
  const stored = storableText(edit.text);
  const tokens = estimateTokens(stored) + LINE_HEAD_TOKENS + MESSAGE_OVERHEAD;
  const [row] = await client.query<RawEdit>(
    { name: "revise_message", text: "select * from revise_message($1, $2, $3, $4, $5)" },
    [channel, storableText(edit.id), stored, tokens, edit.at],
  );
  if (row === undefined || row.outcome === "unknown") return { outcome: "unknown" };
  const { seq } = row;
  if (row.outcome === "unchanged") return { outcome: "unchanged", seq };
  if (row.outcome === "expired") {
    if (digester === undefined || !(await isNews(client, channel, edit, keys)))
      return { outcome: "unchanged", seq };
    // Nobody can say any more which of its words went: all that rests on it goes. It may have become so old only now.
    await (blank ?? (await prepareBlanking(client, channel, [edit.id], digester, keys)))(client);
    return { outcome: "replaced", seq, isGone: true };
  }
  if (edit.isLate === true) await noteLate(client, channel, seq);
  const shown = await readShown(client, channel);
  const { taken, noted } = await takeRetold(client, channel, {
    seq,
    former: row.former,
    now: stored,
    digester,
    keys,
  });
  if (digester !== undefined) {
    const unsaid = { terms: termsGone(row.former, stored), keys };
    const inThreads = await shownInThreads(client, channel, noted);
    await takeShown(client, [...(await goneOf(client, shown)), ...inThreads], unsaid, digester);
  }
  // Results of tools quote memories: more has changed than the notice tells of.
  return row.outcome === "noted" && taken === 0
    ? { outcome: "noted", seq, notedSeq: row.notedSeq }
    : { outcome: "replaced", seq };
}

/** Notes that nobody knows who could read the channel when the newest edit of an entry was made. */
async function noteLate(client: Queryable, channel: ChannelId, seq: Seq): Promise<void> {
  await client.query(
    {
      name: "revision_late",
      text: `update revisions r set is_late = true
              where r.channel_id = $1 and r.seq = $2
                and r.revision = (select max(n.revision) from revisions n where n.channel_id = $1 and n.seq = $2)`,
    },
    [channel, seq],
  );
}

/**
 * Whether an edit of a message whose text is no longer kept changes it. What was known already is none, which a catch-up tells again;
 * nor is what has the terms that it said last: not each edit of a platform changes a word.
 */
async function isNews(
  client: Queryable,
  channel: ChannelId,
  { id, text, at }: Pick<InboundEdit, "id" | "text" | "at">,
  keys: TermKeys,
): Promise<boolean> {
  const [row] = await client.query<{ known: Date; keyId: string | null; said: string | null }>(
    {
      name: "message_expired",
      text: `select greatest(e.appended_at, (select max(r.at) from revisions r
                                              where r.channel_id = e.channel_id and r.seq = e.seq)) as known,
                    p.key_id, encode(p.said, 'hex') as said
               from entries e left join entry_prints p on p.channel_id = e.channel_id and p.seq = e.seq
              where e.message_id = $2 and e.channel_id = $1 and e.expired_at is not null and e.deleted_at is null`,
    },
    [channel, storableText(id)],
  );
  if (row === undefined || at <= row.known) return false;
  const key = row.keyId === null ? null : await keys.find();
  if (key === null || key.id !== row.keyId) return true;
  return printsOf(key, channel, tellingTerms(storableText(text))) !== row.said;
}

interface RawEdit {
  /** `expired`: its text is no longer kept, and nothing was changed. */
  outcome: EditOutcome["outcome"] | "expired";
  seq: Seq;
  notedSeq: Seq;
  /** What the message said before. */
  former: string[];
}

/**
 * Takes what tells of an earlier text. The view keeps its calls as its model has written them.
 * @returns how much changed that the notice does not tell: memories that went, or are said by somebody else now, work of Weir's own, and
 *   whether summaries did that the view shows; and what the notes told that went
 */
async function takeRetold(
  client: Queryable,
  channel: ChannelId,
  {
    seq,
    former,
    now,
    digester,
    keys,
  }: EditMakers & {
    readonly seq: Seq;
    readonly former: readonly string[];
    readonly now: string;
  },
): Promise<{ readonly taken: number; readonly noted: Noted }> {
  const unsaid = { seqs: [seq], terms: termsGone(former, now), keys };
  const edited = { kind: "edited", seq, text: now } as const;
  const due = await takeRetoldDueWork(client, channel, unsaid, edited);
  const unquoted = await takeUnquoted(client, channel, seq, now);
  const retold = await takeRetoldMemories(client, channel, unsaid);
  const noted = await takeRetoldBesideLog(client, channel, unsaid, edited);
  const { coveredTo } = await readChannel(client, channel);
  const called = await blankRetoldCalls(client, channel, unsaid, { to: coveredTo });
  await noteTelling(
    client,
    channel,
    seq,
    called.filter((one) => one > coveredTo),
  );
  const telling = {
    seqs: [seq, ...(await readNotes(client, channel, seq)), ...due, ...called],
    terms: unsaid.terms,
    keys,
  };
  await tellJobs(client, channel, telling);
  const isShown = digester !== undefined && (await renewSummaries(client, channel, telling, digester));
  return { taken: unquoted.length + retold.length + due.length + (isShown ? 1 : 0), noted };
}

/** The notes of a message's edits. */
async function readNotes(client: Queryable, channel: ChannelId, seq: Seq): Promise<Seq[]> {
  const rows = await client.query<{ seq: Seq }>(
    {
      name: "notes_of_entry",
      text: "select noted_seq as seq from revisions where channel_id = $1 and seq = $2 and noted_seq is not null",
    },
    [channel, seq],
  );
  return rows.map((row) => row.seq);
}

/** The view goes on showing these calls, and whoever summarises it reads nothing of them. */
async function noteTelling(
  client: Queryable,
  channel: ChannelId,
  seq: Seq,
  calls: readonly Seq[],
): Promise<void> {
  if (calls.length === 0) return;
  await client.query(
    {
      name: "revision_told_by",
      text: `update revisions set told_by = $3
              where channel_id = $1 and seq = $2
                and revision = (select max(revision) from revisions where channel_id = $1 and seq = $2)`,
    },
    [channel, seq, calls],
  );
}
