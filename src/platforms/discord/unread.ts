import type { Logger } from "pino";
import { z } from "zod";
import { BoundedMap } from "../../core/bounded-map.ts";
import { errorMessage } from "../../core/errors.ts";
import { PLATFORM_NAME } from "./api.ts";

/** One line of a kind of event in this time, ms. */
const PER_MS = 60_000;

interface Kind {
  toldAt: number;
  /** Events since the last line. */
  more: number;
}

/** Tells of events that could not be read, without what was in them: of each kind one line a minute at most. */
export class Unread {
  readonly #log: Logger;
  readonly #kinds = new BoundedMap<Kind>(200);

  constructor(log: Logger) {
    this.#log = log;
  }

  /** @param t the event's type */
  tell(t: string, error: unknown): void {
    const now = performance.now();
    const kind = this.#kinds.get(t);
    if (kind !== undefined && now - kind.toldAt < PER_MS) {
      kind.more += 1;
      return;
    }
    this.#kinds.set(t, { toldAt: now, more: 0 });
    const why = error instanceof z.ZodError ? "it is not what Discord's API tells" : errorMessage(error);
    const before = kind === undefined || kind.more === 0 ? {} : { notToldBefore: kind.more };
    this.#log.warn({ platform: PLATFORM_NAME, t, why, ...before }, "event_not_read");
  }
}
