import type { Entry } from "../core/entry.ts";
import type { Seq } from "../core/ids.ts";

/** Which tool results of earlier turns a request shortens. */
export interface Pruning {
  /** Turns before the running one whose results stay whole. Every turn with an entry in the view counts, even without calls. */
  readonly wholeTurns: number;
  /** Number of turns whose results are shortened at once. */
  readonly stepTurns: number;
  /** Estimated tokens of the whole request below which all results stay whole. */
  readonly fromTokens: number;
}

/**
 * The last entry whose result is shortened. It moves in steps of whole turns, since each move changes a prefix that the
 * provider has cached. Pure: it depends on the entries alone.
 * @param entries of earlier turns, in the order of the view
 * @param pruning null: all results stay whole; undefined: none does
 */
export function stubbedTo(entries: readonly Entry[], pruning: Pruning | null | undefined): Seq {
  if (pruning === null) return 0;
  if (pruning === undefined || pruning.wholeTurns === 0) return Infinity;
  // A turn is identified by the last message that it answers.
  const last = new Map<Seq, Seq>();
  for (const entry of entries)
    if (entry.kind !== "user" && entry.after !== null) last.set(entry.after, entry.seq);
  const ends = [...last.values()];
  const old = Math.max(0, ends.length - pruning.wholeTurns);
  const short = Math.floor(old / pruning.stepTurns) * pruning.stepTurns;
  return ends[short - 1] ?? 0;
}
