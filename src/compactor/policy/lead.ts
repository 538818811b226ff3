import type { History } from "../../core/history.ts";

/** Newest entries that measure how fast people talk. */
const NEWEST = 20;

/**
 * Estimated tokens that people add while the next summary is written, at their present pace. Pure.
 * @param jobMs duration of the last summary, ms; 0: none was written yet
 * @param most tokens: a burst predicts little
 */
export function leadTokens({ entries }: Pick<History, "entries">, jobMs: number, most: number): number {
  const newest = entries.slice(-NEWEST);
  const [first, last] = [newest[0], newest.at(-1)];
  if (first === undefined || last === undefined || first === last) return 0;
  const ms = Math.max(1, last.at.getTime() - first.at.getTime());
  const tokens = newest.reduce((sum, entry) => sum + entry.tokens, 0);
  return Math.min(most, (tokens / ms) * jobMs);
}
