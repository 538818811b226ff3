import type { Logger } from "pino";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId } from "../core/ids.ts";
import type { SearchStore } from "../store/search.ts";

/** How long the index may lag behind the log, ms. */
const INTERVAL_MS = 500;
/** Entries that are indexed in one transaction. */
const BATCH = 500;

/**
 * Keeps the search index up with the log, off the reply path: an append marks its channel, and the marks are worked
 * off twice a second. After a failure the marks stay.
 */
export class Indexer implements AsyncDisposable {
  readonly #search: SearchStore;
  readonly #log: Logger;
  readonly #dirty = new Set<ChannelId>();
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> = Promise.resolve();
  #isDisposed = false;

  constructor(search: SearchStore, log: Logger) {
    this.#search = search;
    this.#log = log;
  }

  /** Marks what an earlier process left behind. */
  async start(): Promise<void> {
    for (const channel of await this.#search.behind()) this.mark(channel);
  }

  mark(channel: ChannelId): void {
    this.#dirty.add(channel);
    this.#schedule();
  }

  /** Indexes all that is marked, now. */
  async flush(): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    // One run at a time; the next takes what was marked meanwhile.
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
    // A channel that is marked again meanwhile waits for the next round.
    for (const channel of Array.from(this.#dirty)) {
      this.#dirty.delete(channel);
      try {
        const taken = await this.#search.index(channel, BATCH);
        if (taken === BATCH) this.mark(channel);
      } catch (error) {
        this.#log.warn({ why: errorMessage(error) }, "indexing_failed");
        this.mark(channel);
        return;
      }
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isDisposed = true;
    await this.flush();
    clearTimeout(this.#timer);
  }
}
