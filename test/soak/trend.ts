/** Whether a series of numbers grows. Pure. */

/** One number of a series; `x` is a time, in any unit. */
export interface Point {
  readonly x: number;
  readonly y: number;
}

export interface Trend {
  /** By how much the line through the numbers rises from the first to the last of them; NaN: there are too few. */
  readonly growth: number;
  /** What the noise alone may make of it. */
  readonly bound: number;
  readonly grows: boolean;
}

/** Fewer tell nothing of their noise. */
const FEWEST = 5;
/** A normal deviation over the median one. */
const NORMAL = 1.4826;
/** Standard errors: of series of twenty numbers that do not grow, one in a thousand exceeds them by chance. */
const ERRORS = 5;

/**
 * The slope by Theil and Sen (the median of the slopes between all pairs), which a third of the numbers may miss by any amount. A
 * series grows if its line rises by more than five standard errors of such a rise and by more than `settling`.
 *
 * The standard error comes from the numbers themselves: `noise · √(12 / count)` for evenly spaced ones, where `noise` is the
 * median distance to the line.
 *
 * @param settling what the series may gain without a leak, in its own unit
 */
export function trendOf(points: readonly Point[], settling: number): Trend {
  if (points.length < FEWEST) return { growth: Number.NaN, bound: Number.NaN, grows: false };
  const slopes = points.flatMap((from, index) =>
    points.slice(index + 1).flatMap((to) => (to.x === from.x ? [] : [(to.y - from.y) / (to.x - from.x)])),
  );
  const slope = middle(slopes);
  const base = middle(points.map(({ x, y }) => y - slope * x));
  const noise = NORMAL * middle(points.map(({ x, y }) => Math.abs(y - slope * x - base)));
  const xs = points.map(({ x }) => x);
  const growth = slope * (Math.max(...xs) - Math.min(...xs));
  const bound = Math.max(ERRORS * noise * Math.sqrt(12 / points.length), settling);
  return { growth, bound, grows: growth > bound };
}

function middle(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  const [low = 0, high = 0] = [sorted[sorted.length % 2 === 0 ? half - 1 : half], sorted[half]];
  return (low + high) / 2;
}
