import type { CommitOutcome, Job, JobPlan, JobResult, Landed, SummaryDraft } from "../core/compaction.ts";
import type { History } from "../core/history.ts";
import type { Owner } from "../core/ids.ts";
import type { StaleEpochError } from "../store/database/errors.ts";
import type { JobStore, SubstituteMaker } from "../store/compaction/jobs.ts";
import type { Events } from "../telemetry/events.ts";
import type { Circuit } from "./breaker.ts";
import type { JobRunner } from "./job-runner.ts";
import type { Reviser } from "./revision/reviser.ts";
import type { SummaryLengths } from "./policy/merge.ts";
import type { CompactionState, Decision } from "./policy/policy.ts";
import type { CompactionQueue } from "./queue.ts";
import type { Backoff } from "../async/backoff.ts";

export interface CompactionTarget {
  /** As `formatAddress` writes it. */
  readonly channel: string;
  readonly owner: Owner;
  readonly history: {
    readonly current: History;
    snapshot(): Promise<History>;
    commit(job: Pick<Job, "id" | "attempt">, maker: SubstituteMaker): Promise<CommitOutcome>;
    /** Stores a summary written ahead. @returns false: its job has ended */
    stageAhead(job: Job, result: JobResult): Promise<boolean>;
    /** Commits all summaries written ahead together. @returns those that have landed */
    commitAhead(): Promise<readonly Landed[]>;
    reload(): Promise<unknown>;
  };
  /** False: the view is so small that no compaction can be due. Cheap. */
  mayBeFull(history: History): boolean;
  /** Whether little more would cause an emergency omission. Cheap. */
  lacksRoom(history: History): boolean;
  measure(
    history: History,
  ): Omit<CompactionState, "history" | "isForced" | "redoOf" | "isResting" | "cutShort" | "leadTokens">;
  summaryLengths(history: History, job: JobPlan): SummaryLengths;
  /** Omits entries that no longer fit, at once and without a model. @returns whether any entry was omitted */
  relieve(): Promise<boolean>;
  /** May notify people in the channel. Must not throw. */
  onCommitted(plan: JobPlan, messages: number): void;
  onLost(error: StaleEpochError): void;
}

export interface CompactorParts {
  readonly target: CompactionTarget;
  readonly jobs: JobStore;
  readonly runner: JobRunner;
  readonly reviser: Pick<Reviser, "revise">;
  readonly queue: CompactionQueue;
  readonly breaker: Circuit;
  readonly summarisers: readonly string[];
  readonly events: Events;
  readonly timing: CompactorTiming;
  /** The pure decision; the fuzz replaces it with wrong ones. */
  readonly decide?: (state: CompactionState) => Decision;
}

/** The outcome of a compaction that a person asked for. */
export type ForcedOutcome =
  | { readonly kind: "committed"; readonly job: Job; readonly summary: SummaryDraft; readonly ms: number }
  | { readonly kind: "nothing"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

/** Waiting times of a compactor, ms. */
export interface CompactorTiming {
  /** Shortest time between two checks: a busy channel is not measured at each message. */
  readonly lookEveryMs: number;
  readonly modelBackoff: Backoff;
  readonly databaseBackoff: Backoff;
}

export const COMPACTOR_TIMING: CompactorTiming = {
  lookEveryMs: 20,
  modelBackoff: { fromMs: 5000, toMs: 600_000 },
  databaseBackoff: { fromMs: 500, toMs: 30_000 },
};
