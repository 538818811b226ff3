/** Wakes whoever waits for something to happen in a run: so that a wait takes no longer than what it waits for. */
export class ActivitySignal {
  #next = Promise.withResolvers<void>();
  #timer: NodeJS.Timeout | undefined;

  /** Something happened. */
  notify(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const { resolve } = this.#next;
    this.#next = Promise.withResolvers<void>();
    resolve();
  }

  /** Resolves at the next beat, and after a millisecond at the latest: timers make none. */
  async next(): Promise<void> {
    this.#timer ??= setTimeout(() => this.notify(), 1);
    await this.#next.promise;
  }
}
