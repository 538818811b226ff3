import { LEVELS, MAX_LIVE_SUMMARIES, SUMMARIES_SHARE } from "../core/compaction.ts";
import { SUMMARY_LABEL_TOKENS } from "./render.ts";
import { type Budget, partAt } from "./usage.ts";

/** The room for live summaries in a request, and the longest text of each. Pure; all sizes are estimated tokens. */

const MIN_SUMMARY_CAP = 64;
/** A leaf is asked for 120 English words, also in a small window, as long as so many such leafs fit. */
const LEAST_LEAF = 210;
const LEAST_LEAFS = 4;
/** Longest leaf, as a share of the entries that it covers. */
const SHARE_OF_SOURCE = 0.2;

/** A larger room than this costs more with each answer than it is worth. The least share may be more. */
const MOST_GROWN = 6000;

/**
 * Room for all live summaries with their labels: what the fixed part leaves under the target, within bounds of the usable window.
 * @param fixed of the part that all requests share: tools and system prompt
 */
export function summaryRoom(budget: Budget, fixed: number): number {
  const least = partAt(budget, SUMMARIES_SHARE.least);
  const most = Math.max(least, Math.min(partAt(budget, SUMMARIES_SHARE.most), MOST_GROWN));
  const left = partAt(budget, budget.target) - fixed;
  const shortest = MAX_LIVE_SUMMARIES * (MIN_SUMMARY_CAP + SUMMARY_LABEL_TOKENS);
  return Math.max(shortest, Math.floor(Math.min(Math.max(left, least), most)));
}

/** What merges are decided by, as long as it is not known what a leaf covers. @param fixed as in {@link summaryRoom} */
export function summarySizes(budget: Budget, fixed: number) {
  const room = summaryRoom(budget, fixed);
  return { summaryCap: leafCap(room), summaryRoom: room };
}

export function levelPart(room: number, level: number): number {
  return room * (LEVELS[level]?.share ?? 0);
}

/** The text of one summary of this level, if the level shares its part among as many as it has in full length. */
export function levelCap(room: number, level: number): number {
  const length = levelPart(room, level) / (LEVELS[level]?.full ?? 1);
  return withoutLabel(length);
}

/** The longest text of a summary of raw entries, by what it covers. @param sourceTokens of the entries; default: of any */
export function leafCap(room: number, sourceTokens = Infinity): number {
  const least = Math.min(LEAST_LEAF, withoutLabel(room / LEAST_LEAFS));
  const most = Math.max(least, levelCap(room, 1));
  return Math.floor(Math.min(most, Math.max(least, sourceTokens * SHARE_OF_SOURCE)));
}

/** @param length with the label */
export function withoutLabel(length: number): number {
  return Math.max(MIN_SUMMARY_CAP, Math.floor(length) - SUMMARY_LABEL_TOKENS);
}
