/**
 * Looks for what there is to do: whenever somebody asks for it, and by itself a while after each look. Never two looks side by side; what
 * is asked for during one has one more follow. A wait keeps no process alive.
 */
export class PollLoop implements AsyncDisposable {
  readonly #look: () => Promise<number | null>;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | null = null;
  #isWanted = false;
  #isClosed = false;

  /** @param look must not throw. Resolves with when it is to look by itself, ms; null: only when somebody asks */
  constructor(look: () => Promise<number | null>) {
    this.#look = look;
  }

  /** Looks now, or once more after the look under way. Returns at once. */
  now(): void {
    if (this.#isClosed) return;
    this.#isWanted = true;
    this.#running ??= this.#lookWhileWanted();
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
      if (nextMs !== null && !this.#isClosed) this.#timer = setTimeout(() => this.now(), nextMs).unref();
    }
    // In the same step as the last question: who asks behind it begins anew.
    this.#running = null;
  }

  /** Looks no more. Resolves when the look under way has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    clearTimeout(this.#timer);
    await this.#running;
  }
}
