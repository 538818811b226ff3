import type { ModelPrice } from "../../core/cost.ts";
import type { PastPace } from "../../core/pace.ts";
import { chanceOfHit, chooseLife } from "./life.ts";
import type { CacheRule } from "./rules.ts";

/** What a channel's cache is worth now. Prices are of what a token costs that is in no cache. */
export interface CacheTerms {
  readonly read: number;
  readonly write: number;
  /** The last request is so long ago that nothing of it is found any more. */
  readonly isCold: boolean;
  /** The chance that the next request comes while it is found, 0 to 1. */
  readonly chance: number;
}

/**
 * The terms by a provider's rule, its price of the model, and the channel's pace. Pure.
 * @param price undefined: nobody knows it, and the rule's own relations count
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
    // Known is the price of the shortest life.
    write: isPriced ? (price.write / price.input) * (life.write / first.write) : life.write,
    // Without marks the server has written its cache whatever life was chosen.
    isCold: lastAt !== null && ((chosen === null && rule.marks !== "none") || now - lastAt > life.ms),
    chance: chanceOfHit(life, waits),
  };
}
