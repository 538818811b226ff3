import { setTimeout as delay } from "node:timers/promises";

/** Looks soon after a request, so often at most, and never twice at once: idle → waiting → looking → idle. */
export class LookTimer {
  readonly #everyMs: number;
  readonly #look: () => Promise<void>;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> | null = null;
  #lookedAt = 0;

  /** @param look must not throw */
  constructor(everyMs: number, look: () => Promise<void>) {
    this.#everyMs = everyMs;
    this.#look = look;
  }

  get isWaiting(): boolean {
    return this.#timer !== undefined;
  }

  get isIdle(): boolean {
    return !this.isWaiting && this.#looking === null;
  }

  /** Not while it waits already. Returns at once. */
  start(): void {
    const waitMs = Math.max(0, this.#everyMs - (performance.now() - this.#lookedAt));
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#looking ??= this.#look().finally(() => {
        this.#looking = null;
        this.#lookedAt = performance.now();
      });
    }, waitMs);
  }

  /** Resolves when the look under way has ended; if there is none, when the next one may have begun. */
  async looked(): Promise<void> {
    await (this.#looking ?? delay(this.#everyMs));
  }

  /** Cancels a look that waits. Resolves when the one under way has ended. */
  async stop(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    await this.#looking;
  }
}
