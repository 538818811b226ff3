import { setImmediate } from "node:timers/promises";
import { argumentValues, type ToolCall } from "../../core/entry.ts";
import { type ChannelId, memoryId, type MemoryId, type Seq } from "../../core/ids.ts";
import { containsQuote, normalWords } from "../../text/normal-text.ts";
import { isExact, tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/queryable.ts";
import type { TermKeys } from "../log/fingerprints.ts";
import { type LookedThrough, termsOfExpired } from "./recovered-terms.ts";
import { LeftTerms, LOOKED_THROUGH, readAsked, readLeft, type Said, SAID_PRINTS, SaidTerms } from "./said.ts";

/** What was made of texts that have gone: memories, and arguments and results of tool calls that repeat their words. */

/** Entries of a channel that say something no more, and the terms of what they said that they do not say now. */
export interface Unsaid {
  readonly seqs: readonly Seq[];
  readonly terms: ReadonlySet<string>;
  /** By which what is no longer kept, and not taken back, still counts as said. */
  readonly keys: TermKeys;
}

interface RawCandidate {
  id: number;
  subject: string;
  statement: string;
  telling: string[] | null;
  readFrom: number | null;
  readTo: number | null;
  /** What is left of its sources. */
  sources: Said[];
}

/** The terms that texts had and their new one has not. Pure. */
export function termsGone(former: readonly string[], now = ""): Set<string> {
  return new Set(former.flatMap((text) => [...tellingTerms(text)])).difference(tellingTerms(now));
}

/**
 * Takes the memories that tell what is said no more: that share a term with it, and neither with what is left of their
 * sources nor, where it is a word, with what else people said of what their jobs had read.
 * @param client in a transaction that holds the channel's row lock and has changed the texts
 * @returns those that went
 */
export async function takeRetoldMemories(
  client: Queryable,
  channel: ChannelId,
  unsaid: Unsaid,
): Promise<MemoryId[]> {
  if (unsaid.terms.size === 0) return [];
  const candidates = await readCandidates(client, channel, unsaid);
  const left = new LeftTerms(client, channel, unsaid.keys);
  const taken: MemoryId[] = [];
  for (const memory of candidates) {
    const telling = new Set(memory.telling ?? tellingTerms(`${memory.subject} ${memory.statement}`));
    const sources = new SaidTerms(memory.sources, unsaid.keys);
    const unproven = await sources.without(telling.intersection(unsaid.terms));
    if (unproven.size === 0) continue;
    const isLeft = ![...unproven].some(isExact) && (await isStillSaid(left, unproven, memory));
    if (isLeft) continue;
    await client.query({ name: "memory_retold", text: "select forget_memory($1, $2)" }, [channel, memory.id]);
    taken.push(memoryId(memory.id));
  }
  return taken;
}

/** Does what the memory's jobs had read still have all of these terms? */
async function isStillSaid(
  left: LeftTerms,
  terms: ReadonlySet<string>,
  { readFrom: from, readTo: to }: RawCandidate,
): Promise<boolean> {
  if (from === null || to === null) return false;
  return (await left.without(terms, Math.max(from, to - LOOKED_THROUGH), to)).size === 0;
}

async function readCandidates(
  client: Queryable,
  channel: ChannelId,
  { seqs, terms }: Unsaid,
): Promise<RawCandidate[]> {
  return client.query(
    {
      name: "memories_retelling",
      text: `select m.id, m.subject, m.statement, m.telling, m.read_from, m.read_to,
                    (select coalesce(jsonb_agg(jsonb_build_object('text', entry_text(e.channel_id, e.seq, e.text),
                                                                  'author', coalesce(e.author_name, ''), 'prints', ${SAID_PRINTS})), '[]')
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
    },
    [channel, seqs, [...terms], Math.min(...seqs), Math.max(...seqs)],
  );
}

/**
 * An edited entry proves a memory no more where the quote does not stand in it.
 * @returns the memories that it proves no more: those that nothing else proves went, and the others are said by somebody else now
 */
export async function takeUnquoted(
  client: Queryable,
  channel: ChannelId,
  seq: Seq,
  text: string,
): Promise<MemoryId[]> {
  const quotes = await client.query<{ memory: number; quote: string }>(
    {
      name: "quotes_of_entry",
      text: "select memory_id as memory, quote from memory_sources where channel_id = $1 and seq = $2",
    },
    [channel, seq],
  );
  const words = normalWords(text);
  const unquoted = quotes.filter(({ quote }) => !containsQuote(words, normalWords(quote)));
  const memories = unquoted.map(({ memory }) => memory);
  await takeProofs(client, channel, seq, memories);
  return memories.map(memoryId);
}

/** An entry proves these memories no more. @returns those that nothing else proves, and that went */
export async function takeProofs(
  client: Queryable,
  channel: ChannelId,
  seq: Seq,
  memories: readonly number[],
): Promise<MemoryId[]> {
  if (memories.length === 0) return [];
  const gone = await client.query<{ id: number }>(
    { name: "proofs_take", text: "select unnest(take_proofs($1, $2, $3)) as id" },
    [channel, seq, memories],
  );
  return gone.map(({ id }) => memoryId(id));
}

/** An entry with calls, or one with what a call has brought, which may be outside words. */
interface RawCalls {
  seq: number;
  text: string;
  /** Null: it is a result. */
  calls: ToolCall[] | null;
  turn: number;
}

/** Calls and results of a channel that share a term with texts, as far as they were looked for ahead. */
export interface FoundCalls extends LookedThrough {
  readonly seqs: readonly Seq[];
}

/** Calls that are looked through before something else has its turn. */
const CALLS_AT_ONCE = 500;

/**
 * Looks for the calls that {@link blankRetoldCalls} may have to blank, before whoever writes to the channel waits for it: there
 * may be as many as the channel is old. Neither arguments nor results are written anew, so what is found stays true.
 */
export async function findRetoldCalls(
  client: Queryable,
  channel: ChannelId,
  messageIds: readonly string[],
  keys: TermKeys,
): Promise<FoundCalls> {
  const said = await client.query<{ seq: Seq; last: Seq; since: string; texts: string[] }>(
    {
      name: "texts_said",
      text: `select e.seq, c.last_seq as last, pg_snapshot_xmin(pg_current_snapshot())::xid::text as since,
                    array(select e.text union select r.text from revisions r where r.channel_id = e.channel_id and r.seq = e.seq) as texts
               from entries e join channels c on c.id = e.channel_id
              where e.channel_id = $1 and e.message_id = any($2) and e.deleted_at is null`,
    },
    [channel, messageIds],
  );
  const recovered = await termsOfExpired(
    client,
    channel,
    said.map(({ seq }) => seq),
    keys,
  );
  const terms = termsGone(said.flatMap(({ texts }) => texts)).union(recovered);
  const to = Math.max(0, ...said.map(({ last }) => last));
  const since = said[0]?.since ?? null;
  if (terms.size === 0) return { terms, seqs: [], to, since };
  const rows = await readCalls(client, channel, { behind: Math.min(...said.map(({ seq }) => seq)), to });
  const seqs: Seq[] = [];
  for (const [index, row] of rows.entries()) {
    if (shares(row, terms)) seqs.push(row.seq);
    if (index % CALLS_AT_ONCE === CALLS_AT_ONCE - 1) await setImmediate();
  }
  return { terms, seqs, to, since };
}

/** @param among no others of those up to its `to`; null: all */
async function readCalls(
  client: Queryable,
  channel: ChannelId,
  {
    behind,
    to = Number.MAX_SAFE_INTEGER,
    among = null,
  }: { behind: Seq; to?: Seq; among?: FoundCalls | null },
): Promise<RawCalls[]> {
  return client.query<RawCalls>(
    {
      name: "calls_behind",
      text: ["e.kind = 'tool_call'", "e.kind = 'tool_result' and e.text <> ''"]
        .map(
          (kind) => `select e.seq, e.text, e.data->'calls' as calls, e.turn_id as turn from entries e
              where e.channel_id = $1 and ${kind} and e.seq > greatest($2::bigint, $4::bigint) and e.seq <= $3
             union all
             select e.seq, e.text, e.data->'calls', e.turn_id from entries e
              where e.channel_id = $1 and ${kind} and e.seq > $2 and e.seq <= $3 and e.seq <= $4 and e.seq = any($5::bigint[])`,
        )
        .join(" union all "),
    },
    [channel, behind, to, among?.to ?? 0, among?.seqs ?? []],
  );
}

function shares({ text, calls }: RawCalls, terms: ReadonlySet<string>): boolean {
  return [text, ...(calls ?? []).map((call) => argumentValues(call.arguments))].some(
    (one) => !tellingTerms(one).isDisjointFrom(terms),
  );
}

/**
 * Blanks the arguments of tool calls, what the model said beside them, and the words of their results, where they tell what is said
 * no more: where they share a term with it that the messages which their turn answers do not have.
 * @param to the last entry that is blanked; default: all are
 * @param found what was found ahead of it
 * @param client as in {@link takeRetoldMemories}
 * @returns the entries that tell it, those that keep their words included
 */
export async function blankRetoldCalls(
  client: Queryable,
  channel: ChannelId,
  { seqs, terms, keys }: Unsaid,
  { to = Number.MAX_SAFE_INTEGER, found }: { readonly to?: Seq; readonly found?: FoundCalls } = {},
): Promise<Seq[]> {
  if (terms.size === 0) return [];
  // Somebody may have edited the message meanwhile.
  const among = found !== undefined && terms.isSubsetOf(found.terms) ? found : null;
  const rows = await readCalls(client, channel, { behind: Math.min(...seqs), among });
  const telling: Seq[] = [];
  for (const row of rows) {
    const blanked = shares(row, terms) ? await withoutRetold(client, row, terms, keys) : null;
    if (blanked === null) continue;
    telling.push(row.seq);
    if (row.seq <= to) await blank(client, channel, row.seq, blanked);
  }
  return telling;
}

/** What is left of a row without what tells these terms; null: it tells none of them. */
async function withoutRetold(
  client: Queryable,
  { text, calls, turn }: RawCalls,
  terms: ReadonlySet<string>,
  keys: TermKeys,
): Promise<Pick<RawCalls, "text" | "calls"> | null> {
  const known = new SaidTerms(await readAsked(client, turn), keys);
  const retells = async (one: string): Promise<boolean> =>
    (await known.without(tellingTerms(one).intersection(terms))).size > 0;
  const isTold = await retells(text);
  if (calls === null) return isTold ? { text: "", calls } : null;
  const blanked: ToolCall[] = [];
  for (const call of calls)
    blanked.push((await retells(argumentValues(call.arguments))) ? { ...call, arguments: "{}" } : call);
  if (!isTold && blanked.every((call, index) => call === calls[index])) return null;
  return { text: isTold ? "" : text, calls: blanked };
}

async function blank(
  client: Queryable,
  channel: ChannelId,
  seq: Seq,
  { text, calls }: Pick<RawCalls, "text" | "calls">,
): Promise<void> {
  if (calls === null)
    await client.query(
      {
        name: "result_blank",
        text: "update entries set text = '', deleted_at = clock_timestamp() where channel_id = $1 and seq = $2",
      },
      [channel, seq],
    );
  else
    await client.query(
      {
        name: "calls_blank",
        text: "update entries set data = jsonb_set(data, '{calls}', $3::jsonb), text = $4 where channel_id = $1 and seq = $2",
      },
      [channel, seq, JSON.stringify(calls), text],
    );
}

/**
 * What jobs under way had read before an edit becomes no memory, and a summary that tells it is to be written again.
 * @param seqs what was edited, with the notes of its edits and all that tells of it
 */
export async function tellJobs(
  client: Queryable,
  channel: ChannelId,
  { seqs, terms, keys }: Unsaid,
): Promise<void> {
  const jobs = await client.query<{ id: number; fromSeq: number; toSeq: number }>(
    {
      name: "jobs_reading",
      text: `select id, from_seq, to_seq from jobs where channel_id = $1 and state in ('running', 'staged')
                and exists (select from unnest($2::bigint[]) seq where seq between coalesce(saw_from, from_seq) and to_seq)`,
    },
    [channel, seqs],
  );
  for (const { id, fromSeq: from, toSeq: to } of jobs) {
    const left = new SaidTerms(await readLeft(client, channel, from, to), keys);
    await client.query(
      {
        name: "job_edited",
        text: `update jobs set edited_seqs = edited_seqs || $2::bigint[], edited_terms = edited_terms || $3::text[],
                      edited = edited or exists (select from unnest($2::bigint[]) seq where seq between from_seq and to_seq)
                where id = $1`,
      },
      [id, seqs, [...(await left.without(terms))]],
    );
  }
}
