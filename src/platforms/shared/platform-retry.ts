import type { Logger } from "pino";
import { type Backoff, backoffMs, jittered } from "../../async/backoff.ts";
import { pause } from "../../async/clock.ts";
import { withDeadline } from "../../async/deadline.ts";
import { retry } from "../../async/retry.ts";
import { errorMessage, UnstorableError, WeirError } from "../../core/errors.ts";
import { PlatformError } from "../platform.ts";

interface PlatformRetryOptions {
  readonly platform: string;
  readonly log: Logger;
  /** First and longest wait before something is tried again, give or take a quarter. Default: 500 ms and 20 s. */
  readonly backOff?: Backoff | undefined;
  /** Ends all waiting. */
  readonly signal: AbortSignal;
}

const BACK_OFF: Backoff = { fromMs: 500, toMs: 20_000 };
const REST_MS = 60_000;

/** Retries operations that a platform or the database refuses at the moment. */
export class PlatformRetry {
  readonly #options: PlatformRetryOptions;

  constructor(options: PlatformRetryOptions) {
    this.#options = options;
  }

  /** Does not throw. @returns whether it was done, or never can be */
  async until(event: string, attempts: number, work: () => Promise<void>): Promise<boolean> {
    const { platform, log, signal, backOff = BACK_OFF } = this.#options;
    if (signal.aborted) return false;
    try {
      await retry(
        work,
        (error, failures) => {
          log.warn({ platform, why: errorMessage(error), isGone: isFinal(error) }, event);
          return isFinal(error) || failures + 1 >= attempts ? null : waitAfter(error, failures, backOff);
        },
        signal,
      );
      return true;
    } catch (error) {
      return isFinal(error);
    }
  }

  /**
   * Tries at least once, and repeats until success, after any error but those of {@link isRefused}.
   * @param isOver whether to give up for that error; `failures`: before this one
   * @returns undefined: all waiting was ended before success
   * @throws the error for which it gives up
   */
  async untilDone<Result>(
    event: string,
    work: () => Promise<Result>,
    isOver: (error: unknown, failures: number) => boolean = isRefused,
  ): Promise<Result | undefined> {
    const { platform, log, signal, backOff = BACK_OFF } = this.#options;
    let isGivenUp = false;
    try {
      return await retry(
        work,
        (error, failures) => {
          isGivenUp = isOver(error, failures);
          if (isGivenUp) return null;
          log.warn({ platform, why: errorMessage(error) }, event);
          return waitAfter(error, failures, backOff);
        },
        signal,
      );
    } catch (error) {
      if (isGivenUp) throw error;
      return undefined;
    }
  }

  /** The wait after the last attempt. */
  async rest(): Promise<void> {
    await this.pause(this.#options.backOff?.toMs ?? REST_MS);
  }

  async pause(ms: number): Promise<void> {
    await pause(ms, this.#options.signal);
  }

  /** @returns whether `work`, which must not throw, was over within that time */
  async within(ms: number, work: Promise<unknown>): Promise<boolean> {
    const done = work.then(() => true);
    return (await withDeadline(done, ms, this.#options.signal)) ?? false;
  }
}

/** The platform, or the database, will never do this. Every other failure, known or not, may be temporary. */
export function isRefused(error: unknown): boolean {
  return error instanceof UnstorableError || isFinal(error);
}

/** A failure of a known kind that is not final. */
export function mayPass(error: unknown): boolean {
  return error instanceof WeirError && !isRefused(error);
}

function isFinal(error: unknown): boolean {
  return error instanceof PlatformError && !error.retryable;
}

/** The wait that the platform has asked for, if any. */
function waitAfter(error: unknown, failures: number, backOff: Backoff): number {
  const asked = error instanceof PlatformError ? error.retryAfterMs : undefined;
  return asked ?? jittered(backoffMs(backOff, failures));
}
