/** Slack allows an app about fifty `chat.update` a minute in a workspace (tier 3). */
const PER_MINUTE = 50;
/** Updates kept for final texts without shown pieces, as after a restart. */
const KEPT = 10;
const MINUTE_MS = 60_000;
/** A draft untouched for this long has ended in another way, ms. */
const FORGOTTEN_MS = 600_000;

/**
 * Shares one workspace's updates between its unfinished answers. A piece of an answer asks first, and is
 * skipped if too few updates are left; a final text never asks. Each answer that shows pieces has one update
 * reserved for its final text.
 */
export class UpdateBudget {
  readonly #now: () => number;
  /** Times of the last minute's updates. */
  #spent: number[] = [];
  /** Answers that show pieces, by their idempotency key, with the time of the last piece. */
  readonly #open = new Map<string, number>();
  #limitedUntil = 0;

  /** @param now a monotonic clock, ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Call before each piece of an answer. @returns whether the piece may be shown now */
  mayShow(key: string): boolean {
    const now = this.#now();
    this.#spent = this.#spent.filter((at) => now - at < MINUTE_MS);
    for (const [one, at] of this.#open) if (now - at >= FORGOTTEN_MS) this.#open.delete(one);
    const last = this.#open.get(key);
    const forPieces = PER_MINUTE - KEPT;
    // Fair shares: with n open answers, each answer's interval between pieces is n times as long.
    const isEarly = last !== undefined && now - last < (this.#open.size * MINUTE_MS) / forPieces;
    if (now < this.#limitedUntil || isEarly || this.#spent.length + this.#open.size >= forPieces)
      return false;
    this.#open.set(key, now);
    return true;
  }

  /** Call for each update. @param isFinal the update was the answer's final text */
  updated(key: string, isFinal: boolean): void {
    this.#spent.push(this.#now());
    if (isFinal) this.#open.delete(key);
  }

  /** The answer needs no more updates: it was posted whole, or its draft was withdrawn. */
  ended(key: string): void {
    this.#open.delete(key);
  }

  /** Slack has rate-limited an update. */
  limited(retryAfterMs: number): void {
    this.#limitedUntil = Math.max(this.#limitedUntil, this.#now() + retryAfterMs);
  }
}
