import type { Wish, WishTopic } from "../core/wish.ts";
import { terms } from "../text/terms.ts";
import { marksOf } from "./statement-marks.ts";

/** Whether wishes say the same, or the contrary. Pure. */

export function isSameMatter(a: Wish, b: Wish): boolean {
  return a.topic === b.topic && a.person === b.person;
}

/** Least share of common words at which two wishes say the same. */
const SAME_WORDS = 0.5;

/** Topics with one value: an answer has one language and one length, so a new wish replaces the old one. */
const HAS_ONE: ReadonlySet<WishTopic> = new Set(["language", "length"]);

export function isContrary(a: Wish, b: Wish): boolean {
  return !isSameWish(a, b) && (HAS_ONE.has(a.topic) || areAlike(a, b));
}

/** The same words, or nearly, with the same numbers and negations. */
export function isSameWish(a: Wish, b: Wish): boolean {
  return areAlike(a, b) && comparedBy(a).counts === comparedBy(b).counts;
}

export function areAlike(a: Wish, b: Wish): boolean {
  return jaccard(comparedBy(a).words, comparedBy(b).words) >= SAME_WORDS;
}

interface Compared {
  readonly words: ReadonlySet<string>;
  /** Its numbers and negations. */
  readonly counts: string;
}

const COMPARED = new WeakMap<Wish, Compared>();

export function hasAllWords(wish: Wish, of: Wish): boolean {
  return comparedBy(of).words.isSubsetOf(comparedBy(wish).words);
}

function comparedBy(wish: Wish): Compared {
  const known = COMPARED.get(wish) ?? {
    words: new Set(terms(wish.wish)).difference(COMMON),
    counts: marksOf(wish.wish)
      .marks.filter((mark) => /^[nx]:/.test(mark))
      .join(" "),
  };
  COMPARED.set(wish, known);
  return known;
}

/** The share of all words of two texts that both have; 0 to 1. */
export function jaccard(a: ReadonlySet<string>, b: ReadonlySet<string>): number {
  const all = a.union(b).size;
  return all === 0 ? 0 : a.intersection(b).size / all;
}

/** Words that occur in wishes of all kinds, and distinguish none. */
const COMMON = new Set(
  terms(
    `answer answers reply replies respond write speak talk use give keep put make begin start stop end always never only channel
    conversation everyone everybody question questions message messages`,
  ),
);
