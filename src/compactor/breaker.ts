/** Failures in a row that open the circuit. */
const MAX_FAILURES = 3;
const FIRST_PAUSE_MS = 30_000;
const LONGEST_PAUSE_MS = 600_000;

/** Whether a model may be called for a compaction. */
export interface Circuit extends Pick<Breaker, "mayTry" | "admit" | "succeeded" | "failed"> {
  /** Why no model may be called; null, also by default: a circuit is open. */
  readonly whyNot?: () => string | null;
}

interface ModelState {
  failures: number;
  /** 0: closed. */
  pauseMs: number;
  openUntil: number;
  isTrying: boolean;
}

/**
 * A circuit breaker per model, shared by all channels: not every channel has to find out that a summariser is down.
 * Closed until three failures in a row; then open for 30 s; then one trial, and the next pause is twice as long, up to
 * ten minutes, unless the trial succeeds.
 */
export class Breaker {
  readonly #now: () => number;
  readonly #models = new Map<string, ModelState>();

  /** @param now milliseconds of a clock that never goes back */
  constructor(now: () => number) {
    this.#now = now;
  }

  /** Would `admit` allow a call now? Changes nothing. */
  mayTry(model: string): boolean {
    return this.waitMs(model) === 0;
  }

  /** Asks for one call. After a pause only the first caller is admitted: its call is the trial. */
  admit(model: string): boolean {
    if (!this.mayTry(model)) return false;
    const state = this.#models.get(model);
    // A trial may never report, since its channel may be closed: after another pause the next trial is admitted.
    if (state !== undefined && state.pauseMs > 0) {
      state.openUntil = this.#now() + state.pauseMs;
      state.isTrying = true;
    }
    return true;
  }

  succeeded(model: string): void {
    this.#models.delete(model);
  }

  failed(model: string): void {
    const state = this.#models.get(model) ?? { failures: 0, pauseMs: 0, openUntil: 0, isTrying: false };
    this.#models.set(model, state);
    state.failures++;
    if (state.failures < MAX_FAILURES) return;
    // Failures of calls that were in flight when the circuit opened do not count.
    if (state.pauseMs > 0 && !state.isTrying && !this.mayTry(model)) return;
    state.pauseMs = state.pauseMs === 0 ? FIRST_PAUSE_MS : Math.min(LONGEST_PAUSE_MS, state.pauseMs * 2);
    state.openUntil = this.#now() + state.pauseMs;
    state.isTrying = false;
  }

  /** The models that have failed since their last success. */
  states(): { readonly model: string; readonly failures: number; readonly waitMs: number }[] {
    return Array.from(this.#models, ([model, { failures }]) => {
      return { model, failures, waitMs: this.waitMs(model) };
    });
  }

  /** Until the next trial; 0: a call may be made. */
  waitMs(model: string): number {
    return Math.max(0, (this.#models.get(model)?.openUntil ?? 0) - this.#now());
  }
}
