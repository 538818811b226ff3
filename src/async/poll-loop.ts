/** Building blocks for waits, retries, queues and caches. They hold no domain knowledge and import no room but `core`. */

/**
 * Polls on request, and by itself some time after each poll. Polls never overlap; a request during one causes one more. The
 * wait keeps no process alive.
 */
export class PollLoop implements AsyncDisposable {
  readonly #look: () => Promise<number | null>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;
  #isWanted = false;
  #isClosed = false;

  /** @param look must not throw; resolves with the time until the next poll, ms; null: only a request causes the next poll */
  constructor(look: () => Promise<number | null>) {
    this.#look = look;
  }

  /** Looks now, or once more after the look under way. Returns at once. */
  now(): void {
    if (this.#isClosed) return;
    this.#isWanted = true;
    this.#running ??= this.#lookWhileWanted();
  }

  /** Looks after this time, ms, if nothing asks for it before. */
  later(ms: number): void {
    clearTimeout(this.#timer);
    if (!this.#isClosed) this.#timer = setTimeout(() => this.now(), ms).unref();
  }

  /** Looks as {@link now} does. Resolves when that look has ended. */
  async once(): Promise<void> {
    this.now();
    await this.#running;
  }

  async #lookWhileWanted(): Promise<void> {
    while (this.#isWanted && !this.#isClosed) {
      this.#isWanted = false;
      clearTimeout(this.#timer);
      const nextMs = await this.#look();
      if (nextMs !== null) this.later(nextMs);
    }
    // In the same step as the loop's last check, so that a later request starts a new loop.
    this.#running = null;
  }

  /** Stops polling. Resolves when the poll under way has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}
