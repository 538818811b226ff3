import { EDGELESS, EDGELESS_SCRIPTS } from "./scripts.ts";
import { normalForm } from "./text.ts";

/** Comparable forms of texts: differences in case, white space, punctuation or width are removed. Pure. */

/** Characters beside which alone a word may begin or end. */
const BESIDE_EDGE = new RegExp(`[ ${EDGELESS_SCRIPTS}]`, "gu");

/** A text's words in lower case, separated by single spaces; "": none. */
export function normalWords(text: string): string {
  return normalForm(normalForm(text, "NFKC").toLowerCase(), "NFKC")
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, " ")
    .trim();
}

/**
 * Whether a text contains these words in sequence. Both in the form of {@link normalWords}. Whole words only: `team`
 * does not contain `tea`.
 */
export function containsQuote(text: string, quote: string): boolean {
  if (quote === "") return false;
  for (let from = text.indexOf(quote); from >= 0;) {
    if (isEdge(text, from) && isEdge(text, from + quote.length)) return true;
    // Skips to the next edge of a word: in a long word of one letter, the quote would match at each place.
    BESIDE_EDGE.lastIndex = from;
    const next = BESIDE_EDGE.exec(text)?.index;
    from = next === undefined ? -1 : text.indexOf(quote, Math.max(from + 1, next));
  }
  return false;
}

/** Approximate number of words; in scripts without spaces, two characters count as one. */
export function countWords(words: string): number {
  let count = 0;
  for (const word of words.split(" ")) {
    const unspaced = Array.from(word).filter((character) => EDGELESS.test(character)).length;
    count += word === "" ? 0 : Math.max(1, Math.ceil(unspaced / 2));
  }
  return count;
}

function isEdge(text: string, index: number): boolean {
  const before = Array.from(text.slice(Math.max(0, index - 2), index)).at(-1) ?? " ";
  const after = Array.from(text.slice(index, index + 2))[0] ?? " ";
  if (before === " " || after === " ") return true;
  // A mark belongs to the letter before it, in every script.
  return !/\p{M}/u.test(after) && (EDGELESS.test(before) || EDGELESS.test(after));
}
