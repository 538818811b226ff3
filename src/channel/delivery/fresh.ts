import { steadyNow } from "../../async/clock.ts";

/** Nobody takes a channel from a daemon that was silent for less, ms. */
export const FRESH_MS = 1000;

/**
 * Asks the log. What it answers late says nothing of now: this process or its network may have stood still, and another daemon be home
 * since.
 */
export async function askFresh<Result>(
  ask: () => Promise<Result>,
): Promise<{ readonly result: Result; readonly isFresh: boolean }> {
  const askedAt = steadyNow();
  const result = await ask();
  return { result, isFresh: isFresh(askedAt) };
}

/** Whether what the log was asked at this time, by `steadyNow`, still holds: no other daemon is home since. */
export function isFresh(askedAt: number): boolean {
  return steadyNow() - askedAt < FRESH_MS;
}
