import type { Entry } from "../core/entry.ts";
import { isCounted } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { type Budget, leastOfLeaf, partAt, tokenBudgetAt } from "./usage.ts";

/**
 * Room for the newest messages. Every request after a cut contains and pays for them, so it does not grow with a large
 * window. In a small window, a share alone would be almost nothing.
 */
const KEEP_SHARE = 0.1;
const KEEP_LEAST = 1000;
const KEEP_MOST = 3000;
const KEEP_MOST_SHARE = 0.4;
/** What they keep where tools, prompt and summaries leave hardly any room. */
const KEEP_FEWEST = 300;

/**
 * Estimated tokens that the newest messages may keep. They leave enough for a summary to cover before the aggressive mark: else only
 * an emergency could make room.
 * @param beside estimated tokens of a request that are no messages: its fixed part, and the room for summaries
 */
export function keepTokens(budget: Budget, beside = 0): number {
  const share = Math.min(KEEP_MOST, partAt(budget, KEEP_SHARE));
  const most = Math.max(share, Math.min(KEEP_LEAST, partAt(budget, KEEP_MOST_SHARE)));
  const left = tokenBudgetAt(budget, budget.aggressiveThreshold) - beside - leastOfLeaf(budget);
  return Math.min(most, Math.max(KEEP_FEWEST, left));
}

/** The entries that must stay in the view. */
export interface Keep {
  /** First entry that always stays: it waits for a turn, or belongs to the running one. */
  readonly firstKept: Seq;
  /** Number of newest counted entries before `firstKept` that stay, if `maxTokens` allows. */
  readonly keepMessages: number;
  /** Estimated tokens, see {@link keepTokens}. */
  readonly maxTokens: number;
  /** Estimated tokens of an entry as the model reads it. */
  readonly tokensOf: (entry: Entry) => number;
}

/**
 * The last seq that may leave the view, by a summary or an omission.
 * @param entries the raw entries, by seq
 * @returns a seq before the first raw one if none may leave; not every seq up to it is a legal cut
 */
export function lastCoverable(entries: readonly Entry[], keep: Keep): Seq {
  let kept = 0;
  let tokens = 0;
  let last = keep.firstKept - 1;
  for (const entry of entries.toReversed()) {
    if (entry.seq >= keep.firstKept) continue;
    tokens += keep.tokensOf(entry);
    kept += Number(isCounted(entry));
    if (kept > keep.keepMessages || tokens > keep.maxTokens) break;
    last = entry.seq - 1;
  }
  return last;
}
