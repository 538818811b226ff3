import { type EntryReference, QUOTE_TOKENS } from "../core/entry.ts";
import { rankDocuments } from "../text/terms.ts";
import { estimateTokens } from "../text/tokens.ts";

/** What a turn is shown of what recall finds before anybody has asked for it: a model that wants more has a tool. Pure. */

/**
 * Share of what is asked, rare terms weighing more, that a passage must hold. Of the evidence that recall finds for the
 * questions of LoCoMo 97 % hold as much; messages that merely share some words hold half of it.
 */
const LEAST_COVERAGE = 0.2;
const MOST_PASSAGES = 4;
/** The best of them come with the message before and behind. */
const WITH_NEIGHBOURS = 2;
/** In the few that were found every term of the query is common: so many others without any stand beside them. */
const OTHERS: readonly string[] = Array.from({ length: 40 }, () => "");
/** What is looked at of the query, its newest part, and of a passage, in UTF-16 units. */
const MAX_QUERY = 2000;
const MAX_PASSAGE = 1000;

/** @param found hits with their neighbours, by seq. @returns those worth showing, by seq */
export function worthShowing(query: string, found: readonly EntryReference[]): EntryReference[] {
  if (found.length === 0) return [];
  const passages = found.map(({ author, text }) => `${author} ${text?.slice(0, MAX_PASSAGE) ?? ""}`);
  const best = rankDocuments(query.slice(-MAX_QUERY), [...passages, ...OTHERS])
    .filter(({ coverage }) => coverage >= LEAST_COVERAGE)
    .slice(0, MOST_PASSAGES);
  const shown = new Set<number>();
  for (const [place, { index }] of best.entries()) {
    shown.add(index);
    if (place >= WITH_NEIGHBOURS) continue;
    for (const beside of [index - 1, index + 1])
      if (areNeighbours(found[index], found[beside])) shown.add(beside);
  }
  return found.filter((_, index) => shown.has(index));
}

/** What all results of one search take at most, and the head of one, in estimated tokens. */
const SEARCH_TOKENS = 1200;
const HEAD_TOKENS = 20;

/**
 * The results of a search that a model is shown: those that hold most of what was asked first, as many as fit.
 * @param found hits with their neighbours, by seq. @returns by seq
 */
export function fittingResults(query: string, found: readonly EntryReference[]): EntryReference[] {
  const passages = found.map(({ author, text }) => `${author} ${text?.slice(0, MAX_PASSAGE) ?? ""}`);
  const ranked = rankDocuments(query.slice(-MAX_QUERY), [...passages, ...OTHERS]).map(({ index }) => index);
  // Found by what has no words, such as a name in a script without spaces.
  const rest = found.map((_, index) => index).filter((index) => !ranked.includes(index));
  const shown = new Set<number>();
  let tokens = 0;
  for (const index of [...ranked, ...rest]) {
    const text = found[index]?.text;
    if (text === undefined) continue;
    tokens += Math.min(QUOTE_TOKENS, estimateTokens(text ?? "", QUOTE_TOKENS)) + HEAD_TOKENS;
    if (tokens > SEARCH_TOKENS) break;
    shown.add(index);
  }
  return found.filter((_, index) => shown.has(index));
}

/** Neighbours in the list may stand far from each other in the log. */
function areNeighbours(one: EntryReference | undefined, other: EntryReference | undefined): boolean {
  return one !== undefined && other !== undefined && Math.abs(one.seq - other.seq) <= 2;
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
  if (frequencies.size === 0 || lexemes.length > FEW_WORDS || /[?\uff1f\u061f]/.test(text)) return true;
  return lexemes.length === 0 || lexemes.some((lexeme) => (frequencies.get(lexeme) ?? 0) < COMMON);
}
