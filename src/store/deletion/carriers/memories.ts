import { type ChannelId, type MemoryId, memoryId, type Seq } from "../../../core/ids.ts";
import { containsQuote, normalWords } from "../../../text/normal-text.ts";
import { isExact, tellingTerms } from "../../../text/terms.ts";
import type { Queryable } from "../../database/queryable.ts";
import type { Carrier } from "../carrier.ts";
import {
  ChannelTerms,
  LOOKED_THROUGH,
  REMAINING_PRINTS,
  RemainingTerms,
  type RemainingText,
} from "../remaining-terms.ts";

interface RawCandidate {
  id: number;
  subject: string;
  statement: string;
  telling: string[] | null;
  readFrom: number | null;
  readTo: number | null;
  sources: RemainingText[];
}

/**
 * Memories. A deletion removes those that lose their last source (`delete_message`), an edit those whose quotes no source contains. A
 * result of a tool is no source once it is blanked, or once a message for which the tool was called is deleted (`is_for_deleted`).
 * A memory repeats the words by a term that neither its remaining sources have nor, where it is a word, other messages that its jobs had
 * read. In other channels only a memory that comes from a call or due work there can do so.
 */
export const MEMORIES: Carrier = {
  name: "memories",
  texts: [
    {
      table: "memories",
      text: "concat_ws(' ', t.subject, t.statement)",
      terms: "t.telling",
      compared: { in: "channel" },
    },
    { table: "memory_sources", text: "t.quote" },
  ],
  async take(tx, removal) {
    const { channel, cause, derived, terms, keys } = removal;
    if (cause.kind === "edited") derived.memories.push(...(await endQuotes(tx, channel, cause)));
    const seqs =
      cause.kind === "elsewhere" ? [...derived.dueWork, ...derived.reworded, ...derived.calls] : removal.seqs;
    if (terms.size === 0 || seqs.length === 0) return;
    const remaining = new ChannelTerms(tx, channel, keys);
    for (const memory of await readCandidates(tx, channel, seqs, terms)) {
      const telling = new Set(memory.telling ?? tellingTerms(`${memory.subject} ${memory.statement}`));
      const unproven = await new RemainingTerms(memory.sources, keys).without(telling.intersection(terms));
      if (unproven.size === 0) continue;
      if (![...unproven].some(isExact) && (await isStillSaid(remaining, unproven, memory))) continue;
      await tx.query("memory_repeats", "select forget_memory($1, $2)", [channel, memory.id]);
      derived.memories.push(memoryId(memory.id));
    }
  },
};

/** Whether messages that the memory's jobs had read still have all of these terms. */
async function isStillSaid(
  remaining: ChannelTerms,
  terms: ReadonlySet<string>,
  { readFrom: from, readTo: to }: RawCandidate,
): Promise<boolean> {
  if (from === null || to === null) return false;
  return (await remaining.without(terms, Math.max(from, to - LOOKED_THROUGH), to)).size === 0;
}

async function readCandidates(
  tx: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
  terms: ReadonlySet<string>,
): Promise<RawCandidate[]> {
  return tx.query(
    "memories_retelling",
    `select m.id, m.subject, m.statement, m.telling, m.read_from, m.read_to,
            (select coalesce(jsonb_agg(jsonb_build_object('text', entry_text(e.channel_id, e.seq, e.text),
                                                          'author', coalesce(e.author_name, ''), 'prints', ${REMAINING_PRINTS})), '[]')
               from memory_sources s join entries e on e.channel_id = s.channel_id and e.seq = s.seq
              where s.memory_id = m.id and e.deleted_at is null) as sources
       from memories m
      where m.id in (
              select r.id from memories r where r.channel_id = $1 and r.read_to >= $4 and r.read_from <= $5
                 and exists (select from unnest($2::bigint[]) seq where seq between r.read_from and r.read_to)
              union all
              select s.memory_id from memory_sources s where s.channel_id = $1 and s.seq = any($2))
        and (m.telling is null or m.telling && $3::text[])
      order by m.id`,
    [channel, seqs, [...terms], Math.min(...seqs), Math.max(...seqs)],
  );
}

/**
 * Ends the proofs of an edited message whose quotes it no longer contains.
 * @returns the memories that lost it: removed, or with other sources and perhaps another speaker
 */
async function endQuotes(
  tx: Queryable,
  channel: ChannelId,
  { seq, text }: { readonly seq: Seq; readonly text: string },
): Promise<MemoryId[]> {
  const quotes = await tx.query<{ memory: number; quote: string }>(
    "quotes_of_entry",
    "select memory_id as memory, quote from memory_sources where channel_id = $1 and seq = $2",
    [channel, seq],
  );
  const words = normalWords(text);
  const memories = quotes
    .filter(({ quote }) => !containsQuote(words, normalWords(quote)))
    .map(({ memory }) => memory);
  if (memories.length === 0) return [];
  await tx.query("proofs_take", "select take_proofs($1, $2, $3)", [channel, seq, memories]);
  return memories.map(memoryId);
}
