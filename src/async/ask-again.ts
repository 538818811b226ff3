import { setTimeout as delay } from "node:timers/promises";
import { WeirError } from "../core/errors.ts";

/**
 * Asks again what may be answered soon, after each of these waits. They keep no process alive.
 * @param waitsMs one an attempt but the last, ms
 * @throws what the last attempt throws, and at once what asking again does not change
 */
export async function askAgain<Result>(
  waitsMs: readonly number[],
  ask: () => Promise<Result>,
): Promise<Result> {
  for (const waitMs of waitsMs) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof WeirError && error.retryable)) throw error;
      await delay(waitMs, undefined, { ref: false });
    }
  }
  return ask();
}
