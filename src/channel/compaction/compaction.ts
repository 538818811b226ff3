import type { Breaker } from "../../compactor/breaker.ts";
import type { CompactorTiming } from "../../compactor/target.ts";
import type { CompactionState, Decision } from "../../compactor/policy/policy.ts";
import type { CompactionQueue } from "../../compactor/queue.ts";

/** Parts that the compactors of all channels share. */
export interface Compaction {
  readonly queue: CompactionQueue;
  readonly breaker: Breaker;
  readonly timing: CompactorTiming;
  /** The pure decision; the protocol's fuzz puts wrong ones here. Default: the real one. */
  readonly decide?: (state: CompactionState) => Decision;
}
