import type { ChannelId, JobId, Seq } from "../../../core/ids.ts";
import { isExact, tellingTerms, withoutTerms } from "../../../text/terms.ts";
import { estimateTokens } from "../../../text/tokens.ts";
import { type Digester, type Extract, mostTokens, type SummaryRange } from "../../compaction/extracts.ts";
import { readMerged } from "../../compaction/summaries.ts";
import type { Queryable } from "../../database/queryable.ts";
import { readCurrentEntries } from "../../log/entry-rows.ts";
import type { Carrier } from "../carrier.ts";
import { stateOf } from "../ready-extracts.ts";
import { LOOKED_THROUGH, missingBetween } from "../remaining-terms.ts";
import { type RemovedTerms, type Removal, tellingEntries } from "../removal.ts";
import { endJobsReading } from "./jobs.ts";

interface AffectedSummary extends SummaryRange {
  readonly level: number;
  readonly live: boolean;
  /** One of the entries is in its own range; else it may have read their words in summaries before it. */
  readonly covers: boolean;
  readonly text: string;
  /** Its text, and that of its substitute. */
  readonly words: string;
  /** The first entry whose words it may hold. */
  readonly saw: Seq;
  /** The texts of its range have expired: it cannot be written again. */
  readonly isExpired: boolean;
}

/** A merged one can be written again, or made an extract of, as long as some of its texts remain. */
const IS_EXPIRED = `(s.texts_gone_at is not null or s.level > 1 and not exists (
  select from summaries p where p.channel_id = s.channel_id and p.level = 1 and p.kind <> 'reset' and p.texts_gone_at is null
     and p.from_seq <= s.to_seq and p.to_seq >= s.from_seq))`;
const AFFECTED = `s.id, s.from_seq, s.to_seq, s.level, s.tokens, s.live, s.text, concat_ws(E'\\n', s.text, s.substitute->>'text') as words,
  coalesce(s.saw_from, s.from_seq) as saw, ${IS_EXPIRED} as is_expired`;

/**
 * The summaries that may hold words of these entries. The shortest come first, so that a merged one is made of changed
 * ones.
 * @param after summaries that end at or after this entry and cannot be written again are returned too, since it is
 * unknown which of their calls repeated it
 */
async function readAffected(
  tx: Queryable,
  channel: ChannelId,
  seqs: readonly Seq[],
  after: Seq,
): Promise<AffectedSummary[]> {
  return tx.query<AffectedSummary>(
    "summaries_affected",
    `select ${AFFECTED}, exists (select from unnest($2::bigint[]) seq where seq between s.from_seq and s.to_seq) as covers
       from summaries s
      where s.channel_id = $1 and s.kind <> 'reset' and (exists (
          select from unnest($2::bigint[]) seq where seq between coalesce(s.saw_from, s.from_seq) and s.to_seq)
        or s.to_seq >= $3 and ${IS_EXPIRED})
      order by s.to_seq - s.from_seq, s.id`,
    [channel, seqs, after],
  );
}

/**
 * The summaries that can be written again, are not among those, and may have read one that lost sentences. The shortest come first.
 * @param cut the last entries of the ranges of those that lost sentences
 */
async function readReaders(
  tx: Queryable,
  channel: ChannelId,
  cut: readonly Seq[],
  those: readonly AffectedSummary[],
): Promise<AffectedSummary[]> {
  if (cut.length === 0) return [];
  return tx.query<AffectedSummary>(
    "summaries_reading_cut",
    `select ${AFFECTED}, false as covers from summaries s
      where s.channel_id = $1 and s.kind <> 'reset' and not ${IS_EXPIRED} and s.id <> all ($3::bigint[])
        and exists (select from unnest($2::bigint[]) seq where seq between coalesce(s.saw_from, s.from_seq) and s.to_seq)
      order by s.to_seq - s.from_seq, s.id`,
    [channel, cut, those.map(({ id }) => id)],
  );
}

/**
 * Summaries that may hold words of the entries. A deletion leaves of each the extract of what remains, and live ones are written again. An
 * edit does the same to those that no view shows; the others get the extract as a substitute, which they become when they leave
 * the view, and which the next summariser reads. A summary whose texts have expired cannot be written again: it loses its sentences with
 * the words, and so do the summaries that have read it.
 */
export const SUMMARIES: Carrier = {
  name: "summaries",
  texts: [
    {
      table: "summaries",
      text: "concat_ws(E'\\n', t.text, t.substitute->>'text')",
      where: "t.kind <> 'reset'",
      compared: { in: "channel", lastRead: "t.to_seq" },
    },
  ],
  async take(tx, removal) {
    const { channel, cause, derived, keys } = removal;
    // Summaries repeat due work as well, whose text may have expired.
    const terms = removal.terms.union(await removal.recover(derived.dueWork));
    const removed = { seqs: removal.seqs, terms, keys };
    const cut: AffectedSummary[] = [];
    const affected = await readAffected(tx, channel, tellingEntries(removal), Math.min(...removal.seqs));
    for (const summary of affected) {
      if (summary.isExpired) {
        if (await cutText(tx, summary, await repeatedIn(tx, channel, summary, removed))) cut.push(summary);
      } else if (
        cause.kind !== "edited" ||
        summary.covers ||
        (await repeatedIn(tx, channel, summary, removed)).size > 0
      ) {
        await replace(tx, summary, removal);
      }
    }
    const ends = cut.map(({ toSeq: end }) => end);
    for (const summary of await readReaders(tx, channel, ends, affected))
      if ((await repeatedIn(tx, channel, summary, removed)).size > 0) await replace(tx, summary, removal);
    await endJobsReading(tx, channel, ends);
    derived.isViewCut = cut.some(({ live }) => live);
  },
};

/** Puts the extract of what remains in the place of a summary, or beside it. */
async function replace(tx: Queryable, summary: AffectedSummary, removal: Removal): Promise<void> {
  const { channel, cause, digester } = removal;
  const extract =
    (await readyExtract(tx, summary, removal)) ?? (await extractOf(tx, channel, summary, digester));
  if (cause.kind === "edited" && summary.live) await substitute(tx, summary.id, extract);
  else await replaceText(tx, summary, extract);
}

/** The extract that was made before the lock, where it still holds: it may be made of the words of calls or due work. */
async function readyExtract(
  tx: Queryable,
  summary: AffectedSummary,
  { channel, cause, derived }: Removal,
): Promise<Extract | undefined> {
  const made = cause.kind === "deleted" ? cause.ready.get(summary.id) : undefined;
  if (made === undefined) return undefined;
  const isRepeated = [...derived.dueWork, ...derived.calls].some(
    (seq) => seq >= summary.fromSeq && seq <= summary.toSeq,
  );
  return !isRepeated && made.of === (await stateOf(tx, channel, summary)) ? made.extract : undefined;
}

export interface EditedMeanwhile {
  /** Whether an entry in its range was. */
  readonly isInRange: boolean;
  /** Terms that nothing it has read has any longer. */
  readonly terms: ReadonlySet<string>;
}

/**
 * Gives a summary that was written from texts before an edit its substitute.
 * @param tx the transaction that has put it in its place
 * @param ready the extract that was made before and still holds; undefined: none
 */
export async function renewWritten(
  tx: Queryable,
  channel: ChannelId,
  job: JobId,
  edited: EditedMeanwhile,
  digester: Digester,
  ready?: Extract,
): Promise<void> {
  const [summary] = await tx.query<AffectedSummary>(
    "summary_written",
    `select ${AFFECTED}, true as covers from summaries s where s.channel_id = $1 and s.job_id = $2 and s.live`,
    [channel, job],
  );
  if (summary === undefined) return;
  if (!edited.isInRange && tellingTerms(summary.words).isDisjointFrom(edited.terms)) return;
  await substitute(tx, summary.id, ready ?? (await extractOf(tx, channel, summary, digester)));
}

/**
 * The removed terms that a summary repeats. What is still said in its own range it has from there; a word, but no number, also from other
 * messages that it may have read. Where it repeats a number, its words count with it.
 */
async function repeatedIn(
  tx: Queryable,
  channel: ChannelId,
  { words, saw, fromSeq: from, toSeq: to }: AffectedSummary,
  { terms, keys }: RemovedTerms,
): Promise<ReadonlySet<string>> {
  const found = tellingTerms(words).intersection(terms);
  const repeated = await missingBetween(tx, channel, found, { from, to }, keys);
  if (repeated.size === 0 || [...repeated].some(isExact)) return repeated;
  const before = { from: Math.max(saw, from - LOOKED_THROUGH), to: from - 1 };
  return missingBetween(tx, channel, repeated, before, keys);
}

/** The last line of a summary that lost sentences and cannot be written again. */
export const TAKEN_OUT = "(Something was taken out here.)";

/** Removes the sentences of a summary that have these terms. @returns whether there are any */
async function cutText(
  tx: Queryable,
  { id, text }: AffectedSummary,
  terms: ReadonlySet<string>,
): Promise<boolean> {
  if (terms.size === 0) return false;
  const rest = withoutTerms(text, terms);
  const left = rest.endsWith(TAKEN_OUT) ? rest : `${rest}\n${TAKEN_OUT}`.trim();
  await tx.query(
    "summary_cut",
    "update summaries set text = $2, tokens = $3, substitute = null where id = $1",
    [id, left, estimateTokens(left)],
  );
  return true;
}

async function extractOf(
  tx: Queryable,
  channel: ChannelId,
  summary: Pick<AffectedSummary, "fromSeq" | "toSeq" | "level" | "tokens" | "id">,
  digester: Digester,
): Promise<Extract> {
  const { fromSeq, toSeq, level } = summary;
  const maxTokens = mostTokens(summary);
  const merged = level === 1 ? [] : await readMerged(tx, channel, { fromSeq, toSeq });
  if (merged.length > 0)
    return digester.ofTexts(
      merged.map(({ text }) => text),
      maxTokens,
    );
  return digester.ofEntries(await readCurrentEntries(tx, channel, fromSeq, toSeq), maxTokens);
}

/** Sets what a live summary becomes when it leaves the view; a model writes it again. */
async function substitute(tx: Queryable, summary: number, extract: Extract): Promise<void> {
  await tx.query(
    "summary_substitute",
    "update summaries set substitute = $2, needs_redo = true where id = $1",
    [summary, JSON.stringify(extract)],
  );
}

async function replaceText(tx: Queryable, { id }: AffectedSummary, { text, tokens }: Extract): Promise<void> {
  await tx.query(
    // It has seen no more than it is made of now: a later deletion of what came before leaves it alone.
    "summary_replace",
    `update summaries s
        set text = $2, tokens = $3, kind = 'digest', model = null, needs_redo = live, substitute = null,
            saw_from = least(
              from_seq,
              (select min((e.data->>'edits')::bigint) from entries e
                where e.channel_id = s.channel_id and e.seq between s.from_seq and s.to_seq and e.kind = 'notice'),
              (select min(coalesce(p.saw_from, p.from_seq)) from summaries p
                where p.channel_id = s.channel_id and p.from_seq >= s.from_seq and p.to_seq <= s.to_seq
                  and p.kind <> 'reset' and p.to_seq - p.from_seq < s.to_seq - s.from_seq and s.level > 1))
      where id = $1`,
    [id, text, tokens],
  );
}
