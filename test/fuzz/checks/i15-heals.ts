import type { CompactionState, Decision } from "../../../src/compactor/policy/policy.ts";
import type { JobPlan } from "../../../src/core/compaction.ts";
import type { WeirEvent } from "../../../src/telemetry/events.ts";
import type { Incarnation } from "../incarnation.ts";

type Compaction = Extract<WeirEvent, { type: "compaction" }>;

interface Planned {
  readonly incarnation: Incarnation;
  readonly plan: JobPlan;
  /** Up to where something was omitted then; 0: nowhere. */
  readonly omittedTo: number;
}

/** With a working summariser, what is omitted is covered by the second job that was begun since. */
const MOST_JOBS = 2;

/** Follows one channel's jobs from what was decided to what is committed, and what is omitted meanwhile. */
export class Healing {
  #decided: Planned | null = null;
  readonly #jobs = new Map<number, Planned>();
  #omitted: { readonly to: number; jobs: number } | null = null;

  decided(incarnation: Incarnation, { history }: CompactionState, decision: Decision): void {
    const { omittedTo, coveredTo } = history;
    if (decision.kind !== "job") return;
    const { plan } = decision;
    this.#decided = { incarnation, plan, omittedTo: omittedTo > coveredTo ? omittedTo : 0 };
  }

  /** A job that somebody else has left was decided by nobody who is known. */
  started(incarnation: Incarnation, { job, kind, fromSeq, toSeq }: Compaction): void {
    const { plan } = this.#decided ?? {};
    const isPlanned = plan?.kind === kind && plan.fromSeq === fromSeq && plan.toSeq === toSeq;
    if (this.#decided?.incarnation === incarnation && isPlanned) this.#jobs.set(job, this.#decided);
  }

  /** Others may have changed what is omitted: what comes now is counted anew. */
  forget(): void {
    this.#omitted = null;
  }

  /**
   * @param isRefused some attempt at it failed: its range may be a part of what was planned
   * @returns what is wrong
   */
  committed({ job, kind, toSeq }: Compaction, isRefused: boolean): string[] {
    const planned = this.#jobs.get(job);
    if (planned === undefined || planned.omittedTo === 0) {
      this.#omitted = null;
      return [];
    }
    this.#omitted ??= { to: planned.omittedTo, jobs: 0 };
    if (!isRefused) this.#omitted.jobs++;
    const { to, jobs } = this.#omitted;
    if (kind === "leaf" && toSeq >= to) this.#omitted = null;
    else if (jobs >= MOST_JOBS) return [`omitted to ${to} still behind ${jobs} jobs that were begun since`];
    return [];
  }
}
