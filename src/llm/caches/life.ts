import type { CacheLife, CacheRule } from "./rules.ts";

/** Waits between a conversation's requests that count, the newest. */
const COUNTED_WAITS = 20;
/** Of all waits, beside those that followed one like the last: few of these say little. */
const WEIGHT_OF_ALL = 2;

/**
 * The life to ask for: the cheapest if the conversation goes on as it has. Pure.
 * @param waits before the conversation's requests, ms, this one's last; empty: nothing is known, and the shortest is taken
 * @param fresh tokens that a turn adds, of all that are cached
 * @returns null: the next request comes too late as a rule, and to write anything costs more than it saves
 */
export function chooseLife(
  { lives, read }: Pick<CacheRule, "lives" | "read">,
  waits: readonly number[],
  fresh = 0.05,
): CacheLife | null {
  const [first] = lives;
  if (waits.length === 0) return first;
  let [best, least]: [CacheLife | null, number] = [null, 1 + fresh];
  for (const life of lives) {
    const found = chanceOfHit(life, waits);
    const price = found * (read + life.write * fresh) + (1 - found) * life.write * (1 + fresh);
    if (price < least) [best, least] = [life, price];
  }
  return best;
}

/**
 * The chance that the next request finds the cache. People talk in bursts: what followed a wait like the last one tells most. Pure.
 * @param waits as for {@link chooseLife}
 */
export function chanceOfHit({ ms }: Pick<CacheLife, "ms">, waits: readonly number[]): number {
  const isWithin = waits.slice(-COUNTED_WAITS).map((wait) => wait <= ms);
  if (isWithin.length === 0) return 1;
  const last = isWithin.at(-1);
  const followed = isWithin.slice(1).filter((_, index) => isWithin[index] === last);
  const hits = (some: readonly boolean[]): number => some.filter(Boolean).length;
  const ofAll = hits(isWithin) / isWithin.length;
  return (hits(followed) + WEIGHT_OF_ALL * ofAll) / (followed.length + WEIGHT_OF_ALL);
}
