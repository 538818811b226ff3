/** The moments of a channel's last day at which something happened, and how far its compactions were at one of them. Pure. */

import type { Stretch } from "../../../../core/history.ts";
import { formatNumber } from "../../../../text/format.ts";
import { jobEnd, seconds } from "../timeline/sentences.ts";
import type { JobBar, Timeline } from "../timeline/timeline.ts";

export interface Moment {
  /** ms */
  readonly at: number;
  readonly words: string;
}

/** All that a timeline tells, from the oldest on. */
export function momentsOf({ axis, replies, failures, jobs }: Timeline): Moment[] {
  const moments: Moment[] = [
    ...replies.map(({ at, ms }) => ({ at: at - ms, words: "somebody asked" })),
    ...replies.map(({ at, ms }) => ({ at, words: `answered in ${seconds(ms)}` })),
    ...failures.map((at) => ({ at, words: "a turn failed" })),
    ...jobs.flatMap(momentsOfJob),
  ];
  return (
    moments
      .filter(({ at }) => at >= axis.from && at <= axis.end)
      // The rows are finer than a millisecond: from the next one on it has happened.
      .map(({ at, words }) => ({ at: Math.floor(at) + 1, words }))
      .toSorted((a, b) => a.at - b.at)
  );
}

function momentsOfJob(bar: JobBar): Moment[] {
  const { job, from, landedAt } = bar;
  const which = `${job.tier}, entries ${formatNumber(job.fromSeq)}–${formatNumber(job.toSeq)}`;
  return [
    { at: from, words: `a summary is begun: ${which}` },
    ...(landedAt === null ? [] : [{ at: landedAt, words: `${jobEnd(bar)}: ${which}` }]),
  ];
}

/** The last moment before a time, and the first one after it; null: there is none. */
export function besides(moments: readonly Moment[], at: number) {
  return {
    earlier: moments.findLast((one) => one.at < at) ?? null,
    later: moments.find((one) => one.at > at) ?? null,
  };
}

/** Some moments around a time, about as many before as after it. */
export function around(moments: readonly Moment[], at: number, count: number): readonly Moment[] {
  const place = moments.findLastIndex((one) => one.at <= at);
  const from = Math.max(0, Math.min(place - Math.floor(count / 2), moments.length - count));
  return moments.slice(from, from + count);
}

/** The share of the window that the last request before a time took; null: there was none. */
export function levelAt({ measured, axis }: Pick<Timeline, "measured" | "axis">, at: number): number | null {
  // The last steps are those of now.
  return measured.findLast((step) => step.at <= at && step.at < axis.end)?.share ?? null;
}

/** The compaction whose summary was being written at a time; null: none was. */
export function writingAt(jobs: readonly JobBar[], at: number): JobBar | null {
  return jobs.find(({ from, workTo }) => from <= at && at < workTo) ?? null;
}

/** What was written ahead at a time, and waited for its mark, by seq. */
export function aheadAt(jobs: readonly JobBar[], at: number): Stretch[] {
  return jobs
    .filter(({ job: { isAhead, state, endedAt }, workTo }) => {
      const hasLeft = endedAt !== null && endedAt.getTime() <= at;
      return isAhead && state !== "running" && state !== "staged" && workTo <= at && !hasLeft;
    })
    .flatMap(({ job: { kind, fromSeq, toSeq } }) => (kind === "redo" ? [] : [{ kind, fromSeq, toSeq }]))
    .toSorted((a, b) => a.fromSeq - b.fromSeq);
}
