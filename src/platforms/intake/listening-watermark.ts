export interface ListeningWatermarkParts {
  readonly now: () => Date;
  /** Resolves when everything that has come in so far is in the log, or on record as missing. */
  readonly settled: () => Promise<unknown>;
  /** Somebody listens, and nothing is missing but what is on record. */
  readonly isComplete: () => boolean;
  /** Notes up to when everything was heard. Must not throw. */
  readonly write: (heardTo: Date) => Promise<void>;
  /** How often it is moved. Default: a minute. */
  readonly everyMs?: number;
}

const EVERY_MS = 60_000;
/**
 * How far the mark stays behind what was heard: a dead connection is noticed within 82 s (Discord's heartbeat), and the platform's
 * clock may be behind ours. What lies between is looked at once more, and changes nothing.
 */
const LAG_MS = 120_000;

/** Looks are so much too late only where the process was frozen, or the machine slept, ms. */
const LATE_MS = 60_000;

/**
 * Moves on the time up to which everything was heard, while somebody listens. What it notes at a look is the time of the look
 * before: a process that was frozen between the two has not listened to what came after that. Nor does it know at once that its
 * connection has not outlived this: until a dead one would have been noticed, no look counts.
 */
export class ListeningWatermark {
  readonly #parts: ListeningWatermarkParts;
  #timer: NodeJS.Timeout | null = null;
  #last: { readonly at: Date; isSettled: boolean } | null = null;
  #checkedAt: Date | null = null;
  /** Looks before that time do not count, ms. */
  #countsFrom = 0;

  constructor(parts: ListeningWatermarkParts) {
    this.#parts = parts;
  }

  /** May be called twice. */
  start(): void {
    this.#timer ??= setInterval(() => this.#check(), this.#parts.everyMs ?? EVERY_MS).unref();
  }

  stop(): void {
    if (this.#timer !== null) clearInterval(this.#timer);
  }

  #check(): void {
    const { now, settled, isComplete, write, everyMs = EVERY_MS } = this.#parts;
    const at = now();
    const awayMs = at.getTime() - (this.#checkedAt ?? at).getTime();
    this.#checkedAt = at;
    // A clock that was set back is no better.
    if (awayMs < 0 || awayMs > everyMs + LATE_MS) this.#countsFrom = at.getTime() + LAG_MS;
    const last = this.#last;
    if (!isComplete()) {
      this.#last = null;
      return;
    }
    if (last !== null && !last.isSettled) return;
    if (last !== null) void write(new Date(last.at.getTime() - LAG_MS));
    const next = { at, isSettled: false };
    this.#last = at.getTime() < this.#countsFrom ? null : next;
    void settled().finally(() => (next.isSettled = true));
  }
}
