import type { CommitOutcome, Job, JobPlan, SummaryDraft } from "../core/compaction.ts";
import type { History } from "../core/history.ts";
import type { Owner } from "../core/ids.ts";
import type { StaleEpochError } from "../store/database/errors.ts";
import type { JobStore } from "../store/compaction/jobs.ts";
import type { Events } from "../telemetry/events.ts";
import type { Breaker } from "./breaker.ts";
import type { JobRunner } from "./job-runner.ts";
import type { CompactionState, Decision } from "./policy/policy.ts";
import type { CompactionQueue } from "./queue.ts";
import type { RestBounds } from "../async/backoff.ts";

/** What a channel's compactor may see of its channel, and do to it. */
export interface CompactionTarget {
  /** As `formatAddress` writes it. */
  readonly channel: string;
  readonly owner: Owner;
  readonly history: {
    readonly current: History;
    snapshot(): Promise<History>;
    commit(job: Pick<Job, "id" | "attempt">): Promise<CommitOutcome>;
    /** Folds the rows again. */
    reload(): Promise<unknown>;
  };
  /** False: so little is in the view that nothing can be due. Cheap. */
  mayBeFull(history: History): boolean;
  /** So much is in the view that much more would drive something out of it. Cheap. */
  lacksRoom(history: History): boolean;
  measure(history: History): Omit<CompactionState, "history" | "isForced" | "isResting" | "cutShort">;
  /** Leaves out of the view what no longer fits, at once and without a model. @returns true where something left it */
  relieve(): Promise<boolean>;
  /** People in the channel may be told. Must not throw. */
  onCommitted(plan: JobPlan, messages: number): void;
  /** Another daemon has the channel. */
  onLost(error: StaleEpochError): void;
}

export interface CompactorParts {
  readonly target: CompactionTarget;
  readonly jobs: JobStore;
  readonly runner: JobRunner;
  readonly queue: CompactionQueue;
  readonly breaker: Breaker;
  readonly summarisers: readonly string[];
  readonly events: Events;
  readonly timing: CompactorTiming;
  /** The pure decision; the protocol's fuzz puts wrong ones here. */
  readonly decide?: (state: CompactionState) => Decision;
}

/** What came of a compaction that somebody asked for. */
export type ForcedOutcome =
  | { readonly kind: "committed"; readonly job: Job; readonly summary: SummaryDraft; readonly ms: number }
  | { readonly kind: "nothing"; readonly reason: string }
  | { readonly kind: "failed"; readonly reason: string };

/** How long a compactor waits, ms. */
export interface CompactorTiming {
  /** From one look to the next: a channel that takes hundreds of messages a second is not measured at each. */
  readonly lookEveryMs: number;
  /** Where a model failed. */
  readonly modelRest: RestBounds;
  /** Where the database did. */
  readonly databaseRest: RestBounds;
}

export const COMPACTOR_TIMING: CompactorTiming = {
  lookEveryMs: 20,
  modelRest: { fromMs: 5000, toMs: 600_000 },
  databaseRest: { fromMs: 500, toMs: 30_000 },
};
