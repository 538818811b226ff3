import type { Logger } from "pino";
import { pause } from "../async/clock.ts";
import type { RetentionConfig } from "../config/config.ts";
import { errorMessage } from "../core/errors.ts";
import type { RetentionStore } from "../store/log/retention.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** How often it is looked for what is old enough, ms. */
const EVERY_MS = 60 * 60 * 1000;
/** Entries of a reset's range, or pictures, that go in one transaction. */
const AT_ONCE = 500;
/** Between two transactions, so that nobody who writes waits for many of them in a row, ms. */
const BETWEEN_MS = 20;

export interface RetentionParts {
  readonly store: RetentionStore;
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
  #running: Promise<void> | null = null;
  #sweeping: Promise<void> = Promise.resolve();

  constructor(parts: RetentionParts, config: RetentionConfig) {
    this.#parts = parts;
    this.#config = config;
  }

  /** From now on this is kept. */
  configure(config: RetentionConfig): void {
    const isSame = this.#config.textDays === config.textDays && this.#config.imageDays === config.imageDays;
    this.#config = config;
    if (!isSame && this.#running !== null) void this.sweep();
  }

  /** Looks from now on, now and then. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** Resolves once all that is old enough by now has gone, as far as the database answers. Does not throw. */
  async sweep(): Promise<void> {
    this.#sweeping = this.#sweeping.then(async () => this.#sweep());
    return this.#sweeping;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    await this.#running;
    await this.#sweeping;
  }

  /** Must not throw. */
  async #run(): Promise<void> {
    const { signal } = this.#closing;
    while (!signal.aborted) {
      await this.sweep();
      await pause(EVERY_MS, signal);
    }
  }

  async #sweep(): Promise<void> {
    const { log, now } = this.#parts;
    const { textDays, imageDays } = this.#config;
    const before = (days: number): Date => new Date(now().getTime() - days * DAY_MS);
    try {
      if (textDays > 0) await this.#expireTexts(before(textDays));
      if (imageDays > 0) await this.#expireImages(before(imageDays));
    } catch (error) {
      log.warn({ why: errorMessage(error) }, "retention_goes_on_later");
    }
  }

  async #expireTexts(before: Date): Promise<void> {
    const { store, log } = this.#parts;
    let [channels, texts] = [0, 0];
    for (const channel of await store.channels(before)) {
      let taken = 0;
      for (let isAny = true; isAny && !this.#closing.signal.aborted;) {
        const step = await store.expireTexts(channel, before, AT_ONCE);
        taken += step.entries;
        isAny = step.isAny;
        await pause(BETWEEN_MS, this.#closing.signal);
      }
      if (taken > 0) channels++;
      texts += taken;
    }
    if (texts > 0) log.info({ channels, texts, before }, "texts_no_longer_kept");
  }

  async #expireImages(before: Date): Promise<void> {
    const { store, log } = this.#parts;
    let images = 0;
    for (let taken = AT_ONCE; taken === AT_ONCE && !this.#closing.signal.aborted;) {
      taken = await store.expireImages(before, AT_ONCE);
      images += taken;
      await pause(BETWEEN_MS, this.#closing.signal);
    }
    if (images > 0) log.info({ images, before }, "images_no_longer_kept");
  }
}
