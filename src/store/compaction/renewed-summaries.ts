import type { ChannelId, JobId, Seq } from "../../core/ids.ts";
import { isExact, tellingTerms, withoutTerms } from "../../text/terms.ts";
import { estimateTokens } from "../../text/tokens.ts";
import type { Queryable } from "../database/queryable.ts";
import { readCurrentEntries } from "../log/entry-rows.ts";
import type { Unsaid } from "../memory/retold.ts";
import { LOOKED_THROUGH, unsaidBetween } from "../memory/said.ts";
import { type Digester, type Extract, mostTokens, type SummaryRange } from "./extracts.ts";
import { readMerged } from "./summaries.ts";

/** What becomes of summaries that may tell what was taken back or edited. */

export interface AffectedSummary extends SummaryRange {
  readonly level: number;
  readonly live: boolean;
  /** One of the entries stands in its own range; else it may have read of them in the summaries before it. */
  readonly covers: boolean;
  readonly text: string;
  /** Its text, and that of its substitute. */
  readonly told: string;
  /** The first entry whose words it may hold. */
  readonly saw: Seq;
  /** The texts of its range are no longer kept: it cannot be written again. */
  readonly isGone: boolean;
}

/** Of a merged one nothing is left to write it again of, or an extract of, only if all of its texts are gone. */
const IS_GONE = `(s.texts_gone_at is not null or s.level > 1 and not exists (
  select from summaries p where p.channel_id = s.channel_id and p.level = 1 and p.kind <> 'reset' and p.texts_gone_at is null
     and p.from_seq <= s.to_seq and p.to_seq >= s.from_seq))`;
const AFFECTED = `s.id, s.from_seq, s.to_seq, s.level, s.tokens, s.live, s.text, concat_ws(E'\\n', s.text, s.substitute->>'text') as told,
  coalesce(s.saw_from, s.from_seq) as saw, ${IS_GONE} as is_gone`;

/**
 * The summaries that may hold words of these entries. The shortest first: what a merged one was made of is without the text before it
 * is read.
 * @param behind with all that cannot be written again behind this entry: nobody knows any more which calls of theirs told of it
 */
async function readAffected(
  client: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
  behind: Seq,
): Promise<AffectedSummary[]> {
  return client.query<AffectedSummary>(
    {
      name: "summaries_affected",
      text: `select ${AFFECTED}, exists (select from unnest($2::bigint[]) seq where seq between s.from_seq and s.to_seq) as covers
               from summaries s
              where s.channel_id = $1 and s.kind <> 'reset' and (exists (
                  select from unnest($2::bigint[]) seq where seq between coalesce(s.saw_from, s.from_seq) and s.to_seq)
                or s.to_seq >= $3 and ${IS_GONE})
              order by s.to_seq - s.from_seq, s.id`,
    },
    [channel, seqs, behind],
  );
}

/**
 * The summaries that can be written again, are not among those, and may have read what sentences were taken out of: what these told may
 * stand there, wherever they had it from. The shortest first.
 * @param cut the last entries of the ranges of what sentences were taken out of
 */
async function readReaders(
  client: Queryable,
  channel: ChannelId,
  cut: readonly Seq[],
  those: readonly AffectedSummary[],
): Promise<AffectedSummary[]> {
  if (cut.length === 0) return [];
  return client.query<AffectedSummary>(
    {
      name: "summaries_reading_cut",
      text: `select ${AFFECTED}, false as covers from summaries s
              where s.channel_id = $1 and s.kind <> 'reset' and not ${IS_GONE} and s.id <> all ($3::bigint[])
                and exists (select from unnest($2::bigint[]) seq where seq between coalesce(s.saw_from, s.from_seq) and s.to_seq)
              order by s.to_seq - s.from_seq, s.id`,
    },
    [channel, cut, those.map(({ id }) => id)],
  );
}

/** What becomes of a summary that may tell what is said no more, and can be written again. */
interface Change {
  /** Does it tell of it, or is it to be counted so? */
  readonly tells: (summary: AffectedSummary) => Promise<boolean>;
  readonly change: (summary: AffectedSummary) => Promise<void>;
}

/**
 * Changes the summaries that may tell what is said no more. Of one that cannot be written again the sentences go that do; those that
 * have read such a one are changed where they tell it, too.
 * @param seqs what is said no more, and all that told of it
 * @returns did sentences go from one that a view shows?
 */
async function changeSummaries(
  client: Queryable,
  channel: ChannelId,
  unsaid: Unsaid,
  seqs: readonly Seq[],
  { tells, change }: Change,
): Promise<boolean> {
  const cut: AffectedSummary[] = [];
  const affected = await readAffected(client, channel, seqs, Math.min(...unsaid.seqs));
  for (const summary of affected) {
    if (!summary.isGone) {
      if (await tells(summary)) await change(summary);
    } else if (await cutText(client, summary, await unsaidIn(client, channel, summary, unsaid))) {
      cut.push(summary);
    }
  }
  const ends = cut.map(({ toSeq: end }) => end);
  for (const summary of await readReaders(client, channel, ends, affected))
    if ((await unsaidIn(client, channel, summary, unsaid)).size > 0) await change(summary);
  await endJobsReading(client, channel, ends);
  return cut.some(({ live }) => live);
}

/**
 * A deletion leaves of each summary that may hold words of these entries the extract of what remains; live ones are to be written again.
 * @param client in the transaction of the deletion, which has changed the texts
 * @param unsaid what went, of whose terms the last ones look
 * @param seqs what went, and all that told of it
 * @param ready finds the extract that was made ahead and still holds
 */
export async function replaceSummaries(
  client: Queryable,
  channel: ChannelId,
  unsaid: Unsaid,
  seqs: readonly Seq[],
  digester: Digester,
  ready: (summary: AffectedSummary) => Promise<Extract | undefined> = async () => undefined,
): Promise<void> {
  await changeSummaries(client, channel, unsaid, seqs, {
    tells: async () => true,
    change: async (summary) => {
      const extract = (await ready(summary)) ?? (await extractOf(client, channel, summary, digester));
      await replaceText(client, summary, extract);
    },
  });
}

/**
 * An edit does the same to summaries that no view shows. The others have the extract ready, for when they are replaced and for whoever
 * summarises next, and are to be written again. Of the summaries behind, which may have read of the entries in those before them, these
 * are the ones that tell a term of what is said no more.
 * @param client in the transaction of the edit, which has changed the texts
 * @returns did one change that a view shows?
 */
export async function renewSummaries(
  client: Queryable,
  channel: ChannelId,
  unsaid: Unsaid,
  digester: Digester,
): Promise<boolean> {
  return changeSummaries(client, channel, unsaid, unsaid.seqs, {
    tells: async (summary) => summary.covers || (await unsaidIn(client, channel, summary, unsaid)).size > 0,
    change: async (summary) => {
      const extract = await extractOf(client, channel, summary, digester);
      if (summary.live) await substitute(client, summary.id, extract);
      else await replaceText(client, summary, extract);
    },
  });
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
  const [summary] = await client.query<AffectedSummary>(
    {
      name: "summary_written",
      text: `select ${AFFECTED}, true as covers from summaries s where s.channel_id = $1 and s.job_id = $2 and s.live`,
    },
    [channel, job],
  );
  if (summary === undefined) return;
  if (!edited.isInRange && tellingTerms(summary.told).isDisjointFrom(edited.terms)) return;
  await substitute(client, summary.id, ready ?? (await extractOf(client, channel, summary, digester)));
}

/**
 * Which of these terms a summary tells, and not from what it covers. What is still said in its own range it has from there; a word, and
 * no number, also from whatever else it may have read. Where it tells a number of them, it tells its words with it.
 */
async function unsaidIn(
  client: Queryable,
  channel: ChannelId,
  { told, saw, fromSeq: from, toSeq: to }: AffectedSummary,
  { terms, keys }: Pick<Unsaid, "terms" | "keys">,
): Promise<ReadonlySet<string>> {
  const found = tellingTerms(told).intersection(terms);
  const unsaid = await unsaidBetween(client, channel, found, { from, to }, keys);
  if (unsaid.size === 0 || [...unsaid].some(isExact)) return unsaid;
  const before = { from: Math.max(saw, from - LOOKED_THROUGH), to: from - 1 };
  return unsaidBetween(client, channel, unsaid, before, keys);
}

/** What a summary says where something was taken out that cannot be written again. */
export const TAKEN_OUT = "(Something was taken out here.)";

/** Takes the sentences out of a summary that tell these terms. @returns whether there are any */
async function cutText(
  client: Queryable,
  { id, text }: AffectedSummary,
  terms: ReadonlySet<string>,
): Promise<boolean> {
  if (terms.size === 0) return false;
  const rest = withoutTerms(text, terms);
  const left = rest.endsWith(TAKEN_OUT) ? rest : `${rest}\n${TAKEN_OUT}`.trim();
  await client.query(
    {
      name: "summary_cut",
      text: "update summaries set text = $2, tokens = $3, substitute = null where id = $1",
    },
    [id, left, estimateTokens(left)],
  );
  return true;
}

/** What reads these entries just now, and what was written ahead of them, is no summary: it begins again without what went. */
export async function endJobsReading(
  client: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
): Promise<void> {
  if (seqs.length === 0) return;
  await client.query(
    {
      name: "jobs_end_reading",
      text: `update jobs set state = 'stale', reason = 'what it had read told of a deleted message', ended_at = clock_timestamp()
              where channel_id = $1 and state in ('running', 'staged', 'ahead')
                and exists (select from unnest($2::bigint[]) seq where seq between coalesce(saw_from, from_seq) and to_seq)`,
    },
    [channel, seqs],
  );
}

async function extractOf(
  client: Queryable,
  channel: ChannelId,
  summary: Pick<AffectedSummary, "fromSeq" | "toSeq" | "level" | "tokens" | "id">,
  digester: Digester,
): Promise<Extract> {
  const { fromSeq, toSeq, level } = summary;
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
