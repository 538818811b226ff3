import type { Logger } from "pino";
import { pause } from "../async/clock.ts";
import { PollLoop } from "../async/poll-loop.ts";
import type { RetentionConfig } from "../config/config.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId } from "../core/ids.ts";
import { BEFORE_ALL_IMAGES, type RetentionStore } from "../store/deletion/retention.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Interval between searches for expired content, ms. */
const EVERY_MS = 60 * 60 * 1000;
/** Pictures checked, and entries expired, in one transaction. */
const AT_ONCE = 500;
/** Pause between two transactions, so that no writer waits for several in a row, ms. */
const BETWEEN_MS = 20;

export interface RetentionParts {
  readonly store: Pick<
    RetentionStore,
    "channels" | "assertAllCompare" | "assertOneKey" | "nextTexts" | "expireTexts" | "expireImages"
  >;
  readonly now: () => Date;
  readonly log: Logger;
}

/**
 * Deletes raw texts and pictures older than the configuration allows: in the background, in small steps for which no answer waits. The
 * remaining ones follow from the rows, so a crash loses nothing.
 */
export class Retention implements AsyncDisposable {
  readonly #parts: RetentionParts;
  #config: RetentionConfig;
  readonly #closing = new AbortController();
  readonly #looks = new PollLoop(async () => this.#look());

  constructor(parts: RetentionParts, config: RetentionConfig) {
    this.#parts = parts;
    this.#config = config;
  }

  /** Sets the limits; a run by the earlier ones ends after its current step. */
  configure(config: RetentionConfig): void {
    const isSame = this.#config.textDays === config.textDays && this.#config.imageDays === config.imageDays;
    if (isSame) return;
    this.#config = config;
    this.#looks.now();
  }

  start(): void {
    this.#looks.now();
  }

  /** Resolves once all content that is expired now is deleted, as far as the database answers. Does not throw. */
  async sweep(): Promise<void> {
    await this.#looks.once();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#looks[Symbol.asyncDispose]();
  }

  async #look(): Promise<number | null> {
    await this.#sweep();
    const { textDays, imageDays } = this.#config;
    return textDays > 0 || imageDays > 0 ? EVERY_MS : null;
  }

  async #sweep(): Promise<void> {
    const config = this.#config;
    const isOver = (): boolean => this.#closing.signal.aborted || this.#config !== config;
    const before = (days: number): Date => new Date(this.#parts.now().getTime() - days * DAY_MS);
    // A failure of one kind does not stop the other.
    if (config.textDays > 0)
      await this.#attempt(async () => this.#expireTexts(before(config.textDays), isOver));
    if (config.imageDays > 0)
      await this.#attempt(async () => this.#expireImages(before(config.imageDays), isOver));
  }

  /** @returns undefined: it failed, which is logged */
  async #attempt<Result>(work: () => Promise<Result>, channel?: ChannelId): Promise<Result | undefined> {
    try {
      return await work();
    } catch (error) {
      this.#parts.log.warn({ channel, why: errorMessage(error) }, "retention_goes_on_later");
      return undefined;
    }
  }

  async #expireTexts(before: Date, isOver: () => boolean): Promise<void> {
    const { store, log } = this.#parts;
    let [channels, texts] = [0, 0];
    for (const channel of await store.channels(before)) {
      if (isOver()) break;
      await store.assertAllCompare();
      // A failure in one channel does not stop the next.
      const taken = (await this.#attempt(async () => this.#expireIn(channel, before, isOver), channel)) ?? 0;
      if (taken > 0) channels++;
      texts += taken;
    }
    if (texts > 0) log.info({ channels, texts, before }, "texts_no_longer_kept");
  }

  /** @returns number of entries whose text was deleted */
  async #expireIn(channel: ChannelId, before: Date, isOver: () => boolean): Promise<number> {
    const { store } = this.#parts;
    await store.assertOneKey(channel);
    let taken = 0;
    // Entries covered by ordinary summaries first, then those of a reset.
    for (const isReset of [false, true]) {
      let [from, summary] = [0, 0];
      while (!isOver()) {
        const found = await store.nextTexts(channel, before, AT_ONCE, { isReset, from, summary });
        if (found === undefined) break;
        const gone = await store.expireTexts(channel, found);
        taken += gone ?? 0;
        // A summary that changed meanwhile is skipped until the next search.
        [from, summary] = [found.summaryFrom, gone === null ? found.summary + 1 : found.summary];
        await pause(BETWEEN_MS, this.#closing.signal);
      }
    }
    return taken;
  }

  async #expireImages(before: Date, isOver: () => boolean): Promise<void> {
    const { store, log } = this.#parts;
    let [images, behind] = [0, BEFORE_ALL_IMAGES];
    while (!isOver()) {
      const looked = await store.expireImages(before, AT_ONCE, behind);
      if (looked === undefined) break;
      images += looked.expired;
      behind = looked.last;
      await pause(BETWEEN_MS, this.#closing.signal);
    }
    if (images > 0) log.info({ images, before }, "images_no_longer_kept");
  }
}
