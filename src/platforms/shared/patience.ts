import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import { errorMessage, WeirError } from "../../core/errors.ts";
import { jittered } from "../../async/jittered.ts";
import { PlatformError } from "../platform.ts";

export interface PatienceParts {
  readonly platform: string;
  readonly log: Logger;
  /** First and longest wait before something is tried again, give or take a quarter. Default: 500 ms and 20 s. */
  readonly backOff?: { readonly firstMs: number; readonly maxMs: number };
  /** Ends all waiting. */
  readonly signal: AbortSignal;
}

const BACK_OFF = { firstMs: 500, maxMs: 20_000 };
const REST_MS = 60_000;

/** Tries again what a platform or the database does not do just now. */
export class Patience {
  readonly #parts: PatienceParts;

  constructor(parts: PatienceParts) {
    this.#parts = parts;
  }

  /** Does not throw. @returns whether it was done, or never can be */
  async until(event: string, attempts: number, work: () => Promise<void>): Promise<boolean> {
    const { platform, log, signal, backOff = BACK_OFF } = this.#parts;
    for (
      let attempt = 1, waitMs = backOff.firstMs;
      !signal.aborted;
      attempt++, waitMs = Math.min(waitMs * 2, backOff.maxMs)
    ) {
      try {
        await work();
        return true;
      } catch (error) {
        const isGone = error instanceof PlatformError && !error.retryable;
        log.warn({ platform, why: errorMessage(error), isGone }, event);
        if (isGone) return true;
        if (attempt >= attempts) return false;
        await this.pause(retryAfterOf(error) ?? jittered(waitMs));
      }
    }
    return false;
  }

  /**
   * Tries at least once, and again until it is done.
   * @returns undefined: all waiting was ended before that
   * @throws what no waiting mends
   */
  async insist<Result>(event: string, work: () => Promise<Result>): Promise<Result | undefined> {
    const { platform, log, signal, backOff = BACK_OFF } = this.#parts;
    for (let waitMs = backOff.firstMs; ; waitMs = Math.min(waitMs * 2, backOff.maxMs)) {
      try {
        return await work();
      } catch (error) {
        if (!(error instanceof WeirError && error.retryable)) throw error;
        log.warn({ platform, why: errorMessage(error) }, event);
        await this.pause(retryAfterOf(error) ?? jittered(waitMs));
        if (signal.aborted) return undefined;
      }
    }
  }

  /** The wait behind the last attempt. */
  async rest(): Promise<void> {
    await this.pause(this.#parts.backOff?.maxMs ?? REST_MS);
  }

  async pause(ms: number): Promise<void> {
    await delay(ms, undefined, { signal: this.#parts.signal }).catch(() => undefined);
  }

  /** @returns whether `work`, which must not throw, was over within that time */
  async within(ms: number, work: Promise<unknown>): Promise<boolean> {
    const over = new AbortController();
    const signal = AbortSignal.any([this.#parts.signal, over.signal]);
    const late = delay(ms, false, { signal }).catch(() => false);
    const isOver = await Promise.race([work.then(() => true), late]);
    over.abort();
    return isOver;
  }
}

/** How long a platform wants to be left alone; undefined: it has not said. */
function retryAfterOf(error: unknown): number | undefined {
  return error instanceof PlatformError ? error.retryAfterMs : undefined;
}
