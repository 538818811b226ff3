import type { Carrier } from "../carrier.ts";
import { CALLS } from "./calls.ts";
import { DUE_WORK } from "./due-work.ts";
import { JOBS } from "./jobs.ts";
import { MEMORIES } from "./memories.ts";
import { SUMMARIES } from "./summaries.ts";

/**
 * The messages of people and the answers, with their revisions and their search index. An edit has changed its message already, so that
 * its outcome is known.
 */
const ENTRIES: Carrier = {
  name: "entries",
  texts: [
    { table: "entries", text: "t.text", where: "t.kind in ('user', 'assistant', 'notice')" },
    { table: "revisions", text: "t.text" },
    { table: "entry_search", text: "concat_ws(E'\\n', t.body, t.line)" },
  ],
  async take(tx, { channel, cause }) {
    if (cause.kind !== "deleted") return;
    for (const id of cause.messageIds)
      await tx.query("delete_message", "select seq from delete_message($1, $2)", [channel, id]);
  },
};

/**
 * Quotes of messages that the log did not have when somebody replied to them. One goes by a trigger with the message that replies, by
 * `QuoteStore` with its original, and here with an original that has come into the log since.
 */
const QUOTES: Carrier = {
  name: "quotes",
  texts: [{ table: "quotes", text: "t.text" }],
  async take(tx, { channel, cause }) {
    if (cause.kind === "elsewhere") return;
    const [ids, seq] = cause.kind === "deleted" ? [cause.messageIds, null] : [[], cause.seq];
    await tx.query(
      "quotes_delete",
      `delete from quotes q where q.channel_id = $1 and (q.message_id = any($2)
          or q.message_id = (select e.message_id from entries e where e.channel_id = $1 and e.seq = $3))`,
      [channel, ids, seq],
    );
  },
};

/** Pictures of messages; those of running turns are deleted by a trigger, with the words of their calls. They hold no words. */
const IMAGES: Carrier = {
  name: "images",
  texts: [],
  async take(tx, { channel, cause }) {
    if (cause.kind !== "deleted") return;
    await tx.query(
      "images_delete",
      `delete from images i using channels c
        where c.id = $1 and i.platform = c.platform and i.message_id = any($2)`,
      [channel, cause.messageIds],
    );
  },
};

/**
 * Records of contexts are deleted by deferred triggers of `entries`, `revisions`, `memories` and `notes`: `voided_at` has to be the time
 * of the commit, so that no turn that has read the old text keeps a record.
 */
const CONTEXT_RECORDS: Carrier = {
  name: "context records",
  texts: [{ table: "context_records", text: "t.content::text" }],
};

/**
 * Vectors of texts. A trigger of `entries` deletes those of deleted and expired texts, and a memory's goes with it. An edited text loses
 * its vector here, and gets another one: the entries after it that have one are passed over.
 */
const VECTORS: Carrier = {
  name: "vectors",
  texts: [],
  async take(tx, { channel, cause, derived }) {
    const seqs = [...(cause.kind === "edited" ? [cause.seq] : []), ...derived.reworded];
    if (seqs.length === 0) return;
    await tx.query(
      "vectors_outdated",
      `with outdated as (delete from entry_vectors where channel_id = $1 and seq = any($2))
       update vector_progress set entries_to = $3 where channel_id = $1 and entries_to > $3`,
      [channel, seqs, Math.min(...seqs) - 1],
    );
  },
};

/**
 * Everything that can hold words of people, in the order in which words are removed: messages and due work first, whose texts decide what
 * other rows repeat; calls before what is made of them; summaries last, as extracts of what remains.
 * @param features the carriers of features, in any order: they do not depend on each other
 */
export function allCarriers(features: readonly Carrier[]): readonly Carrier[] {
  return [
    ENTRIES,
    QUOTES,
    DUE_WORK,
    ...features,
    CALLS,
    IMAGES,
    MEMORIES,
    JOBS,
    SUMMARIES,
    CONTEXT_RECORDS,
    VECTORS,
  ];
}
