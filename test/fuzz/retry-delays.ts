import type { Backoff } from "../../src/async/backoff.ts";

/** Rests are no shorter than timers are, and no longer than quiescence can wait for, ms. */
const SHORTEST_MS = 5;
const LONGEST_MS = 500;
/** A rest in jobs. */
const JOBS_A_REST = 4;
/** Weight of what is known already against the newest job. */
const INERTIA = 4;

/**
 * How long a compactor rests behind a failure: longer than its jobs take just now, on whatever machine and beside whatever
 * else runs there. With rests of a fixed time, three channels whose jobs take longer than their rests are never at rest
 * together, and a run that waits for that takes it for a hang.
 */
export class RetryDelays implements Backoff {
  #jobMs = SHORTEST_MS;

  /** A job has failed after so many milliseconds, none of which it waited for a summariser that is silent. */
  failed(ms: number): void {
    this.#jobMs += (ms - this.#jobMs) / INERTIA;
  }

  get fromMs(): number {
    return Math.min(LONGEST_MS, Math.max(SHORTEST_MS, this.#jobMs));
  }

  get toMs(): number {
    return Math.min(LONGEST_MS, this.fromMs * JOBS_A_REST);
  }
}
