/** First and longest wait, ms. */
export interface Backoff {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Exponential back-off. @param failures in a row before this wait, from 0 @returns ms */
export function backoffMs({ fromMs, toMs }: Backoff, failures: number): number {
  return Math.min(fromMs * 2 ** failures, toMs);
}

/**
 * A wait, longer or shorter by up to a quarter, so that clients that were cut off together do not return together.
 * @param chance 0 ≤ x < 1
 */
export function jittered(ms: number, chance = Math.random()): number {
  return Math.round(ms * (0.75 + chance / 2));
}

/** Starts work again after a failure, with exponential back-off. A wait keeps no process alive. */
export class BackoffTimer {
  readonly #backoff: Backoff;
  #timer: NodeJS.Timeout | undefined;
  #failures = 0;

  constructor(backoff: Backoff) {
    this.#backoff = backoff;
  }

  get isWaiting(): boolean {
    return this.#timer !== undefined;
  }

  get waitMs(): number {
    return backoffMs(this.#backoff, this.#failures);
  }

  /** Runs the work after the next wait, unless a wait is under way. @param work must not throw */
  schedule(work: () => void): void {
    if (this.isWaiting) return;
    this.after(this.waitMs, work);
    this.#failures += 1;
  }

  /** Like `schedule`, but after `waitMs`. It does not count as a failure, so later waits do not grow. */
  after(waitMs: number, work: () => void): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      work();
    }, waitMs).unref();
  }

  /** The next wait is the first one again. */
  succeeded(): void {
    this.#failures = 0;
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
