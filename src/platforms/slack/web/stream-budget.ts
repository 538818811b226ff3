/** Slack allows an app about twenty `chat.startStream`, and as many `chat.stopStream`, a minute in a workspace (tier 2). */
const STARTS = 17;
/** About a hundred `chat.appendStream` (tier 4). */
const APPENDS = 90;
const MINUTE_MS = 60_000;

/** Shares one workspace's stream calls between its unfinished answers. */
export class StreamBudget {
  readonly #now: () => number;
  #starts: number[] = [];
  #appends: number[] = [];
  /** Open streams by their idempotency key, with the time of the last piece. */
  readonly #open = new Map<string, number>();
  #limitedUntil = 0;

  /** @param now a monotonic clock, ms */
  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** Each start needs a stop, which has the same limit. */
  mayStart(): boolean {
    const now = this.#now();
    this.#starts = this.#starts.filter((at) => now - at < MINUTE_MS);
    return now >= this.#limitedUntil && this.#starts.length < STARTS;
  }

  started(key: string): void {
    const now = this.#now();
    this.#starts.push(now);
    this.#open.set(key, now);
  }

  /** Call before each piece. @returns null: no stream has this key */
  mayAppend(key: string): boolean | null {
    const last = this.#open.get(key);
    if (last === undefined) return null;
    const now = this.#now();
    this.#appends = this.#appends.filter((at) => now - at < MINUTE_MS);
    // Fair shares: with n open streams, each stream's interval between pieces is n times as long.
    const isEarly = now - last < (this.#open.size * MINUTE_MS) / APPENDS;
    return now >= this.#limitedUntil && !isEarly && this.#appends.length < APPENDS;
  }

  appended(key: string): void {
    const now = this.#now();
    this.#appends.push(now);
    if (this.#open.has(key)) this.#open.set(key, now);
  }

  ended(key: string): void {
    this.#open.delete(key);
  }

  /** Slack has rate-limited a call. */
  limited(retryAfterMs: number): void {
    this.#limitedUntil = Math.max(this.#limitedUntil, this.#now() + retryAfterMs);
  }
}
