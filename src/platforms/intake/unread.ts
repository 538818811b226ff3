import type { Logger } from "pino";
import { z } from "zod";
import { BoundedMap } from "../../async/bounded-map.ts";
import { errorMessage } from "../../core/errors.ts";

/** One line of a kind of event in this time, ms. */
const PER_MS = 60_000;

interface Kind {
  toldAt: number;
  /** Events since the last line. */
  more: number;
}

/** Tells of events that could not be read, without what was in them: of each kind one line a minute at most. */
export class Unread {
  readonly #platform: string;
  readonly #log: Logger;
  readonly #kinds = new BoundedMap<Kind>(200);

  constructor(platform: string, log: Logger) {
    this.#platform = platform;
    this.#log = log;
  }

  /** @param type the event's */
  tell(type: string, error: unknown): void {
    const t = type.slice(0, 50);
    const now = performance.now();
    const kind = this.#kinds.get(t);
    if (kind !== undefined && now - kind.toldAt < PER_MS) {
      kind.more += 1;
      return;
    }
    this.#kinds.set(t, { toldAt: now, more: 0 });
    const why = error instanceof z.ZodError ? "it is not what the platform's API tells" : errorMessage(error);
    const before = kind === undefined || kind.more === 0 ? {} : { notToldBefore: kind.more };
    this.#log.warn({ platform: this.#platform, t, why, ...before }, "event_not_read");
  }
}
