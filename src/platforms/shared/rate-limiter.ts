/** Calls that may come at once. */
const BURST = 20;
/** Platforms count the calls of a minute: what was called before that holds nobody up any more, ms. */
const COUNTED_MS = 60_000;

/**
 * Counts calls of which a platform allows so many a minute, and says when something that nobody waits for may make one more.
 * Who is waited for asks for nothing, but is counted.
 */
export class RateLimiter {
  readonly #everyMs: () => number;
  readonly #now: () => number;
  /** When all that were made are made up for, by a steady clock, ms. */
  #freeAt = Number.NEGATIVE_INFINITY;
  /** Calls that were counted when they were asked for, and are not made yet. */
  #awaited = 0;

  /**
   * @param everyMs one call in so many ms, over time; asked each time where it changes
   * @param now a steady clock, ms
   */
  constructor(everyMs: number | (() => number), now: () => number = () => performance.now()) {
    this.#everyMs = typeof everyMs === "number" ? () => everyMs : everyMs;
    this.#now = now;
  }

  /** To be asked before the first call of something that nobody waits for: that one is counted now. @returns ms to wait */
  ask(): number {
    this.#count();
    this.#awaited += 1;
    return Math.max(0, this.#freeAt - this.#now());
  }

  /** To be told of each call. */
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
