interface ListeningWatermarkParts {
  readonly now: () => Date;
  /** Resolves when every event received so far is in the log or recorded as missing. */
  readonly settled: () => Promise<unknown>;
  /** True: the connection is up, and every missing message is recorded as missing. */
  readonly isComplete: () => boolean;
  /** Stores the watermark. Must not throw. */
  readonly write: (heardTo: Date) => Promise<void>;
  /** Interval of checks, ms. Default: a minute. */
  readonly everyMs?: number | undefined;
}

const EVERY_MS = 60_000;
/**
 * Lag of the watermark, ms: a dead connection is noticed within 82 s (Discord's heartbeat), and the
 * platform's clock may be behind ours. Messages in between are fetched again, which changes nothing.
 */
const LAG_MS = 120_000;

/** A check later than this shows that the process was frozen or the machine slept, ms. */
const LATE_MS = 60_000;

/**
 * Moves the listening watermark, the time up to which the bot has received everything, forward while it is
 * connected. Each check stores the time of the check before: a process that was frozen between the two
 * received nothing after the first. After a freeze the connection may be dead unnoticed, so checks do not
 * count until a dead connection would have been noticed.
 */
export class ListeningWatermark {
  readonly #parts: ListeningWatermarkParts;
  #timer: NodeJS.Timeout | null = null;
  #last: { readonly at: Date; isSettled: boolean } | null = null;
  #checkedAt: Date | null = null;
  /** Checks before this time do not count, ms since the epoch. */
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
    // A clock that was set back is treated like a freeze.
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
