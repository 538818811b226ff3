/** Slack allows an app about fifty `chat.update` a minute in a workspace (tier 3). */
const PER_MINUTE = 50;
/** Of these, updates that no piece of an answer may take: final texts whose answer showed none, as after a restart. */
const KEPT = 10;
const MINUTE_MS = 60_000;
/** A draft that was not touched for so long has ended some other way, ms. */
const FORGOTTEN_MS = 600_000;

/**
 * Shares the updates of one workspace between the answers that are being written there. A piece of an answer asks, and is left out
 * where too few are left; a final text never asks. Each answer that shows pieces has one update put aside for its final text.
 */
export class UpdateBudget {
  readonly #now: () => number;
  /** When updates were made, in the last minute. */
  #spent: number[] = [];
  /** Answers that show pieces, by their idempotency key, with the time of the last one. */
  readonly #open = new Map<string, number>();
  #limitedUntil = 0;

  /** @param now a steady clock, ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** To be asked before each piece of an answer. @returns whether it may be shown now */
  mayShow(key: string): boolean {
    const now = this.#now();
    this.#spent = this.#spent.filter((at) => now - at < MINUTE_MS);
    for (const [one, at] of this.#open) if (now - at >= FORGOTTEN_MS) this.#open.delete(one);
    const last = this.#open.get(key);
    const forPieces = PER_MINUTE - KEPT;
    // All get the same: so many answers at once, so many times the interval between two pieces of each.
    const isEarly = last !== undefined && now - last < (this.#open.size * MINUTE_MS) / forPieces;
    if (now < this.#limitedUntil || isEarly || this.#spent.length + this.#open.size >= forPieces)
      return false;
    this.#open.set(key, now);
    return true;
  }

  /** To be told of each update. @param isFinal it was the final text of this answer */
  updated(key: string, isFinal: boolean): void {
    this.#spent.push(this.#now());
    if (isFinal) this.#open.delete(key);
  }

  /** The answer needs no update any more: it was posted as a whole, or what it showed was taken back. */
  ended(key: string): void {
    this.#open.delete(key);
  }

  /** Slack has refused an update for its rate. */
  limited(retryAfterMs: number): void {
    this.#limitedUntil = Math.max(this.#limitedUntil, this.#now() + retryAfterMs);
  }
}
