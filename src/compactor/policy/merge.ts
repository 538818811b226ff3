import { SUMMARY_LABEL_TOKENS } from "../../context/render.ts";
import { leafCap, levelCap, levelPart, withoutLabel } from "../../context/summary-room.ts";
import { type JobKind, type JobPlan, MAX_LIVE_SUMMARIES, TOP_LEVEL } from "../../core/compaction.ts";
import type { History, Summary } from "../../core/history.ts";

/**
 * The inputs for choosing summaries to merge. Summaries are merged only once one more has no room or no place, since each merge
 * costs a model call and rewrites its content; first those of a level that has used its part of the room.
 */
export interface SummariesState {
  readonly history: Pick<History, "summaries" | "ahead">;
  /** Longest summary of raw entries, estimated tokens. */
  readonly summaryCap: number;
  /** Room for all live summaries with their labels, estimated tokens. */
  readonly summaryRoom: number;
}

/** A reset has no text: it is neither merged, written again nor counted. */
export function isWritten(summary: Summary): boolean {
  return summary.kind !== "reset";
}

/** Whether one more summary has no room beside the live ones. */
export function isFull({ history, summaryCap, summaryRoom }: SummariesState): boolean {
  return lengthOf(history.summaries.filter(isWritten)) + summaryCap + SUMMARY_LABEL_TOKENS > summaryRoom;
}

/** Whether a merge may be due. Cheap, since it runs at every append. */
export function mayMerge(state: SummariesState): boolean {
  const { summaries, ahead } = state.history;
  if (summaries.length < 2) return false;
  const live = summaries.filter(isWritten).length;
  return live + ahead.length >= CROWDED || isFull(state);
}

/** Number of summaries, with those written ahead, from which the next landing has room only for a merge. */
const CROWDED = MAX_LIVE_SUMMARIES - 1;

/**
 * Whether one more summary has no place or no room once those written ahead have landed. Merges then spare fewer
 * summaries than usual.
 */
export function isCrowded({ history, summaryCap, summaryRoom }: SummariesState): boolean {
  const { summaries, ahead } = history;
  const live = summaries.filter(isWritten);
  const [merged, left] = [
    live.filter((one) => isMergedAhead(one, ahead)),
    live.filter((one) => !isMergedAhead(one, ahead)),
  ];
  if (left.length + ahead.length >= CROWDED) return true;
  const length = lengthOf(left) + roomOfLeafs({ history, summaryCap });
  // Fewer may have been written ahead when the merge began, which left it more room.
  const begun = { history: { ...history, ahead: [] }, summaryCap, summaryRoom };
  return length + lengthOnceMerged(begun, merged) > summaryRoom;
}

/** Most tokens of neighbouring summaries once they are merged into the next level. */
function lengthOnceMerged(state: SummariesState, merged: readonly Summary[]): number {
  const [first, last] = [merged[0], merged.at(-1)];
  if (first === undefined || last === undefined) return 0;
  const level = Math.min(TOP_LEVEL, Math.max(...merged.map((one) => one.level)) + 1);
  const { longest } = lengthsOf(state, {
    kind: "merge",
    fromSeq: first.fromSeq,
    toSeq: last.toSeq,
    level,
    sourceTokens: lengthOf(merged),
  });
  return Math.min(lengthOf(merged), longest + SUMMARY_LABEL_TOKENS);
}

type SummaryPlan = Pick<JobPlan, "kind" | "fromSeq" | "toSeq" | "level" | "sourceTokens">;

/**
 * Length that a job's summary is asked for, estimated tokens. A merge may use the room that the other summaries and the next
 * leafs do not need. So an old summary keeps its length while there is room; without room it shrinks to its level's part. Pure.
 */
export function capOf({ history, summaryCap, summaryRoom }: SummariesState, plan: SummaryPlan): number {
  const others = othersOf(history, plan);
  const left = summaryRoom - lengthOf(others);
  if (plan.level === 1) {
    const cap = plan.kind === "leaf" ? leafCap(summaryRoom, plan.sourceTokens) : summaryCap;
    // A merge that is written ahead lands with it, or before it.
    const merged = plan.kind === "leaf" ? others.filter((one) => isMergedAhead(one, history.ahead)) : [];
    const begun = { history: { ...history, ahead: [] }, summaryCap, summaryRoom };
    const freed = lengthOf(merged) - lengthOnceMerged(begun, merged);
    return Math.min(cap, withoutLabel(left + freed));
  }
  const toCome = Math.max(
    levelPart(summaryRoom, 1) - lengthOf(others.filter(({ level }) => level === 1)),
    roomOfLeafs({ history, summaryCap }),
  );
  const shared = Math.max(levelCap(summaryRoom, plan.level), withoutLabel(left - toCome));
  const own = withoutLabel(plan.sourceTokens + SUMMARY_LABEL_TOKENS);
  const wanted = plan.kind === "redo" ? Math.max(shared, own) : Math.min(shared, own);
  return Math.min(withoutLabel(left), wanted);
}

/** Of a job's summary, in estimated tokens. */
export interface SummaryLengths {
  readonly asked: number;
  /** A longer one is refused. */
  readonly longest: number;
}

/** Share of the longest text to ask for: models overshoot. */
export const ASKED_SHARE = 0.8;
/** The same for a leaf: without it, a model that overshoots by a twentieth needs a second call for each one. */
const ASKED_OF_LEAF = 0.95;

/**
 * The lengths of a job's summary. A merge that is refused again and again holds up all that comes after it: one that is longer than
 * asked, but shorter than its source, is accepted if the next leafs still have room, and beside the top level one merge of them. Pure.
 */
export function lengthsOf(state: SummariesState, plan: SummaryPlan): SummaryLengths {
  const cap = capOf(state, plan);
  if (plan.kind === "leaf") return { asked: Math.floor(cap * ASKED_OF_LEAF), longest: cap };
  if (plan.kind !== "merge") return { asked: cap, longest: cap };
  const { history, summaryRoom } = state;
  const next = plan.level === TOP_LEVEL ? levelCap(summaryRoom, TOP_LEVEL - 1) + SUMMARY_LABEL_TOKENS : 0;
  const left = summaryRoom - lengthOf(othersOf(history, plan)) - roomOfLeafs(state) - next;
  const longest = Math.max(cap, Math.min(plan.sourceTokens, withoutLabel(left)));
  return { asked: Math.min(cap, Math.floor(longest * ASKED_SHARE)), longest };
}

function othersOf({ summaries }: SummariesState["history"], { fromSeq, toSeq }: SummaryPlan): Summary[] {
  return summaries.filter((one) => isWritten(one) && (one.toSeq < fromSeq || one.fromSeq > toSeq));
}

/** For those that are written ahead, and one more, each at its longest. */
function roomOfLeafs({ history, summaryCap }: Pick<SummariesState, "history" | "summaryCap">): number {
  return leafsToCome(history) * (summaryCap + SUMMARY_LABEL_TOKENS);
}

/** Number of those that are written ahead, and one more. */
function leafsToCome({ ahead }: SummariesState["history"]): number {
  return 1 + ahead.filter(({ kind }) => kind === "leaf").length;
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
 * Plans a merge of the lowest level that has used its part, else of the one with the most summaries. A merge into the top level
 * includes that level's summary.
 */
export function planMerge(state: SummariesState): JobPlan | null {
  return mergesOf(state, 1)[0] ?? null;
}

/**
 * Plans a merge for which a leaf waits: the first that leaves room for the leaf and for all that lands before it, if
 * need be with a level's newest summary, or with several levels. Otherwise a second merge would have to come first,
 * while messages are omitted.
 */
export function planMergeBeforeLeaf(state: SummariesState): JobPlan | null {
  const usual = mergesOf(state, 1);
  const plans = [...usual, ...mergesOf(state, 0), ...mergeOfAll(state)];
  return plans.find((plan) => leavesRoom(state, plan)) ?? usual[0] ?? null;
}

/** @param spared number of a level's newest summaries, still under discussion, to leave out; at least two are merged */
function mergesOf(state: SummariesState, spared: number): JobPlan[] {
  const live = state.history.summaries.filter(isWritten);
  const levels = Array.from({ length: TOP_LEVEL - 1 }, (_, index) => index + 1)
    .map((level) => ({ level, all: live.filter((summary) => summary.level === level) }))
    .filter(({ all }) => all.length > 1);
  const spent = levels.filter(({ level, all }) => isSpent(level, all, state.summaryRoom));
  const largest = levels.toSorted((a, b) => b.all.length - a.all.length);
  return [...spent, ...largest].flatMap(({ level, all }) => {
    const oldest = all.slice(0, Math.max(2, all.length - spared));
    const rolling = level + 1 === TOP_LEVEL ? live.filter((one) => one.level === TOP_LEVEL) : [];
    const merged = [...rolling, ...oldest];
    return (isContiguous(merged) ? planOf("merge", merged, level + 1) : null) ?? [];
  });
}

/** A merge of all summaries but the newest, of all levels. */
function mergeOfAll({ history }: SummariesState): JobPlan[] {
  const merged = history.summaries.filter(isWritten).slice(0, -1);
  const level = Math.min(TOP_LEVEL, 1 + Math.max(...merged.map((one) => one.level)));
  const plan = merged.length > 1 && isContiguous(merged) ? planOf("merge", merged, level) : null;
  return plan === null ? [] : [plan];
}

/**
 * Whether one more leaf would fit, in number and in tokens, after this merge and all leafs written ahead are in place,
 * each at its longest.
 */
function leavesRoom({ history, summaryCap, summaryRoom }: SummariesState, plan: JobPlan): boolean {
  const live = history.summaries.filter(isWritten);
  const isMerged = ({ fromSeq, toSeq }: Summary): boolean => fromSeq >= plan.fromSeq && toSeq <= plan.toSeq;
  const left = live.filter((one) => !isMerged(one));
  if (left.length + 1 + leafsToCome(history) > MAX_LIVE_SUMMARIES) return false;
  const length = lengthOf(left) + roomOfLeafs({ history, summaryCap });
  const merged = lengthOnceMerged({ history, summaryCap, summaryRoom }, live.filter(isMerged));
  return length + merged <= summaryRoom;
}

function isSpent(level: number, summaries: readonly Summary[], summaryRoom: number): boolean {
  return lengthOf(summaries) >= levelPart(summaryRoom, level);
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
