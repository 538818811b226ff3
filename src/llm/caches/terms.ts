import type { ModelPrice } from "../../core/cost.ts";
import type { PastPace } from "../../core/pace.ts";
import { chanceOfHit, chooseLife } from "./life.ts";
import type { CacheRule } from "./rules.ts";

/** The present worth of a channel's cache. Prices are relative to a token's outside the cache. */
export interface CacheTerms {
  readonly read: number;
  readonly write: number;
  /** The last request is too old for its entry to exist. */
  readonly isCold: boolean;
  /** The chance that the next request comes in time, 0 to 1. */
  readonly chance: number;
}

/**
 * The terms by a provider's rule, its price of the model, and the channel's pace. Pure.
 * @param price undefined: unknown, and the rule's own ratios count
 * @param now ms since 1970
 */
export function cacheTerms(
  rule: CacheRule,
  price: Pick<ModelPrice, "input" | "cached" | "write"> | undefined,
  { lastAt, waits }: PastPace,
  now: number,
): CacheTerms {
  const chosen = chooseLife(rule, waits);
  const life = chosen ?? rule.lives[0];
  const isPriced = price !== undefined && price.input > 0;
  const [first] = rule.lives;
  return {
    read: isPriced ? price.cached / price.input : rule.read,
    // The known price is the shortest life's.
    write: isPriced ? (price.write / price.input) * (life.write / first.write) : life.write,
    // Without marks the server writes its cache, whatever life was chosen.
    isCold: lastAt !== null && ((chosen === null && rule.marks !== "none") || now - lastAt > life.ms),
    chance: chanceOfHit(life, waits),
  };
}
