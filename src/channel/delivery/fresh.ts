import { steadyNow } from "../../async/clock.ts";

/** A daemon loses no channel to another one within this time after its last answered request, ms. */
export const FRESH_MS = 1000;

/**
 * Asks the log, and drops a late answer as outdated: this process or its network may have been frozen, and another daemon may be home
 * since.
 */
export async function askFresh<Result>(ask: () => Promise<Result>) {
  const askedAt = steadyNow();
  const result = await ask();
  return { result, isFresh: isFresh(askedAt) };
}

/** Whether an answer to a request made at this time, by `steadyNow`, still holds: no other daemon can be home since. */
export function isFresh(askedAt: number): boolean {
  return steadyNow() - askedAt < FRESH_MS;
}
