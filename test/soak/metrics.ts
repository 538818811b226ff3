/** What a soak measures of a daemon, and what of it may not grow. Pure. */
import { type Point, type Trend, trendOf } from "./trend.ts";

export interface Metric {
  readonly name: string;
  readonly unit: string;
  /** What it may gain in half a soak without a leak, in its unit; null: it is told, and may grow. */
  readonly settling: number | null;
}

/** One look at the daemon: numbers by the names of the metrics. */
export interface Sample {
  /** Seconds since people began to talk. */
  readonly at: number;
  readonly values: Readonly<Record<string, number>>;
}

/**
 * What grows and ends: code that is compiled late, maps with a bound that are not full yet (the 10,000 last events of Slack alone
 * take an hour), a pool that opens its last connections when it first needs them. RSS is what the allocator has ever wanted.
 */
export const METRICS: readonly Metric[] = [
  { name: "heap used", unit: "MB", settling: 3 },
  { name: "beside the heap", unit: "MB", settling: 1 },
  { name: "RSS", unit: "MB", settling: 24 },
  { name: "file descriptors", unit: "", settling: 4 },
  { name: "timers", unit: "", settling: 4 },
  { name: "sockets", unit: "", settling: 4 },
  { name: "other handles", unit: "", settling: 2 },
  { name: "threads", unit: "", settling: 1 },
  { name: "connections to Postgres", unit: "", settling: 4 },
  { name: "temporary files", unit: "", settling: 0.5 },
  { name: "event-loop delay, p99", unit: "ms", settling: 10 },
  { name: "questions that wait", unit: "", settling: 4 },
  { name: "database", unit: "MB", settling: null },
  { name: "messages said", unit: "", settling: null },
];

export interface MetricRow extends Metric, Trend {
  readonly first: number;
  /** At the middle, from which on growth counts. */
  readonly middle: number;
  readonly last: number;
  readonly most: number;
}

/** One row a metric: trends are those of the second half, for in the first one everything is made that a daemon then keeps. */
export function rowsOf(samples: readonly Sample[], settlingFactor: number): MetricRow[] {
  const half = samples.slice(Math.floor(samples.length / 2));
  return METRICS.map((metric) => {
    const of = (sample: Sample | undefined): number => sample?.values[metric.name] ?? Number.NaN;
    const points: Point[] = half.map((sample) => ({ x: sample.at, y: of(sample) }));
    const trend = trendOf(points, (metric.settling ?? 0) * settlingFactor);
    return {
      ...metric,
      ...trend,
      grows: metric.settling !== null && trend.grows,
      first: of(samples[0]),
      middle: of(half[0]),
      last: of(samples.at(-1)),
      most: Math.max(...samples.map(of)),
    };
  });
}
