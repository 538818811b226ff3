import { type JobPlan, MAX_LIVE_SUMMARIES } from "../core/compaction.ts";
import type { Entry } from "../core/entry.ts";
import {
  cover,
  type History,
  isCounted,
  joinSpans,
  type Omission,
  type Summary,
  type SummarySpan,
} from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { NOTHING_LEARNED } from "../core/learned.ts";

/*
 * The effects of the log's commits (`commit_job`, `commit_ahead`, `reset_channel` in `migrations/`) on a history,
 * without a log.
 */

/** A running job, and the summary that it will make. */
export interface PlannedSummary {
  readonly plan: JobPlan;
  /** The live summaries that it replaces; empty for a leaf. */
  readonly replaces: readonly Summary[];
  readonly summary: Summary;
}

/** The parts of an omitted entry that the omission's marker needs. */
export type OmittedEntry = Pick<Entry, "seq" | "at" | "tokens"> & { readonly isCounted: boolean };

export function omittedOf(entry: Entry): OmittedEntry {
  const { seq, at, tokens } = entry;
  return { seq, at, tokens, isCounted: isCounted(entry) };
}

/** The span of a leaf or a merge. @param omitted its omitted entries */
export function spanOf(
  history: History,
  { kind, fromSeq, toSeq }: JobPlan,
  omitted: readonly OmittedEntry[],
): SummarySpan | null {
  if (kind !== "leaf") return joinSpans(replacedBy(history, { fromSeq, toSeq }).map(({ span }) => span));
  const times = [...omitted.filter((one) => one.isCounted), ...history.entries.filter(isCounted)].flatMap(
    ({ seq, at }) => (seq >= fromSeq && seq <= toSeq ? [at.getTime()] : []),
  );
  if (times.length === 0) return null;
  return {
    messages: times.length,
    firstAt: new Date(times.reduce((least, time) => Math.min(least, time))),
    lastAt: new Date(times.reduce((most, time) => Math.max(most, time))),
  };
}

export function replacedBy(
  { summaries }: Pick<History, "summaries">,
  { fromSeq, toSeq }: Pick<JobPlan, "fromSeq" | "toSeq">,
): Summary[] {
  return summaries.filter((one) => one.fromSeq >= fromSeq && one.toSeq <= toSeq);
}

/** Whether it can still be committed: a leaf begins after the covered range; a merge replaces its sources. Pure. */
export function isCurrent(history: History, { plan, replaces }: PlannedSummary): boolean {
  if (plan.kind === "leaf") return plan.fromSeq === history.coveredTo + 1 && plan.toSeq <= history.lastSeq;
  const now = replacedBy(history, plan);
  return now.length === replaces.length && now.every((one, index) => one === replaces[index]);
}

/** The history after the commit of a summary. Pure. */
export function commitSummary(
  history: History,
  { plan, replaces, summary }: PlannedSummary,
  omitted: readonly OmittedEntry[],
): History {
  const kept = history.summaries.filter((one) => !replaces.includes(one));
  const summaries = [...kept, summary].toSorted((a, b) => a.fromSeq - b.fromSeq);
  const coveredTo = plan.kind === "leaf" ? plan.toSeq : history.coveredTo;
  const omission = omissionBehind(coveredTo, history.omittedTo, omitted);
  return cover(history, {
    coveredTo,
    summaries,
    omission,
    ahead: history.ahead,
    learned: history.learned,
  });
}

/** The history after a summary is written ahead. Pure. */
export function writeAhead(history: History, { kind, fromSeq, toSeq }: JobPlan): History {
  if (kind === "redo") return history;
  const ahead = [...history.ahead, { kind, fromSeq, toSeq }].toSorted((a, b) => a.fromSeq - b.fromSeq);
  return { ...history, ahead };
}

/**
 * Commits the summaries written ahead: the merges, then as many leafs as may be live. Pure.
 * @param ahead in the order of their beginning
 * @returns the landed and the remaining ones
 */
export function landAll(
  history: History,
  ahead: readonly PlannedSummary[],
  omitted: readonly OmittedEntry[],
): { readonly history: History; readonly landed: PlannedSummary[]; readonly waiting: PlannedSummary[] } {
  let after: History = history;
  const landed: PlannedSummary[] = [];
  for (const one of ahead.filter(({ plan }) => plan.kind === "merge")) {
    if (!isCurrent(after, one)) continue;
    after = commitSummary(after, one, omitted);
    landed.push(one);
  }
  const leafs = ahead
    .filter(({ plan }) => plan.kind === "leaf")
    .toSorted((a, b) => a.plan.fromSeq - b.plan.fromSeq);
  const waiting = leafs.filter((one) => {
    const live = after.summaries.filter(({ kind }) => kind !== "reset").length;
    if (one.plan.fromSeq !== after.coveredTo + 1 || live >= MAX_LIVE_SUMMARIES) return true;
    after = commitSummary(after, one, omitted);
    landed.push(one);
    return false;
  });
  const left = waiting.flatMap(({ plan: { kind, fromSeq, toSeq } }) =>
    kind === "leaf" ? [{ kind, fromSeq, toSeq }] : [],
  );
  return { history: { ...after, ahead: left }, landed, waiting };
}

/** Covers everything up to `toSeq` without a text. Pure. */
export function resetTo(history: History, toSeq: Seq): History {
  const hasSummaries = history.summaries.some(({ kind }) => kind !== "reset");
  if (toSeq < history.coveredTo || (toSeq === history.coveredTo && !hasSummaries)) return history;
  return {
    ...history,
    summaries: [resetSummary(toSeq)],
    coveredTo: toSeq,
    settledTo: Math.max(history.settledTo, toSeq),
    omission: history.omittedTo > toSeq ? history.omission : null,
    ahead: [],
    learned: NOTHING_LEARNED,
    entries: history.entries.filter(({ seq }) => seq > toSeq),
  };
}

export function historyFrom(coveredTo: Seq): History {
  return {
    summaries: coveredTo === 0 ? [] : [resetSummary(coveredTo)],
    coveredTo,
    omittedTo: 0,
    settledTo: coveredTo,
    lastSeq: coveredTo,
    omission: null,
    ahead: [],
    learned: NOTHING_LEARNED,
    entries: [],
  };
}

function resetSummary(toSeq: Seq): Summary {
  return { fromSeq: 1, toSeq, span: null, level: 1, kind: "reset", text: "", tokens: 0, needsRedo: false };
}

function omissionBehind(coveredTo: Seq, omittedTo: Seq, omitted: readonly OmittedEntry[]): Omission | null {
  const left = omitted.filter(({ seq }) => seq > coveredTo && seq <= omittedTo);
  const times = left.filter((one) => one.isCounted).map(({ at }) => at.getTime());
  if (times.length === 0) return null;
  return {
    fromSeq: coveredTo + 1,
    toSeq: omittedTo,
    count: times.length,
    tokens: left.reduce((sum, { tokens }) => sum + tokens, 0),
    firstAt: new Date(times.reduce((least, time) => Math.min(least, time))),
    lastAt: new Date(times.reduce((most, time) => Math.max(most, time))),
  };
}
