import type { ModelSpending } from "../../src/core/cost.ts";

/** One question in one run. */
export interface Asked {
  readonly question: string;
  readonly category: string;
  readonly run: number;
  readonly answer: string;
  /** Null: the judge used neither word. */
  readonly isRight: boolean | null;
  /** The cost of the answer and of its consequences. */
  readonly spent: readonly ModelSpending[];
}

/** A mean with its 95 % interval. */
export interface Interval {
  readonly mean: number;
  readonly from: number;
  readonly to: number;
}

/** Draws of the bootstrap. */
const DRAWS = 2000;

/**
 * The share of right answers. The bootstrap draws questions, each with all of its runs, since the runs of one question
 * are not independent. Pure: the draws are the same each time. NaN if nothing was judged.
 */
export function rightShare(asked: readonly Asked[]): Interval {
  const judged = asked.filter(({ isRight }) => isRight !== null);
  const shares = [...Map.groupBy(judged, ({ question }) => question).values()].map(
    (runs) => runs.filter(({ isRight }) => isRight === true).length / runs.length,
  );
  const random = lots(shares.length);
  const means = Array.from({ length: DRAWS }, () => mean(shares.map(() => shares[random()] ?? 0))).toSorted(
    (a, b) => a - b,
  );
  return {
    mean: mean(shares),
    from: means[Math.floor(DRAWS * 0.025)] ?? Number.NaN,
    to: means[Math.ceil(DRAWS * 0.975) - 1] ?? Number.NaN,
  };
}

/** Random whole numbers below `below` (xorshift). */
function lots(below: number): () => number {
  let state = 0x9e3779b9;
  return () => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % Math.max(1, below);
  };
}

function mean(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0) / numbers.length;
}

/** Spending since then, by model. @param before of the same channel */
export function spentSince(now: readonly ModelSpending[], before: readonly ModelSpending[]): ModelSpending[] {
  const sums = new Map<string, ModelSpending>();
  const add = (one: ModelSpending, sign: 1 | -1): void => {
    const sum = sums.get(one.model);
    sums.set(one.model, {
      model: one.model,
      calls: (sum?.calls ?? 0) + sign * one.calls,
      uncounted: (sum?.uncounted ?? 0) + sign * one.uncounted,
      promptTokens: (sum?.promptTokens ?? 0) + sign * one.promptTokens,
      cachedTokens: (sum?.cachedTokens ?? 0) + sign * one.cachedTokens,
      writtenTokens: (sum?.writtenTokens ?? 0) + sign * one.writtenTokens,
      completionTokens: (sum?.completionTokens ?? 0) + sign * one.completionTokens,
    });
  };
  for (const one of now) add(one, 1);
  for (const one of before) add(one, -1);
  return [...sums.values()].filter(({ calls }) => calls > 0);
}
