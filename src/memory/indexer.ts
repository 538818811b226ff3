import type { Logger } from "pino";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId } from "../core/ids.ts";
import type { SearchStore } from "../store/search/search.ts";

/** Longest lag of the index after the log, ms. */
const INTERVAL_MS = 500;
/** Number of channels that one transaction indexes, at most: a deletion waits for the transaction. */
const CHANNELS = 16;
/** Number of entries of each channel that one transaction indexes, at most. */
const ENTRIES = 200;
/** Entries of one channel that one round indexes again: about a fifth of a second. */
const RENEWED = 500;
/** Entries after which the index is merged before the round ends: a search reads those that are not merged from beginning to end. */
const UNSETTLED = 1000;
/** Interval between checks for erased texts, by any daemon, ms. */
const ERASED_INTERVAL_MS = 2000;

/**
 * Keeps the search index up with the log, off the reply path: an append marks its channel, and a run twice a second indexes the
 * marked channels. After a failure the marks stay. Rows that a migration has outdated are indexed again last, in batches.
 */
export class Indexer implements AsyncDisposable {
  readonly #search: SearchStore;
  readonly #log: Logger;
  readonly #dirty = new Set<ChannelId>();
  /** Channels with outdated rows; the first is at work. */
  #outdated: ChannelId[] = [];
  /** Entries that were indexed since the index was merged. */
  #unsettled = 0;
  #timer: NodeJS.Timeout | undefined;
  #erasedTimer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isDisposed = false;

  constructor(search: SearchStore, log: Logger) {
    this.#search = search;
    this.#log = log;
  }

  /** Marks the channels that an earlier process has not finished. */
  async start(): Promise<void> {
    this.#outdated = await this.#search.outdated();
    if (this.#outdated.length > 0) {
      this.#log.info({ channels: this.#outdated.length }, "index_renewal");
      this.#schedule();
    }
    for (const channel of await this.#search.behind()) this.mark(channel);
    this.#lookForErased(ERASED_INTERVAL_MS);
  }

  /** Schedules the renewal of the statistics, which removes the words of erased texts. */
  #lookForErased(inMs: number): void {
    if (this.#isDisposed) return;
    this.#erasedTimer = setTimeout(() => {
      // After the indexing under way.
      this.#running = this.#running.then(async () => this.#forgetErased());
    }, inMs);
  }

  async #forgetErased(): Promise<void> {
    if (this.#isDisposed) return;
    let waitMs = 0;
    try {
      waitMs = (await this.#search.forgetErased()) ?? 0;
    } catch (error) {
      this.#log.warn({ why: errorMessage(error) }, "statistics_not_renewed_yet");
    }
    this.#lookForErased(Math.max(ERASED_INTERVAL_MS, waitMs));
  }

  mark(channel: ChannelId): void {
    this.#dirty.add(channel);
    this.#schedule();
  }

  /** Indexes all that is marked, now. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // One run at a time; the next run indexes channels that are marked during this one.
    this.#running = this.#running.then(async () => this.#work());
    await this.#running;
  }

  #schedule(): void {
    if (this.#isDisposed || this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      void this.flush();
    }, INTERVAL_MS);
  }

  async #work(): Promise<void> {
    // A channel that is marked again during this round waits for the next one.
    const marked = [...this.#dirty];
    for (let from = 0; from < marked.length; from += CHANNELS) {
      // A shutdown waits for one batch only; the next start marks the rest.
      if (this.#isDisposed && from > 0) return;
      const channels = marked.slice(from, from + CHANNELS);
      for (const channel of channels) this.#dirty.delete(channel);
      if (await this.#index(channels)) continue;
      for (const channel of channels) this.mark(channel);
      break;
    }
    await this.#renew();
    await this.#settle(1);
  }

  /** @returns false: it failed */
  async #index(channels: readonly ChannelId[]): Promise<boolean> {
    try {
      for (const [channel, taken] of await this.#search.indexAll(channels, ENTRIES)) {
        this.#unsettled += taken;
        if (taken === ENTRIES) this.mark(channel);
      }
    } catch (error) {
      this.#log.warn({ why: errorMessage(error) }, "indexing_failed");
      return false;
    }
    await this.#settle(UNSETTLED);
    return true;
  }

  /** Merges the index if so many entries came since. */
  async #settle(least: number): Promise<void> {
    if (this.#unsettled < least) return;
    try {
      await this.#search.settle();
      this.#unsettled = 0;
    } catch (error) {
      this.#log.warn({ why: errorMessage(error) }, "indexing_failed");
      this.#schedule();
    }
  }

  /** One batch of one channel: the next comes with the next round. */
  async #renew(): Promise<void> {
    const [channel] = this.#outdated;
    if (channel === undefined || this.#isDisposed) return;
    try {
      this.#unsettled += RENEWED;
      if (!(await this.#search.renew(channel, RENEWED))) {
        this.#outdated.shift();
        if (this.#outdated.length === 0) this.#log.info("index_renewed");
      }
    } catch (error) {
      this.#log.warn({ why: errorMessage(error) }, "indexing_failed");
    }
    this.#schedule();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    clearTimeout(this.#erasedTimer);
    await this.flush();
    clearTimeout(this.#timer);
  }
}
