import { WeirError } from "../core/errors.ts";
import { backoffMs } from "./backoff.ts";
import { pause } from "./clock.ts";

/**
 * Repeats work until it succeeds.
 * @param waitMs the wait before the next attempt, ms; null ends the attempts, and the error is thrown. `failures`: before this
 * one
 * @param signal ends the wait and the attempts
 * @throws the last error
 */
export async function retry<Result>(
  work: () => Promise<Result>,
  waitMs: (error: unknown, failures: number) => number | null,
  signal?: AbortSignal,
): Promise<Result> {
  for (let failures = 0; ; failures++) {
    try {
      return await work();
    } catch (error) {
      const ms = waitMs(error, failures);
      if (ms === null) throw error;
      await pause(ms, signal);
      if (signal?.aborted === true) throw error;
    }
  }
}

/** The error may not come again. */
export function isRetryable(error: unknown): boolean {
  return error instanceof WeirError && error.retryable;
}

/** Waits for {@link retry}: one after each retryable failure, ms. */
export function fixedWaits(waitsMs: readonly number[]): (error: unknown, failures: number) => number | null {
  return (error, failures) => (isRetryable(error) ? (waitsMs[failures] ?? null) : null);
}

const WRITE_BACKOFF = { fromMs: 100, toMs: Number.POSITIVE_INFINITY };

/**
 * Retries an idempotent write during a short outage of the database: a platform does not deliver an event twice.
 * @param retries 4 are a second and a half; 8 are 25 seconds
 * @returns also whether an earlier attempt failed; it may have been committed nevertheless
 */
export async function retryWrite<Result>(
  write: () => Promise<Result>,
  retries = 4,
): Promise<{ readonly result: Result; readonly isRepeated: boolean }> {
  let isRepeated = false;
  const result = await retry(write, (error, failures) => {
    isRepeated = true;
    return isRetryable(error) && failures < retries ? backoffMs(WRITE_BACKOFF, failures) : null;
  });
  return { result, isRepeated };
}
