import type { Entry } from "../core/entry.ts";
import { isCounted } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import { type Budget, partAt } from "./usage.ts";

/**
 * What the newest messages may keep: what is kept is the floor of every request behind a cut, and paid for with each: so it
 * does not grow with a large window. In a small one a share would be next to nothing.
 */
const KEEP_SHARE = 0.1;
const KEEP_LEAST = 1000;
const KEEP_MOST = 3000;
const KEEP_MOST_SHARE = 0.4;

/** Estimated tokens that the newest messages may keep. */
export function keepTokens(budget: Budget): number {
  const share = Math.min(KEEP_MOST, partAt(budget, KEEP_SHARE));
  return Math.max(share, Math.min(KEEP_LEAST, partAt(budget, KEEP_MOST_SHARE)));
}

/** What must stay in the view, whoever wants it gone. */
export interface Keep {
  /** First entry that is not up for choice: it waits for a turn, or belongs to the one that runs. */
  readonly firstKept: Seq;
  /** So many of the newest counted entries before `firstKept` stay, as far as `maxTokens` allows. */
  readonly keepMessages: number;
  /** Estimated tokens, see {@link keepTokens}. */
  readonly maxTokens: number;
  /** Estimated tokens of an entry as the model reads it. */
  readonly tokensOf: (entry: Entry) => number;
}

/**
 * The last seq that may leave the view, by a summary or by an omission.
 * @param entries the raw entries, by seq
 * @returns a seq before the first raw one where nothing may leave; not every seq up to it is a legal cut
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
