/** Calls that may come at once. */
const BURST = 20;
/** Platforms count the calls of a minute, so older calls delay nothing, ms. */
const COUNTED_MS = 60_000;

/**
 * Counts calls against a platform's rate, and says when background work may make another call. Calls that a person waits for do
 * not ask, but are counted.
 */
export class RateLimiter {
  readonly #everyMs: () => number;
  readonly #now: () => number;
  /** When the rate has made up for all calls so far, by a steady clock, ms. */
  #freeAt = Number.NEGATIVE_INFINITY;
  /** Calls that were counted in advance, and are not made yet. */
  #awaited = 0;

  /**
   * @param everyMs mean interval of calls, ms; a function is called each time
   * @param now a steady clock, ms
   */
  constructor(everyMs: number | (() => number), now: () => number = () => performance.now()) {
    this.#everyMs = typeof everyMs === "number" ? () => everyMs : everyMs;
    this.#now = now;
  }

  /**
   * To be called before the first call of background work, which is counted now.
   * @returns ms to wait
   */
  ask(): number {
    this.#count();
    this.#awaited += 1;
    return Math.max(0, this.#freeAt - this.#now());
  }

  /** To be called for each call to the platform. */
  called(): void {
    if (this.#awaited > 0) {
      this.#awaited -= 1;
      return;
    }
    const latest = Math.max(this.#freeAt, this.#now() + COUNTED_MS);
    this.#count();
    this.#freeAt = Math.min(this.#freeAt, latest);
  }

  #count(): void {
    const everyMs = this.#everyMs();
    this.#freeAt = Math.max(this.#freeAt, this.#now() - BURST * everyMs) + everyMs;
  }
}
