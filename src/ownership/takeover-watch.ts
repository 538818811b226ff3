import type { Logger } from "pino";
import { BoundedMap } from "../async/bounded-map.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId } from "../core/ids.ts";

/** First and longest delay between two looks at a lost channel, ms. */
const LOOK_FROM_MS = 60_000;
const LOOK_TO_MS = 3_600_000;
const MAX_KNOWN = 1000;

export interface TakeoverWatchParts {
  /** A description of a channel's unfinished work that changes as the work proceeds; null: none. */
  readonly unfinished: (id: ChannelId) => Promise<string | null>;
  /** Takes the channel again. Must not throw. */
  readonly take: (id: ChannelId) => Promise<void>;
  readonly log: Logger;
  /** Default: a minute. */
  readonly lookFromMs?: number;
}

/**
 * Watches channels that another daemon has taken. That daemon may have died with messages due, and nobody would notice before the next
 * message. If nothing changed between two looks, this daemon takes the channel again. The wait grows with each loss: else two live
 * daemons would take the channel from each other during one slow answer.
 */
export class TakeoverWatch {
  readonly #parts: TakeoverWatchParts;
  readonly #waitMs = new BoundedMap<number>(MAX_KNOWN);
  readonly #looks = new Map<ChannelId, NodeJS.Timeout>();
  #isClosed = false;

  constructor(parts: TakeoverWatchParts) {
    this.#parts = parts;
  }

  add(id: ChannelId): void {
    if (this.#isClosed || this.#looks.has(id)) return;
    const from = this.#parts.lookFromMs ?? LOOK_FROM_MS;
    const waitMs = this.#waitMs.get(String(id)) ?? from;
    this.#waitMs.set(String(id), Math.min(waitMs * 2, LOOK_TO_MS));
    this.#schedule(id, waitMs, null);
  }

  close(): void {
    this.#isClosed = true;
    for (const look of this.#looks.values()) clearTimeout(look);
    this.#looks.clear();
  }

  /**
   * @param seen what was unfinished at the previous look: if it is still the same at the next one, this daemon takes
   * the channel back; null: no previous look
   */
  #schedule(id: ChannelId, waitMs: number, seen: string | null): void {
    const look = setTimeout(() => void this.#look(id, waitMs, seen), waitMs).unref();
    this.#looks.set(id, look);
  }

  /** Must not throw. */
  async #look(id: ChannelId, waitMs: number, seen: string | null): Promise<void> {
    let unfinished = seen;
    try {
      unfinished = await this.#parts.unfinished(id);
      if (unfinished === null || unfinished === seen) this.#looks.delete(id);
      if (unfinished === null || this.#isClosed) return;
      if (unfinished === seen) {
        this.#parts.log.warn({ id, unfinished }, "channel_taken_back");
        await this.#parts.take(id);
        return;
      }
    } catch (error) {
      this.#parts.log.warn({ id, why: errorMessage(error) }, "lost_channel_unknown");
    }
    if (!this.#isClosed) this.#schedule(id, waitMs, unfinished);
  }
}
