import { type EntryReference, QUOTE_TOKENS } from "../core/entry.ts";
import type { Seq } from "../core/ids.ts";
import { sentencesOf } from "../text/terms.ts";
import { newestWords } from "../text/text.ts";
import { estimateTokens } from "../text/tokens.ts";

/** Decides whether recall runs, and which of its hits are shown. Pure. */

const QUESTION = /[?\uff1f\u061f]/;
/** Links hold question marks that ask nothing. */
export const LINKS = /(?<!\S)\S+:\/\/\S+/g;
/** Share of a text without a question that a line must hold: some words in common are not enough. */
const LEAST_COVERAGE = 0.5;
/** A text that must be covered more than this tells more than it asks. */
export const TELLS_MORE = LEAST_COVERAGE / 2;

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

/** How much a text asks for: it tells more than it asks; one answer; several. */
export type Wanted = "told" | "one" | "several";

/** Words that ask for several answers. */
const ASKS_SEVERAL: readonly RegExp[] = [
  /\b(?:which|who|whose|how many|how often|all|every|any|ever|else|other than|besides|what (?:are|were|kinds?|types?|sorts?|all))\b/i,
  // "What books", "what new plans": a noun in the plural before its verb.
  /\bwhat (?:[\w'-]+ ){0,3}[\w'-]{1,30}[a-rt-z]s (?:are|were|do|does|did|have|has|had|can|could|will|would|should|might)\b/i,
  /\b(?:welche[nrsm]?|wer|wen|wem|wessen|wie ?viele|wie oft|was alles|alle[ns]?|jede[nrsm]?)\b/i,
  /\b(?:quels|quelles|qui|combien|tou(?:te)?s)\b/i,
  /(?<!\p{L})(?:cuáles|quién(?:es)?|cuánt[oa]s|tod[oa]s)(?!\p{L})/iu,
  /(?<!\p{L})(?:какие|каких|кто|кого|сколько|все|всех)(?!\p{L})/iu,
  /誰|だれ|どんな|どの|どれ|何人|何回|いくつ|すべて|全部|哪些|谁|誰|多少|几[个次]|所有/,
];

/** Longest text that is looked at, in UTF-16 units: its end. */
const MAX_LENGTH = 2000;

export function wantedBy(whole: string): Wanted {
  const text = newestWords(whole, MAX_LENGTH);
  if (leastCoverage(text) > TELLS_MORE) return "told";
  return ASKS_SEVERAL.some((asks) => asks.test(text)) ? "several" : "one";
}

/** Thresholds for a whole search; nothing is shown if its best line is below both. */
export interface Floor {
  /** Of `RankedLines`. */
  readonly fit: number;
  /** Least share of the question in one line: a long question fits no line well. */
  readonly coverage: number;
}

/** Chosen on recorded conversations: `bench -- recall-quality` says how many questions put to another one are shown lines. */
const FLOOR: Floor = { fit: 0.285, coverage: 0.35 };

/** The thresholds for hits of this text that are shown unasked. */
export function worthShowing(text: string): { readonly leastCoverage: number; readonly floor: Floor } {
  return { leastCoverage: leastCoverage(text), floor: FLOOR };
}

/** Longest results of one search, of one reading, and the header of each line, in estimated tokens. */
const SEARCH_TOKENS = 1200;
const READ_TOKENS = 2000;
const HEAD_TOKENS = 20;

function shownTokens({ text }: Pick<EntryReference, "text">): number {
  return estimateTokens(text ?? "", QUOTE_TOKENS) + HEAD_TOKENS;
}

/**
 * The best results of a search that fit in the model's share, with the lines beside them as far as there is room.
 * @param found best first
 * @param beside lines beside a result, the nearest first
 * @returns in their order in the log; `taken`: how many of the results are among them
 */
export function fittingResults(
  found: readonly EntryReference[],
  beside: (seq: Seq) => readonly EntryReference[] = () => [],
): { readonly lines: readonly EntryReference[]; readonly taken: number } {
  const lines = new Map<Seq, EntryReference>();
  let left = SEARCH_TOKENS;
  const take = (line: EntryReference): boolean => {
    if (lines.has(line.seq)) return true;
    const tokens = shownTokens(line);
    if (tokens > left) return false;
    left -= tokens;
    lines.set(line.seq, line);
    return true;
  };
  let taken = 0;
  for (const line of found) {
    if (!take(line)) break;
    taken++;
    for (const near of beside(line.seq)) if (!take(near)) break;
  }
  return { lines: [...lines.values()].toSorted((a, b) => a.seq - b.seq), taken };
}

/** The first of some lines that are read in order, as many as fit. */
export function fittingLines(lines: readonly EntryReference[]): EntryReference[] {
  let left = READ_TOKENS;
  const end = lines.findIndex((line) => (left -= shownTokens(line)) < 0);
  return lines.slice(0, end < 0 ? lines.length : end);
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
