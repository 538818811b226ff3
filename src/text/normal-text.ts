import { EDGELESS_SCRIPTS } from "./scripts.ts";
import { normalForm } from "./text.ts";

/** Texts made comparable: what differs only in case, white space, punctuation or width is the same. Pure. */

const EDGELESS = new RegExp(`[${EDGELESS_SCRIPTS}]`, "u");

/** Beside these, and only there, is where a word may begin or end. */
const BESIDE_EDGE = new RegExp(`[ ${EDGELESS_SCRIPTS}]`, "gu");

/** The words of a text in small letters, one space between them; "" where it has none. */
export function normalWords(text: string): string {
  return normalForm(normalForm(text, "NFKC").toLowerCase(), "NFKC")
    .replaceAll(/[^\p{L}\p{N}\p{M}]+/gu, " ")
    .trim();
}

/**
 * Does a text say these words, one after the other? Both as {@link normalWords} gives them. Whole words only: `tea` is
 * not said by `team`.
 */
export function containsQuote(text: string, quote: string): boolean {
  if (quote === "") return false;
  for (let from = text.indexOf(quote); from >= 0;) {
    if (isEdge(text, from) && isEdge(text, from + quote.length)) return true;
    // Not at the next place: in a long word of one letter the quote is everywhere.
    BESIDE_EDGE.lastIndex = from;
    const next = BESIDE_EDGE.exec(text)?.index;
    from = next === undefined ? -1 : text.indexOf(quote, Math.max(from + 1, next));
  }
  return false;
}

/** About how many words a text has; of scripts without spaces, two characters are one. */
export function countWords(words: string): number {
  let count = 0;
  for (const word of words.split(" ")) {
    const unspaced = Array.from(word).filter((character) => EDGELESS.test(character)).length;
    count += word === "" ? 0 : Math.max(1, Math.ceil(unspaced / 2));
  }
  return count;
}

/** May a word begin or end here? */
function isEdge(text: string, index: number): boolean {
  const before = Array.from(text.slice(Math.max(0, index - 2), index)).at(-1) ?? " ";
  const after = Array.from(text.slice(index, index + 2))[0] ?? " ";
  if (before === " " || after === " ") return true;
  // A mark belongs to the letter before it, in every script.
  return !/\p{M}/u.test(after) && (EDGELESS.test(before) || EDGELESS.test(after));
}
