import { withDeadline } from "../../../async/deadline.ts";

/** Requests that wait for something to happen. */
export class Waiters {
  #woken = Promise.withResolvers<void>();
  #size = 0;

  get size(): number {
    return this.#size;
  }

  wake(): void {
    this.#woken.resolve();
    this.#woken = Promise.withResolvers();
  }

  /** Resolves at the next `wake`, after `waitMs`, or when the signal says so. */
  async wait(waitMs: number, signal: AbortSignal): Promise<void> {
    if (waitMs <= 0 || signal.aborted) return;
    this.#size += 1;
    await withDeadline(this.#woken.promise, waitMs, signal);
    this.#size -= 1;
  }
}
