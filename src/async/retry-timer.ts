/** First and longest wait, ms. */
const RETRY_FROM_MS = 500;
const RETRY_TO_MS = 30_000;

/** Tries something again after a while, and after a longer one each time it is asked to before `succeeded`. */
export class RetryTimer {
  #timer: NodeJS.Timeout | undefined;
  #waitMs = RETRY_FROM_MS;

  get isWaiting(): boolean {
    return this.#timer !== undefined;
  }

  /** How long the next wait is, ms. */
  get waitMs(): number {
    return this.#waitMs;
  }

  /** @param work must not throw */
  schedule(work: () => void): void {
    if (this.#timer !== undefined) return;
    this.after(this.#waitMs, work);
    this.#waitMs = Math.min(this.#waitMs * 2, RETRY_TO_MS);
  }

  /** The same after a wait of the caller's, which makes no other one longer. */
  after(waitMs: number, work: () => void): void {
    this.#timer ??= setTimeout(() => {
      this.#timer = undefined;
      work();
    }, waitMs);
  }

  succeeded(): void {
    this.#waitMs = RETRY_FROM_MS;
  }

  cancel(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }
}
