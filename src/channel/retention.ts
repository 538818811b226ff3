import type { Logger } from "pino";
import { pause } from "../async/clock.ts";
import { PollLoop } from "../async/poll-loop.ts";
import type { RetentionConfig } from "../config/config.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId } from "../core/ids.ts";
import { BEFORE_ALL_IMAGES, type RetentionStore } from "../store/log/retention.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** How often it is looked for what is old enough, ms. */
const EVERY_MS = 60 * 60 * 1000;
/** Pictures that are looked at in one transaction; entries that go in one. */
const AT_ONCE = 500;
/** Between two transactions, so that nobody who writes waits for many of them in a row, ms. */
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
 * Lets raw texts and pictures go that are older than the configuration says: in the background, in small steps, none of which an answer
 * waits for. What is still to go follows from the rows, so a crash in the middle loses nothing.
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

  /** From now on this is kept: what goes by another configuration ends with its step. */
  configure(config: RetentionConfig): void {
    const isSame = this.#config.textDays === config.textDays && this.#config.imageDays === config.imageDays;
    if (isSame) return;
    this.#config = config;
    this.#looks.now();
  }

  /** Looks from now on, now and then, as long as anything is to go. */
  start(): void {
    this.#looks.now();
  }

  /** Resolves once all that is old enough by now has gone, as far as the database answers. Does not throw. */
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
    // One fails without the other.
    if (config.textDays > 0)
      await this.#attempt(async () => this.#expireTexts(before(config.textDays), isOver));
    if (config.imageDays > 0)
      await this.#attempt(async () => this.#expireImages(before(config.imageDays), isOver));
  }

  /** @returns undefined: it has failed, and was told */
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
      // What one channel holds up is no reason for the next to wait.
      const taken = (await this.#attempt(async () => this.#expireIn(channel, before, isOver), channel)) ?? 0;
      if (taken > 0) channels++;
      texts += taken;
    }
    if (texts > 0) log.info({ channels, texts, before }, "texts_no_longer_kept");
  }

  /** @returns entries whose text went */
  async #expireIn(channel: ChannelId, before: Date, isOver: () => boolean): Promise<number> {
    const { store } = this.#parts;
    await store.assertOneKey(channel);
    let taken = 0;
    // A reset covers what was summarised before it, which goes first.
    for (const isReset of [false, true]) {
      let [from, summary] = [0, 0];
      while (!isOver()) {
        const found = await store.nextTexts(channel, before, AT_ONCE, { isReset, from, summary });
        if (found === undefined) break;
        const gone = await store.expireTexts(channel, found);
        taken += gone ?? 0;
        // What something has come between is looked at the next time.
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
