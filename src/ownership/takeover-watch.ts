import type { Logger } from "pino";
import { BoundedMap } from "../async/bounded-map.ts";
import { steadyNow } from "../async/clock.ts";
import { PollLoop } from "../async/poll-loop.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId } from "../core/ids.ts";

/** Delay between two looks at a lost channel, ms. A message for which no turn has begun meanwhile is unknown to the channel's owner. */
const LOOK_MS = 2000;
/** How long begun work may stand still before its daemon counts as dead, ms: the model may be slow. */
const STILL_MS = 120_000;
/** Longest of these delays, ms. */
const LONGEST_MS = 3_600_000;
/** Delay between two searches for messages that this daemon does not know, ms. */
const SEARCH_MS = 15_000;
/** Channels whose number of take-backs is remembered. */
const MAX_KNOWN = 1000;

/** Unfinished work of a channel. */
export interface Unfinished {
  /** A description that changes as the work proceeds. */
  readonly told: string;
  /** False: a message is due, and no turn runs. */
  readonly isBegun: boolean;
}

export interface TakeoverTiming {
  /** Delay between two looks, ms. Default: two seconds. */
  readonly lookMs?: number;
  /** How long begun work may stand still, ms; looks are no further apart. Default: two minutes. */
  readonly stillMs?: number;
  /** Delay between two searches, ms. Default: 15 s. */
  readonly searchMs?: number;
}

export interface TakeoverWatchParts extends TakeoverTiming {
  /** Null: nothing is unfinished. */
  readonly unfinished: (id: ChannelId) => Promise<Unfinished | null>;
  /**
   * The channels with unfinished work that are not loaded here: another daemon has them, or had them when it ended. Left out: no
   * other daemon can.
   */
  readonly elsewhere?: (() => Promise<readonly ChannelId[]>) | undefined;
  /** Takes the channel again. Must not throw. */
  readonly take: (id: ChannelId) => Promise<void>;
  readonly log: Logger;
}

/** What was unfinished, and since when it has not changed. */
interface Seen {
  readonly told: string;
  readonly since: number;
}

/**
 * Watches channels that another daemon has taken, and those with unfinished work that nobody may have. That daemon may have ended with
 * messages due; or it does not know of a message that was appended here after it had read the log. Nobody would notice before the next
 * message: so this daemon takes the channel if nothing changes. The waits grow with each time: else two live daemons would take the
 * channel from each other during one slow answer.
 */
export class TakeoverWatch {
  readonly #parts: TakeoverWatchParts;
  /** How often each channel was taken back since its work was last finished. */
  readonly #takes = new BoundedMap<number>(MAX_KNOWN);
  readonly #looks = new Map<ChannelId, NodeJS.Timeout>();
  readonly #searches = new PollLoop(async () => this.#search());
  #isClosed = false;

  constructor(parts: TakeoverWatchParts) {
    this.#parts = parts;
    if (parts.elsewhere !== undefined) this.#searches.later(this.#searchMs);
  }

  add(id: ChannelId): void {
    if (!this.#isClosed && !this.#looks.has(id)) this.#schedule(id, null);
  }

  close(): void {
    this.#isClosed = true;
    void this.#searches[Symbol.asyncDispose]();
    for (const look of this.#looks.values()) clearTimeout(look);
    this.#looks.clear();
  }

  get #searchMs(): number {
    return this.#parts.searchMs ?? SEARCH_MS;
  }

  /** Must not throw. */
  async #search(): Promise<number> {
    try {
      for (const id of (await this.#parts.elsewhere?.()) ?? []) this.add(id);
    } catch (error) {
      this.#parts.log.warn({ why: errorMessage(error) }, "lost_channels_unknown");
    }
    return this.#searchMs;
  }

  #schedule(id: ChannelId, seen: Seen | null): void {
    const { lookMs = LOOK_MS } = this.#parts;
    const waitMs = this.#grown(id, Math.min(lookMs, this.#stillMs));
    const look = setTimeout(() => void this.#look(id, seen), waitMs).unref();
    this.#looks.set(id, look);
  }

  get #stillMs(): number {
    return this.#parts.stillMs ?? STILL_MS;
  }

  #grown(id: ChannelId, ms: number): number {
    return Math.min(ms * 2 ** (this.#takes.get(String(id)) ?? 0), LONGEST_MS);
  }

  /**
   * Must not throw.
   * @param seen at the previous look; null: there was none
   */
  async #look(id: ChannelId, seen: Seen | null): Promise<void> {
    let now = seen;
    try {
      const unfinished = await this.#parts.unfinished(id);
      if (this.#isClosed) return;
      if (unfinished === null) {
        this.#looks.delete(id);
        this.#takes.delete(String(id));
        return;
      }
      const { told, isBegun } = unfinished;
      if (told !== seen?.told) now = { told, since: steadyNow() };
      else if (!isBegun || steadyNow() - seen.since >= this.#grown(id, this.#stillMs)) {
        this.#looks.delete(id);
        this.#takes.set(String(id), (this.#takes.get(String(id)) ?? 0) + 1);
        this.#parts.log.warn({ id, unfinished: told }, "channel_taken_back");
        await this.#parts.take(id);
        return;
      }
    } catch (error) {
      this.#parts.log.warn({ id, why: errorMessage(error) }, "lost_channel_unknown");
    }
    if (!this.#isClosed) this.#schedule(id, now);
  }
}
