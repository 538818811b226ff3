import { type EntryReference, QUOTE_TOKENS } from "../core/entry.ts";
import { sentencesOf } from "../text/terms.ts";
import { estimateTokens } from "../text/tokens.ts";

/** Decides whether recall runs, and which of its hits are shown. Pure. */

const QUESTION = /[?\uff1f\u061f]/;
/** Links hold question marks that ask nothing. */
const LINKS = /(?<!\S)\S+:\/\/\S+/g;
/** Share of a text without a question that a line must hold: some words in common are not enough. */
const LEAST_COVERAGE = 0.5;

export function isQuestion(text: string): boolean {
  return QUESTION.test(text);
}

/**
 * The share of a text, rare terms weighing more, that a line must hold to be shown unasked: 0 for a question, and more the less
 * of the text is questions.
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
 * Least share of the question in the best line; below it nothing is shown. Of 784 questions of recorded conversations, put to
 * another conversation, 219 find no such line; put to their own, four.
 */
const LEAST_BEST = 0.2;

/** The thresholds for hits of this text that are shown unasked. */
export function worthShowing(text: string): { readonly leastCoverage: number; readonly leastBest: number } {
  return { leastCoverage: leastCoverage(text), leastBest: LEAST_BEST };
}

/** Longest results of one search, and the header of each, in estimated tokens. */
const SEARCH_TOKENS = 1200;
const HEAD_TOKENS = 20;

/**
 * The best results of a search that fit in the model's share, by seq.
 * @param found best first
 */
export function fittingResults(found: readonly EntryReference[]): EntryReference[] {
  let tokens = 0;
  const end = found.findIndex(({ text }) => {
    tokens += estimateTokens(text ?? "", QUOTE_TOKENS) + HEAD_TOKENS;
    return tokens > SEARCH_TOKENS;
  });
  return found.slice(0, end < 0 ? found.length : end).toSorted((a, b) => a.seq - b.seq);
}

/** A lexeme in a larger share of the indexed entries says little. */
const COMMON = 0.01;
/** A text of more words is no pleasantry, however common they are. */
const FEW_WORDS = 3;

/**
 * Whether recall is worth a search for this text: for a question, for an uncommon word, and for more than a few words.
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
