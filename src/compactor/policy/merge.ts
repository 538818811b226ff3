import { SUMMARY_LABEL_TOKENS } from "../../context/render.ts";
import { type JobKind, type JobPlan, LEVELS, MAX_LIVE_SUMMARIES, TOP_LEVEL } from "../../core/compaction.ts";
import type { History, Summary } from "../../core/history.ts";

/**
 * Which summaries are to become one. Each level has a share of the room that all may take: its summaries are merged when they have
 * used it, and not before, for each merge is a model's call and a rewriting of what was already told.
 */
export interface SummariesState {
  readonly history: Pick<History, "summaries" | "ahead">;
  /** Longest summary of raw entries, estimated tokens. */
  readonly summaryCap: number;
  /** Estimated tokens that all live summaries may take, with their labels. */
  readonly summaryRoom: number;
}

/** A reset has no text: there is nothing to merge, to write again, or to count. */
export function isWritten(summary: Summary): boolean {
  return summary.kind !== "reset";
}

/** Is there no room for one more summary beside those that are live? */
export function isFull({ history, summaryCap, summaryRoom }: SummariesState): boolean {
  return lengthOf(history.summaries.filter(isWritten)) + summaryCap + SUMMARY_LABEL_TOKENS > summaryRoom;
}

/** May a merge be due? Cheap, for it is asked at every append. */
export function mayMerge(state: SummariesState): boolean {
  const { summaries, ahead } = state.history;
  if (summaries.length < 2) return false;
  const live = summaries.filter(isWritten).length;
  return live + ahead.length >= CROWDED || isFull(state) || planMerge(state) !== null;
}

/** So many summaries, those written ahead among them, leave no place for the next landing but that of a merge. */
const CROWDED = MAX_LIVE_SUMMARIES - 1;

/** Once what is written ahead has landed, is there no place or no room for one more summary? Then fewer are merged than usual. */
export function isCrowded({ history, summaryCap, summaryRoom }: SummariesState): boolean {
  const { summaries, ahead } = history;
  const live = summaries.filter(isWritten);
  const [merged, left] = [
    live.filter((one) => isMergedAhead(one, ahead)),
    live.filter((one) => !isMergedAhead(one, ahead)),
  ];
  if (left.length + ahead.length >= CROWDED) return true;
  const leafs = ahead.filter(({ kind }) => kind === "leaf").length + 1;
  const length = lengthOf(left) + leafs * (summaryCap + SUMMARY_LABEL_TOKENS);
  return length + lengthOnceMerged(merged, summaryRoom) > summaryRoom;
}

/** Of neighbouring summaries that become one of the next level, at most. */
function lengthOnceMerged(merged: readonly Summary[], summaryRoom: number): number {
  const level = Math.min(TOP_LEVEL, Math.max(...merged.map((one) => one.level)) + 1);
  const { share = 0, full = 1 } = LEVELS[level] ?? {};
  return Math.min(lengthOf(merged), (summaryRoom * share) / full);
}

function isMergedAhead({ fromSeq, toSeq }: Summary, ahead: History["ahead"]): boolean {
  return ahead.some((one) => one.kind === "merge" && one.fromSeq <= fromSeq && one.toSeq >= toSeq);
}

/** Estimated tokens of summaries with their labels. */
function lengthOf(summaries: readonly Summary[]): number {
  return summaries.reduce((sum, { tokens }) => sum + tokens + SUMMARY_LABEL_TOKENS, 0);
}

export function hasMerge({ ahead }: Pick<History, "ahead">): boolean {
  return ahead.some(({ kind }) => kind === "merge");
}

/**
 * What is to be merged: the lowest level that has used its share. Into the top level goes what is there already, too.
 * @param must there is no place or no room for one more summary: then the level with the most summaries
 */
export function planMerge(state: SummariesState, must = false): JobPlan | null {
  return mergesOf(state, must, 1)[0] ?? null;
}

/**
 * The same where a leaf waits for it. Of what may be merged it takes what leaves room for that leaf behind all that lands before it, if
 * need be with the newest of a level, or whole levels together: else a second merge would have to come first, while messages are omitted.
 */
export function planMergeBeforeLeaf(state: SummariesState): JobPlan | null {
  const usual = mergesOf(state, true, 1);
  const plans = [...usual, ...mergesOf(state, true, 0), ...mergeOfAll(state)];
  return plans.find((plan) => leavesRoom(state, plan)) ?? usual[0] ?? null;
}

/** @param spared so many of the newest of a level, which people still talk about; but one alone would only be written again */
function mergesOf(state: SummariesState, must: boolean, spared: number): JobPlan[] {
  const live = state.history.summaries.filter(isWritten);
  const levels = Array.from({ length: TOP_LEVEL - 1 }, (_, index) => index + 1)
    .map((level) => ({ level, all: live.filter((summary) => summary.level === level) }))
    .filter(({ all }) => all.length > 1);
  const spent = levels.filter(({ level, all }) => isSpent(level, all, state.summaryRoom));
  const largest = levels.toSorted((a, b) => b.all.length - a.all.length);
  return (must ? [...spent, ...largest] : spent).flatMap(({ level, all }) => {
    const oldest = all.slice(0, Math.max(2, all.length - spared));
    const rolling = level + 1 === TOP_LEVEL ? live.filter((one) => one.level === TOP_LEVEL) : [];
    const merged = [...rolling, ...oldest];
    return (isContiguous(merged) ? planOf("merge", merged, level + 1) : null) ?? [];
  });
}

/** All but the newest, of whatever level. */
function mergeOfAll({ history }: SummariesState): JobPlan[] {
  const merged = history.summaries.filter(isWritten).slice(0, -1);
  const level = Math.min(TOP_LEVEL, 1 + Math.max(...merged.map((one) => one.level)));
  const plan = merged.length > 1 && isContiguous(merged) ? planOf("merge", merged, level) : null;
  return plan === null ? [] : [plan];
}

/** Whether one more leaf has a place and room, however long its texts become, once this merge and the leafs written ahead are live. */
function leavesRoom({ history, summaryCap, summaryRoom }: SummariesState, plan: JobPlan): boolean {
  const live = history.summaries.filter(isWritten);
  const isMerged = ({ fromSeq, toSeq }: Summary): boolean => fromSeq >= plan.fromSeq && toSeq <= plan.toSeq;
  const left = live.filter((one) => !isMerged(one));
  const leafs = history.ahead.filter(({ kind }) => kind === "leaf").length + 1;
  if (left.length + 1 + leafs > MAX_LIVE_SUMMARIES) return false;
  const length = lengthOf(left) + leafs * (summaryCap + SUMMARY_LABEL_TOKENS);
  return length + lengthOnceMerged(live.filter(isMerged), summaryRoom) <= summaryRoom;
}

function isSpent(level: number, summaries: readonly Summary[], summaryRoom: number): boolean {
  return lengthOf(summaries) >= (LEVELS[level]?.share ?? 0) * summaryRoom;
}

function isContiguous(summaries: readonly Summary[]): boolean {
  return summaries.every(({ fromSeq }, index) => {
    const before = summaries[index - 1];
    return before === undefined || before.toSeq + 1 === fromSeq;
  });
}

export function planOf(kind: JobKind, replaced: readonly Summary[], level: number): JobPlan | null {
  const first = replaced[0];
  const last = replaced.at(-1);
  if (first === undefined || last === undefined) return null;
  const sourceTokens = replaced.reduce((sum, { tokens }) => sum + tokens, 0);
  return { kind, tier: "background", fromSeq: first.fromSeq, toSeq: last.toSeq, level, sourceTokens };
}
