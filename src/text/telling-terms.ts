import { terms } from "./terms.ts";

/**
 * By which terms one text tells what another one said: words without endings, numbers, identifiers and their parts; not the
 * most common English words. Pure. What was put into other words altogether shares none, and is not found by them.
 */

/** Longest text that is looked at, in UTF-16 units: more than any platform's message has. */
const MAX_LENGTH = 200_000;
/** A memory has absolute dates, whatever was said of them: the date is one term, and its day no number of its own. */
const DATE = /\b\d{4}-\d\d-\d\d\b/g;
/** `0171 / 555-12` is told as 017155512, too. From the middle of a run of digits it would only be read again. */
const SPACED_NUMBER = /(?<!\d)\d+(?:[ .,:/-]{1,3}\d+)+/g;
const MIN_JOINED = 4;
const MAX_JOINED = 40;

export function tellingTerms(text: string): Set<string> {
  const looked = text.slice(0, MAX_LENGTH);
  const found = new Set<string>(looked.match(DATE) ?? []);
  const rest = looked.replaceAll(DATE, " ");
  for (const [number] of rest.matchAll(SPACED_NUMBER)) {
    const joined = number.replaceAll(/\D/g, "");
    if (joined.length >= MIN_JOINED && joined.length <= MAX_JOINED) found.add(joined);
  }
  for (const term of terms(rest)) {
    found.add(withoutE(term));
    if (!/[\d_]/.test(term)) continue;
    for (const part of term.split(/_|(?<=\d)(?=\D)|(?<=\D)(?=\d)/))
      if (part.length > 1) found.add(withoutE(part));
  }
  return found;
}

/** The stem of `pineapples` is `pineappl`. */
function withoutE(term: string): string {
  return term.length >= 5 && /^[a-z]+e$/.test(term) ? term.slice(0, -1) : term;
}

/** A number, an identifier with one: who says it says the same thing. Words are said of many things. */
export function isExact(term: string): boolean {
  return /\d/.test(term);
}
