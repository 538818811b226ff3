import type { SpokenLine } from "../../text/rank-sentences.ts";
import { questionTerms, rankDocuments, splitSentences, terms } from "../../text/terms.ts";
import { normalForm, sliceWhole } from "../../text/text.ts";

/** A sentence that covers less of a question is a coincidence. */
const MIN_COVERAGE = 0.25;
/** If a quote covers this much, a search is not worth the time. */
const GOOD_COVERAGE = 0.6;
const MAX_QUESTIONS = 3;
/** Characters. */
const MAX_QUOTE = 500;

export interface Quote extends SpokenLine {
  readonly score: number;
  readonly coverage: number;
}

/**
 * The sentences of `sources` that fit the questions best, best first; never a question itself, even if it
 * was asked before.
 */
export function findQuotes(
  questions: readonly SpokenLine[],
  sources: readonly SpokenLine[],
  limit: number,
): Quote[] {
  const asked = new Set(questions.flatMap(({ text }) => [normal(text), ...splitSentences(text).map(normal)]));
  const sentences = uniqueSentences(sources).filter(({ text }) => !asked.has(normal(text)));
  const best = new Map<number, Quote>();
  for (const question of questions.slice(-MAX_QUESTIONS)) {
    // The author counts as text: "what did ANN say about …".
    const matches = rankDocuments(
      question.text,
      sentences.map(({ author, text }) => `${author} ${text}`),
    );
    const wanted = new Set(questionTerms(question.text));
    for (const { index, score, coverage } of matches) {
      const sentence = sentences[index];
      if (sentence === undefined || coverage < MIN_COVERAGE) continue;
      if (!terms(sentence.text).some((term) => wanted.has(term))) continue;
      if (score > (best.get(index)?.score ?? 0)) best.set(index, { ...sentence, score, coverage });
    }
  }
  return [...best.values()].toSorted((a, b) => b.score - a.score).slice(0, limit);
}

/** Whether a quote is good enough to answer without a search. */
export function isGood(quote: Quote | undefined): boolean {
  return quote !== undefined && quote.coverage >= GOOD_COVERAGE;
}

function uniqueSentences(sources: readonly SpokenLine[]): SpokenLine[] {
  const unique = new Map<string, SpokenLine>();
  for (const { time, author, text } of sources) {
    for (const sentence of splitSentences(text)) {
      const clipped = sentence.length <= MAX_QUOTE ? sentence : `${sliceWhole(sentence, 0, MAX_QUOTE)}…`;
      unique.set(`${time}\n${author}\n${normal(sentence)}`, { time, author, text: clipped });
    }
  }
  return [...unique.values()];
}

function normal(text: string): string {
  return normalForm(text, "NFKC")
    .toLowerCase()
    .replaceAll(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}
