import type { MemoryHit } from "../store/memory/memories.ts";
import { containsQuote, normalWords } from "../text/normal-text.ts";
import { terms } from "../text/terms.ts";

/**
 * Definitions of people's own words ("the cluster": three machines in Falkenstein), as memories of type `term` state them. A
 * search also looks for the words of such a definition; together they count at most half of the word that they explain. Pure.
 */

/** A word of the asker's text with one of its definitions. */
export interface Explanation {
  /** As {@link normalWords}, without its article. */
  readonly term: string;
  readonly definition: string;
  /** 1, or less where several people define it. */
  readonly share: number;
}

/** Greatest weight of a whole definition, as a share of the explained word's weight. */
export const EXPLAINED = 0.5;
/** Terms of one text, and definitions of one term. */
const MAX_TERMS = 4;
const MAX_DEFINITIONS = 3;
/** Most words of a term. */
export const TERM_WORDS = 5;

const ARTICLE = /^(?:the|an?|our|my|der|die|das|den|dem|eine?|unsere?|le|la|les|el|los|las) (?=.)/;

/** A term in the form that is searched for in a text. */
export function bareTerm(subject: string): string {
  return normalWords(subject).replace(ARTICLE, "");
}

/** A stop word is no term: a definition of "the" would redirect every search. IT and US count in capitals. */
function mayExplain(subject: string, text: string): boolean {
  if (terms(bareTerm(subject)).length > 0) return true;
  return /^[A-Z]{2,}$/.test(subject) && text.split(/\W+/).includes(subject);
}

/**
 * The definitions of the terms in a text. If an asker has defined a term, only the askers' definitions count: people cannot
 * redirect each other's words.
 * @param found memories visible in this place, best first; those of other types than `term` are skipped
 * @param askers ids of the people whose text it is
 */
export function explanationsOf(
  text: string,
  found: readonly MemoryHit[],
  askers: readonly string[],
): Explanation[] {
  const hits = found.filter(({ memory }) => memory.type === "term" && mayExplain(memory.subject, text));
  // Shortcut: most places have no terms.
  if (hits.length === 0) return [];
  const words = normalWords(text);
  const byTerm = Map.groupBy(hits, ({ memory }) => bareTerm(memory.subject));
  return [...byTerm]
    .filter(([term]) => containsQuote(words, term))
    .slice(0, MAX_TERMS)
    .flatMap(([term, all]) => {
      const own = all.filter(({ asserter }) => asserter !== null && askers.includes(asserter));
      const used = (own.length > 0 ? own : all).slice(0, MAX_DEFINITIONS);
      return used.map(({ memory }) => ({ term, definition: memory.statement, share: 1 / used.length }));
    });
}
