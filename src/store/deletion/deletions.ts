import type { ChannelId, Seq } from "../../core/ids.ts";
import { mentionId } from "../../core/message.ts";
import { storableText } from "../../text/text.ts";
import type { Digester } from "../compaction/extracts.ts";
import type { Queryable } from "../database/queryable.ts";
import { findCalls } from "./carriers/calls.ts";
import type { DeletionEngine } from "./deletion-engine.ts";
import { readyExtracts } from "./ready-extracts.ts";
import { type FoundCalls, termsRemoved } from "./removal.ts";

export interface Deleted {
  readonly seqs: readonly Seq[];
  /** Memories that repeated them, or had no other source. */
  readonly memories: number;
}

/**
 * Does the part of a deletion that needs no lock.
 * @returns deletes the messages and everything that repeats them, by a client in a transaction
 */
export async function prepareDeletion(
  engine: DeletionEngine,
  db: Queryable,
  channel: ChannelId,
  messageIds: readonly string[],
  digester: Digester,
): Promise<(tx: Queryable) => Promise<Deleted>> {
  const ids = messageIds.map(storableText);
  const ready = await readyExtracts(db, channel, ids, digester);
  const found = await findWhatRepeats(engine, db, channel, ids);
  return async (tx) => {
    const texts = await tx.query<{ seq: Seq; text: string }>(
      "texts_to_go",
      "select seq, text from texts_to_go($1, $2)",
      [channel, ids],
    );
    const seqs = [...new Set(texts.map(({ seq }) => seq))];
    if (seqs.length === 0) return { seqs, memories: 0 };
    const recovered = await engine.recover(tx, channel, seqs, found);
    const proved = await readProved(tx, channel, seqs);
    const { memories } = await engine.remove(tx, {
      channel,
      cause: {
        kind: "deleted",
        messageIds: [...ids, ...(await readMentions(tx, channel, ids))],
        found,
        ready,
      },
      seqs,
      terms: termsRemoved(texts.map(({ text }) => text)).union(recovered),
      digester,
    });
    const left = await tx.query("memories_left", "select from memories where id = any($1)", [proved]);
    const others = memories.filter((id) => !proved.includes(id));
    return { seqs, memories: proved.length - left.length + others.length };
  };
}

/** Searches for the terms of messages, and the calls that have them: there may be as many as the channel is old. */
async function findWhatRepeats(
  engine: DeletionEngine,
  db: Queryable,
  channel: ChannelId,
  messageIds: readonly string[],
): Promise<FoundCalls> {
  const rows = await db.query<{ seq: Seq; last: Seq; since: string; texts: string[] }>(
    "texts_said",
    `select e.seq, c.last_seq as last, pg_snapshot_xmin(pg_current_snapshot())::xid::text as since,
            array(select e.text union select r.text from revisions r where r.channel_id = e.channel_id and r.seq = e.seq) as texts
       from entries e join channels c on c.id = e.channel_id
      where e.channel_id = $1 and e.message_id = any($2) and e.deleted_at is null`,
    [channel, messageIds],
  );
  const seqs = rows.map(({ seq }) => seq);
  const recovered = await engine.recover(db, channel, seqs);
  const terms = termsRemoved(rows.flatMap(({ texts }) => texts)).union(recovered);
  const to = Math.max(0, ...rows.map(({ last }) => last));
  const calls = terms.size === 0 ? [] : await findCalls(db, channel, terms, { after: Math.min(...seqs), to });
  return { terms, seqs: calls, to, since: rows[0]?.since ?? null };
}

/** The entries that ask for an answer to these messages because of an edit: they have none of their words. */
async function readMentions(tx: Queryable, channel: ChannelId, ids: readonly string[]): Promise<string[]> {
  const rows = await tx.query<{ messageId: string }>(
    "mentions_to_go",
    "select message_id from entries where message_id = any($2) and channel_id = $1 and deleted_at is null",
    [channel, ids.map(mentionId)],
  );
  return rows.map(({ messageId }) => messageId);
}

/** The memories that messages prove, and those that may rest on what tools returned for them. */
async function readProved(
  tx: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
): Promise<readonly number[]> {
  const rows = await tx.query<{ id: number }>(
    "memories_proved",
    `select memory_id as id from memory_sources where channel_id = $1 and seq = any($2)
     union select id from memories where channel_id = $1 and tool is not null`,
    [channel, seqs],
  );
  return rows.map(({ id }) => id);
}
