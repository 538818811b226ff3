import { type JobPlan, MAX_LIVE_SUMMARIES } from "../../core/compaction.ts";
import type { History } from "../../core/history.ts";

/** The order in which the jobs of all channels get a slot: the highest first. */
export const PRIORITY = {
  full: 8,
  forced: 7,
  leftOver: 6,
  omitted: 6,
  aggressive: 5,
  merge: 4,
  background: 3,
  ahead: 2,
  redo: 1,
  revision: 0,
} as const;

export function priorityOf(plan: JobPlan, liveSummaries: number): number {
  if (plan.kind === "merge") {
    const isWaitedFor = liveSummaries >= MAX_LIVE_SUMMARIES || plan.tier !== "background";
    return isWaitedFor ? PRIORITY.full : PRIORITY.merge;
  }
  if (plan.kind === "redo") return plan.tier === "forced" ? PRIORITY.forced : PRIORITY.redo;
  if (plan.isAhead === true) return PRIORITY.ahead;
  if (plan.tier === "emergency") return PRIORITY.omitted;
  return PRIORITY[plan.tier];
}

/** Whether the job must end with a commit, even if no model can write its summary. */
export function mustProgress(job: JobPlan, liveSummaries: number): boolean {
  if (job.kind === "redo" || job.isAhead === true) return false;
  return job.tier !== "background" || (job.kind === "merge" && liveSummaries >= MAX_LIVE_SUMMARIES);
}

export function countLive({ summaries }: History): number {
  return summaries.filter(({ kind }) => kind !== "reset").length;
}
