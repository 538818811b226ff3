import type { ChannelId, JobId, Seq } from "../../core/ids.ts";
import { isExact, tellingTerms, withoutTerms } from "../../text/terms.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { readChannel } from "../channels/channels.ts";
import type { Queryable } from "../database/database.ts";
import { readCurrentEntries } from "../log/entry-rows.ts";
import { readLeft, termsGone, termsOf } from "../memory/retold.ts";
import {
  type Digester,
  type Extract,
  mostTokens,
  type ReadyExtracts,
  stateOf,
  type SummaryRange,
} from "./extracts.ts";
import { readMerged } from "./summaries.ts";

/** What becomes of summaries whose messages were taken back or edited. */

/** Entries of a channel that are looked through for a word, the newest. */
const SAID_LATELY = 1000;

const AFFECTED =
  "id, from_seq, to_seq, level, tokens, live, text, texts_gone_at is not null as is_gone, coalesce(saw_from, from_seq) as saw";

/** Who makes the extracts of a deletion, and which are made already. */
export interface ExtractMakers {
  readonly digester: Digester;
  readonly ready: ReadyExtracts;
}

export interface AffectedSummary extends SummaryRange {
  readonly level: number;
  readonly live: boolean;
  readonly text: string;
  /** The first entry whose words it may hold. */
  readonly saw: Seq;
  /** The texts of its range are no longer kept. */
  readonly is_gone: boolean;
  /** What it is about stands in its own range; else it may have read that in the summaries before it. */
  readonly covers: boolean;
}

/**
 * What an edit took is to leave the summaries of it, too: those that no view shows become the extract of what their range says
 * now, and the others have it ready for when they are replaced, and are to be written again. Nothing replaces those whose texts
 * are no longer kept. Of the summaries behind, which may have it from those before them, these are the ones that tell a word of it.
 * @param client in the transaction of the edit
 * @param seq of the edited message
 * @param unsaid what it said and does not say now
 * @returns does a view show it?
 */
export async function renewSummaries(
  client: Queryable,
  channel: ChannelId,
  { seq, unsaid }: { readonly seq: Seq; readonly unsaid: ReadonlySet<string> },
  digester: Digester,
): Promise<boolean> {
  let isShown = false;
  const notes = await client.query<{ seq: Seq }>(
    {
      name: "notes_of_entry",
      text: "select noted_seq as seq from revisions where channel_id = $1 and seq = $2 and noted_seq is not null",
    },
    [channel, seq],
  );
  for (const summary of await readAffected(client, channel, [seq, ...notes.map((note) => note.seq)])) {
    const gone = summary.covers ? unsaid : await retoldBy(client, channel, summary, unsaid);
    if (!summary.covers && gone.size === 0) continue;
    isShown ||= summary.live && (summary.is_gone || !summary.covers);
    const cut = summary.covers || !summary.is_gone ? "" : withoutTerms(summary.text, gone);
    if (cut !== "") {
      await cutText(client, summary, cut);
      continue;
    }
    const extract = await digestOf(client, channel, summary, { digester, ready: new Map() });
    if (!summary.live || summary.is_gone) await replaceText(client, summary, extract);
    else await substitute(client, summary, extract);
  }
  return isShown;
}

/**
 * The same for a summary that was being written while somebody edited what its job reads.
 * @param client in the transaction that has put it in its place
 * @param told is something in its range edited, and the terms that it tells of an edited text, if it has them
 */
export async function renewWritten(
  client: Queryable,
  job: JobId,
  told: { readonly isEdited: boolean; readonly terms: ReadonlySet<string> },
  digester: Digester,
): Promise<void> {
  const [summary] = await client.query<AffectedSummary & { channel: ChannelId } & Record<string, unknown>>(
    {
      name: "summary_written",
      text: `select ${AFFECTED}, true as covers, channel_id as channel from summaries where job_id = $1 and live`,
    },
    [job],
  );
  if (summary === undefined) return;
  if (!told.isEdited && tellingTerms(summary.text).isDisjointFrom(told.terms)) return;
  const { channel } = summary;
  await substitute(client, summary, await digestOf(client, channel, summary, { digester, ready: new Map() }));
}

/** What a live summary becomes as soon as no view shows it; a model is to write it again. */
async function substitute(client: Queryable, { id }: AffectedSummary, extract: Extract): Promise<void> {
  await client.query(
    {
      name: "summary_substitute",
      text: "update summaries set substitute = $2, needs_redo = true where id = $1",
    },
    [id, JSON.stringify(extract)],
  );
}

/**
 * Which of these terms a summary has of what it does not cover. What is still said in its own range it has from there; and a word,
 * from whatever else it may have read.
 */
async function retoldBy(
  client: Queryable,
  channel: ChannelId,
  { text, saw, from_seq: from, to_seq: to }: AffectedSummary,
  unsaid: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const found = tellingTerms(text).intersection(unsaid);
  if (found.size === 0) return found;
  const told = found.difference(termsOf(await readLeft(client, channel, from, to)));
  if (told.size === 0) return told;
  const before = termsOf(await readLeft(client, channel, Math.max(saw, from - SAID_LATELY), from - 1));
  return new Set([...told].filter((term) => isExact(term) || !before.has(term)));
}

/** The shortest first: what a merged one was made of is without the text before it is read. */
export async function readAffected(
  client: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
): Promise<AffectedSummary[]> {
  return client.query<AffectedSummary & Record<string, unknown>>(
    {
      name: "summaries_affected",
      text: `select ${AFFECTED}, exists (select from unnest($2::bigint[]) seq where seq between from_seq and to_seq) as covers
               from summaries
              where channel_id = $1 and kind <> 'reset' and exists (
                select from unnest($2::bigint[]) seq where seq between coalesce(saw_from, from_seq) and to_seq)
              order by to_seq - from_seq, id`,
    },
    [channel, seqs],
  );
}

/** Takes what is said no more from the summaries that may tell it: the shortest first, and those without their texts before them. */
export async function renewAffected(
  client: Queryable,
  channel: ChannelId,
  affected: readonly AffectedSummary[],
  unsaid: ReadonlySet<string>,
  makersOf: (summary: AffectedSummary) => ExtractMakers,
): Promise<void> {
  const left = affected.filter((one) => one.is_gone && !one.covers);
  const covering = affected.filter((one) => one.is_gone && one.covers);
  const told = unsaid.union(await firstTold(client, channel, covering, left));
  for (const summary of left) {
    const gone = await toldOf(client, channel, summary, told, unsaid);
    if (gone.size === 0) continue;
    const text = withoutTerms(summary.text, gone);
    if (text !== "") await cutText(client, summary, text);
    else await replaceText(client, summary, await digestOf(client, channel, summary, makersOf(summary)));
  }
  for (const summary of affected)
    if (!left.includes(summary))
      await replaceText(client, summary, await digestOf(client, channel, summary, makersOf(summary)));
}

/**
 * The terms that later summaries may have of those that go as a whole, and of nothing else: no earlier summary has them, and where
 * it is a word, nobody has said it lately. Nobody can say any more which of them were the words of one message.
 */
async function firstTold(
  client: Queryable,
  channel: ChannelId,
  going: readonly AffectedSummary[],
  later: readonly AffectedSummary[],
): Promise<ReadonlySet<string>> {
  const lost = termsGone(going.map(({ text }) => text));
  const shared = lost.intersection(termsGone(later.map(({ text }) => text)));
  if (shared.size === 0) return shared;
  const earlier = await client.query<{ text: string }>(
    {
      name: "summaries_before",
      text: "select text from summaries where channel_id = $1 and level = 1 and kind <> 'reset' and to_seq < $2",
    },
    [channel, Math.min(...going.map((one) => one.from_seq))],
  );
  const first = shared.difference(termsGone(earlier.map(({ text }) => text)));
  const { lastSeq } = await readChannel(client, channel);
  const said = termsOf(await readLeft(client, channel, lastSeq - SAID_LATELY, lastSeq));
  return new Set([...first].filter((term) => isExact(term) || !said.has(term)));
}

/** Which of these terms a summary has; the names of those who wrote in its range are no news of anybody else. */
async function toldOf(
  client: Queryable,
  channel: ChannelId,
  { text, from_seq: from, to_seq: to }: AffectedSummary,
  told: ReadonlySet<string>,
  unsaid: ReadonlySet<string>,
): Promise<ReadonlySet<string>> {
  const found = tellingTerms(text).intersection(told);
  if (found.isSubsetOf(unsaid)) return found;
  const writers = await client.query<{ name: string }>(
    {
      name: "writers_in_range",
      text: `select distinct author_name as name from entries
              where channel_id = $1 and seq between $2 and $3 and kind in ('user', 'assistant') and author_name is not null`,
    },
    [channel, from, to],
  );
  const names = termsGone(writers.map(({ name }) => name));
  return new Set([...found].filter((term) => unsaid.has(term) || !names.has(term)));
}

async function cutText(client: Queryable, { id }: AffectedSummary, text: string): Promise<void> {
  await client.query(
    {
      name: "summary_cut",
      text: "update summaries set text = $2, tokens = $3, substitute = null where id = $1",
    },
    [id, text, estimateTokens(text)],
  );
}

async function digestOf(
  client: Queryable,
  channel: ChannelId,
  summary: AffectedSummary,
  { digester, ready }: ExtractMakers,
): Promise<Extract> {
  const made = ready.get(summary.id);
  if (made !== undefined && made.of === (await stateOf(client, channel, summary))) return made.extract;
  const { from_seq: fromSeq, to_seq: toSeq, level } = summary;
  const maxTokens = mostTokens(summary);
  const merged = level === 1 ? [] : await readMerged(client, channel, { fromSeq, toSeq });
  if (merged.length > 0)
    return digester.ofTexts(
      merged.map(({ text }) => text),
      maxTokens,
    );
  return digester.ofEntries(await readCurrentEntries(client, channel, fromSeq, toSeq), maxTokens);
}

async function replaceText(
  client: Queryable,
  { id }: AffectedSummary,
  { text, tokens }: Extract,
): Promise<void> {
  await client.query(
    {
      name: "summary_replace",
      // It has seen no more than what it is made of now: a further deletion before that leaves it alone.
      text: `update summaries s
                set text = $2, tokens = $3, kind = 'digest', model = null, needs_redo = live, substitute = null,
                    saw_from = least(
                      from_seq,
                      (select min((e.data->>'edits')::bigint) from entries e
                        where e.channel_id = s.channel_id and e.seq between s.from_seq and s.to_seq and e.kind = 'notice'),
                      (select min(coalesce(p.saw_from, p.from_seq)) from summaries p
                        where p.channel_id = s.channel_id and p.from_seq >= s.from_seq and p.to_seq <= s.to_seq
                          and p.kind <> 'reset' and p.to_seq - p.from_seq < s.to_seq - s.from_seq and s.level > 1))
              where id = $1`,
    },
    [id, text, tokens],
  );
}
