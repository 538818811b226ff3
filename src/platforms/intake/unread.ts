import type { Logger } from "pino";
import { z } from "zod";
import { BoundedMap } from "../../async/bounded-map.ts";
import { errorMessage } from "../../core/errors.ts";

/** Least time between lines of a kind, ms. */
const PER_MS = 60_000;

interface Kind {
  toldAt: number;
  /** Events since the last line. */
  more: number;
}

/** Logs unreadable events without their content, at most one line a minute per kind. */
export class Unread {
  readonly #platform: string;
  readonly #log: Logger;
  readonly #kinds = new BoundedMap<Kind>(200);

  constructor(platform: string, log: Logger) {
    this.#platform = platform;
    this.#log = log;
  }

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
