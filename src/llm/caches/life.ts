import type { CacheLife, CacheRule } from "./rules.ts";

/** Number of newest waits between a conversation's requests that count. */
const COUNTED_WAITS = 20;
/**
 * Only waits that followed one like the last wait predict the next. As they may be few, the hit rate of all waits
 * counts like this many more of them.
 */
const WEIGHT_OF_ALL = 2;

/**
 * The cheapest life for a conversation that continues at its pace. Pure.
 * @param waits before the conversation's requests, ms, this one's last; empty: unknown, and the shortest life is taken
 * @param fresh share of the cached tokens that a turn adds
 * @returns null: the next request usually comes too late, and a write costs more than it saves
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
 * The chance that the next request finds the cache. People talk in bursts, so waits that followed one like the last
 * count most. Pure.
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
