/** Requests that wait for something to happen. */
export class Waiters {
  readonly #waiting = new Set<() => void>();

  get size(): number {
    return this.#waiting.size;
  }

  wake(): void {
    for (const done of this.#waiting) done();
  }

  /** Resolves at the next `wake`, after `waitMs`, or when the signal says so. */
  async wait(waitMs: number, signal: AbortSignal): Promise<void> {
    if (waitMs <= 0 || signal.aborted) return;
    await new Promise<void>((resolve) => {
      const done = (): void => {
        clearTimeout(timer);
        this.#waiting.delete(done);
        signal.removeEventListener("abort", done);
        resolve();
      };
      const timer = setTimeout(done, waitMs);
      this.#waiting.add(done);
      signal.addEventListener("abort", done);
    });
  }
}
