import type { CacheLife, CacheRule } from "./rules.ts";

/** Waits between a conversation's requests that count: its pace of now. */
export const COUNTED_WAITS = 10;

/**
 * The life to ask for: the cheapest if the next waits are like the last ones. Pure.
 * @param waits between the conversation's last turns, ms; empty: nothing is known, and the shortest is taken
 * @param fresh tokens that a turn adds, of all that are cached
 */
export function chooseLife(
  { lives, read }: Pick<CacheRule, "lives" | "read">,
  waits: readonly number[],
  fresh = 0.05,
): CacheLife {
  const [first] = lives;
  const last = waits.slice(-COUNTED_WAITS);
  if (last.length === 0) return first;
  const priceOf = ({ ms, write }: CacheLife): number => {
    const found = shareWithin(last, ms);
    return found * (read + write * fresh) + (1 - found) * write * (1 + fresh);
  };
  return lives.reduce((best, one) => (priceOf(one) < priceOf(best) ? one : best), first);
}

/** The chance that the next request finds the cache, by the waits before the last ones. Pure. */
export function chanceOfHit({ ms }: Pick<CacheLife, "ms">, waits: readonly number[]): number {
  const last = waits.slice(-COUNTED_WAITS);
  return last.length === 0 ? 1 : shareWithin(last, ms);
}

function shareWithin(waits: readonly number[], ms: number): number {
  return waits.filter((wait) => wait <= ms).length / waits.length;
}
