import type { ChannelId, JobId, Seq } from "../../core/ids.ts";
import { isExact, tellingTerms } from "../../text/terms.ts";
import type { Queryable } from "../database/database.ts";
import { readCurrentEntries } from "../log/entry-rows.ts";
import { readLeft, termsOf, type Unsaid } from "../memory/retold.ts";
import { type Digester, type Extract, mostTokens, type SummaryRange } from "./extracts.ts";
import { readMerged } from "./summaries.ts";

/** What becomes of summaries that may tell what was taken back or edited. */

/** Entries before a summary that are looked through for a word, the newest. */
const LOOKED_THROUGH = 1000;

export interface AffectedSummary extends SummaryRange {
  readonly level: number;
  readonly live: boolean;
  /** One of the entries stands in its own range; else it may have read of them in the summaries before it. */
  readonly covers: boolean;
  /** Its text, and that of its substitute. */
  readonly told: string;
  /** The first entry whose words it may hold. */
  readonly saw: Seq;
}

const AFFECTED = `id, from_seq, to_seq, level, tokens, live, concat_ws(E'\\n', text, substitute->>'text') as told,
  coalesce(saw_from, from_seq) as saw`;

/**
 * The summaries that may hold words of these entries. The shortest first: what a merged one was made of is without the text before it
 * is read.
 */
async function readAffected(
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

/**
 * A deletion leaves of each summary that may hold words of these entries the extract of what remains; live ones are to be written again.
 * @param client in the transaction of the deletion, which has changed the texts
 * @param ready finds the extract that was made ahead and still holds
 */
export async function replaceSummaries(
  client: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
  digester: Digester,
  ready: (summary: AffectedSummary) => Promise<Extract | undefined> = async () => undefined,
): Promise<void> {
  for (const summary of await readAffected(client, channel, seqs)) {
    const extract = (await ready(summary)) ?? (await extractOf(client, channel, summary, digester));
    await replaceText(client, summary, extract);
  }
}

/**
 * An edit does the same to summaries that no view shows. The others have the extract ready, for when they are replaced and for whoever
 * summarises next, and are to be written again. Of the summaries behind, which may have read of the entries in those before them, these
 * are the ones that tell a term of what is said no more.
 * @param client in the transaction of the edit, which has changed the texts
 */
export async function renewSummaries(
  client: Queryable,
  channel: ChannelId,
  { seqs, terms }: Unsaid,
  digester: Digester,
): Promise<void> {
  for (const summary of await readAffected(client, channel, seqs)) {
    if (!summary.covers && !(await tells(client, channel, summary, terms))) continue;
    const extract = await extractOf(client, channel, summary, digester);
    if (summary.live) await substitute(client, summary.id, extract);
    else await replaceText(client, summary, extract);
  }
}

/** What was edited while a job was under way. */
export interface EditedMeanwhile {
  /** Something in its range. */
  readonly isInRange: boolean;
  /** Terms that are said no more in all that it has read. */
  readonly terms: ReadonlySet<string>;
}

/**
 * The same for a summary that was written from texts of before an edit.
 * @param client in the transaction that has put it in its place
 * @param ready the extract that was made ahead and still holds; undefined: none
 */
export async function renewWritten(
  client: Queryable,
  channel: ChannelId,
  job: JobId,
  edited: EditedMeanwhile,
  digester: Digester,
  ready?: Extract,
): Promise<void> {
  const [summary] = await client.query<AffectedSummary & Record<string, unknown>>(
    {
      name: "summary_written",
      text: `select ${AFFECTED}, true as covers from summaries where channel_id = $1 and job_id = $2 and live`,
    },
    [channel, job],
  );
  if (summary === undefined) return;
  if (!edited.isInRange && tellingTerms(summary.told).isDisjointFrom(edited.terms)) return;
  await substitute(client, summary.id, ready ?? (await extractOf(client, channel, summary, digester)));
}

/**
 * Does a summary tell one of these terms, and not from what it covers? What is still said in its own range it has from there; a word, and
 * no number, also from whatever else it may have read.
 */
async function tells(
  client: Queryable,
  channel: ChannelId,
  { told, saw, from_seq: from, to_seq: to }: AffectedSummary,
  terms: ReadonlySet<string>,
): Promise<boolean> {
  const found = tellingTerms(told).intersection(terms);
  if (found.size === 0) return false;
  const unsaid = found.difference(termsOf(await readLeft(client, channel, from, to)));
  if (unsaid.size === 0 || [...unsaid].some(isExact)) return unsaid.size > 0;
  const before = await readLeft(client, channel, Math.max(saw, from - LOOKED_THROUGH), from - 1);
  return unsaid.difference(termsOf(before)).size > 0;
}

async function extractOf(
  client: Queryable,
  channel: ChannelId,
  summary: Omit<AffectedSummary, "live" | "covers" | "told" | "saw">,
  digester: Digester,
): Promise<Extract> {
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

/** What a live summary becomes as soon as no view shows it; a model is to write it again. */
async function substitute(client: Queryable, summary: number, extract: Extract): Promise<void> {
  await client.query(
    {
      name: "summary_substitute",
      text: "update summaries set substitute = $2, needs_redo = true where id = $1",
    },
    [summary, JSON.stringify(extract)],
  );
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
