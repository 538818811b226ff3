import { type EntryReference, QUOTE_TOKENS } from "../core/entry.ts";
import { sentencesOf } from "../text/terms.ts";
import { estimateTokens } from "../text/tokens.ts";

/** What is shown of what recall finds. Pure. */

const QUESTION = /[?\uff1f\u061f]/;
/** Links hold question marks that ask nothing. */
const LINKS = /(?<!\S)\S+:\/\/\S+/g;
/** Share of what a text says that a line must hold where nothing is asked: some words in common are not enough. */
const LEAST_COVERAGE = 0.5;

export function isQuestion(text: string): boolean {
  return QUESTION.test(text);
}

/**
 * The share of a text, rare terms weighing more, that a line must hold to be shown before anybody has asked for it: nothing for a
 * question, and the more of a text asks nothing, the more.
 */
export function leastCoverage(text: string): number {
  const said = text.replaceAll(LINKS, " ");
  if (!QUESTION.test(said)) return LEAST_COVERAGE;
  let [told, whole] = [0, 0];
  for (const sentence of sentencesOf(said)) {
    whole += sentence.length;
    if (!QUESTION.test(sentence)) told += sentence.length;
  }
  return (LEAST_COVERAGE * told) / whole;
}

/**
 * Share of what is asked that the best line must hold, else nothing is shown. Of 784 questions of recorded conversations, put to
 * another conversation than theirs, 219 find no such line; put to their own, four.
 */
const LEAST_BEST = 0.2;

/** What must be found for this text to be shown before the model has asked for it. */
export function worthShowing(text: string): { readonly leastCoverage: number; readonly leastBest: number } {
  return { leastCoverage: leastCoverage(text), leastBest: LEAST_BEST };
}

/** What all results of one search take at most, and the head of one, in estimated tokens. */
const SEARCH_TOKENS = 1200;
const HEAD_TOKENS = 20;

/**
 * The results of a search that a model is shown: the best, as many as fit, in the order in which they were said.
 * @param found best first. @returns by seq
 */
export function fittingResults(found: readonly EntryReference[]): EntryReference[] {
  let tokens = 0;
  const end = found.findIndex(({ text }) => {
    tokens += estimateTokens(text ?? "", QUOTE_TOKENS) + HEAD_TOKENS;
    return tokens > SEARCH_TOKENS;
  });
  return found.slice(0, end < 0 ? found.length : end).toSorted((a, b) => a.seq - b.seq);
}

/** A lexeme in a larger share of the indexed entries tells little. */
const COMMON = 0.01;
/** More words than that are no pleasantry, however common they are. */
const FEW_WORDS = 3;

/**
 * Is it worth looking something up for this text? For a question, and for whatever has an uncommon word, or more than a few.
 * @param frequencies share of entries that hold a lexeme; common ones only; empty: not known
 */
export function asksForRecall(
  text: string,
  lexemes: readonly string[],
  frequencies: ReadonlyMap<string, number>,
): boolean {
  if (frequencies.size === 0 || lexemes.length > FEW_WORDS || QUESTION.test(text)) return true;
  return lexemes.length === 0 || lexemes.some((lexeme) => (frequencies.get(lexeme) ?? 0) < COMMON);
}
