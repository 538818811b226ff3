import type { MemoryHit } from "../store/memory/memories.ts";
import { containsQuote, normalWords } from "../text/normal-text.ts";
import { terms } from "../text/terms.ts";

/**
 * What people mean by words of theirs ("the cluster": three machines in Falkenstein), as memories of type `term` tell it. A
 * search looks for the words of such a definition as well, and they never count more than half of the word that they explain.
 * Pure.
 */

/** A word of the asker's text with one of its definitions. */
export interface Explanation {
  /** As {@link normalWords}, without its article. */
  readonly term: string;
  readonly definition: string;
  /** 1, or less where several people define it. */
  readonly share: number;
}

/** What a whole definition counts at most, of what the word that it explains does. */
export const EXPLAINED = 0.5;
/** Terms of one text, and definitions of one term. */
const MAX_TERMS = 4;
const MAX_DEFINITIONS = 3;
/** A term has at most so many words. */
export const TERM_WORDS = 5;

const ARTICLE = /^(?:the|an?|our|my|der|die|das|den|dem|eine?|unsere?|le|la|les|el|los|las) (?=.)/;

/** A term as it is looked for in a text. */
export function bareTerm(subject: string): string {
  return normalWords(subject).replace(ARTICLE, "");
}

/** What people say in every sentence explains none: whoever defines "the" would redirect everything. IT and US count as they are written. */
function mayExplain(subject: string, text: string): boolean {
  if (terms(bareTerm(subject)).length > 0) return true;
  return /^[A-Z]{2,}$/.test(subject) && text.split(/\W+/).includes(subject);
}

/**
 * The definitions of the terms that a text has. If those who ask have defined a term themselves, what others mean by it counts
 * nothing: nobody redirects somebody else's words.
 * @param found memories that the place may see, best first; what is no term is passed over
 * @param askers ids of the people whose text it is
 */
export function explanationsOf(
  text: string,
  found: readonly MemoryHit[],
  askers: readonly string[],
): Explanation[] {
  const hits = found.filter(({ memory }) => memory.type === "term" && mayExplain(memory.subject, text));
  // Most places have none.
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
