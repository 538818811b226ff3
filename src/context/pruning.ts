import type { Entry } from "../core/entry.ts";
import type { Seq } from "../core/ids.ts";

/** Which results of tools of earlier turns a request shows in their short form. */
export interface Pruning {
  /** Turns before the running one whose results stay whole. A turn counts that has left anything in the view, be it without calls. */
  readonly wholeTurns: number;
  /** Results of so many turns become short at once. */
  readonly stepTurns: number;
  /** Estimated tokens of the whole request below which all stay whole. */
  readonly fromTokens: number;
}

/**
 * The last entry whose result is shown in its short form. It moves in steps, over whole turns: each move changes the bytes of
 * what a provider has cached. Pure: it follows from the entries alone.
 * @param entries of earlier turns, in the order in which they are shown
 * @param pruning null: all stay whole; undefined: none does
 */
export function stubbedTo(entries: readonly Entry[], pruning: Pruning | null | undefined): Seq {
  if (pruning === null) return 0;
  if (pruning === undefined || pruning.wholeTurns === 0) return Infinity;
  // A turn is known by the last message that it answers.
  const last = new Map<Seq, Seq>();
  for (const entry of entries)
    if (entry.kind !== "user" && entry.after !== null) last.set(entry.after, entry.seq);
  const ends = [...last.values()];
  const old = Math.max(0, ends.length - pruning.wholeTurns);
  const short = Math.floor(old / pruning.stepTurns) * pruning.stepTurns;
  return ends[short - 1] ?? 0;
}
