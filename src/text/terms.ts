import { once } from "../core/once.ts";
import { EDGELESS_SCRIPTS } from "./scripts.ts";
import { normalForm, plainDigits } from "./text.ts";
import { withoutUnseen } from "./unseen.ts";

/** Compares texts by shared words, without a model: enough for quotations. */

/** Runs that are compared by pairs of characters. */
const UNSPACED = new RegExp(`[${EDGELESS_SCRIPTS}]+`, "gu");
const WORD = /[\p{L}\p{N}\p{M}_]+/gu;

const STOP_WORDS: ReadonlySet<string> = new Set(
  `a about all also am an and any are as at be because been but by can could did do does for from get had has have
  he her him his how i if in into is it its just let like me my no not now of off on one or our out over please
  said say she should so some tell than that the their them then there these they this those to too up us was we
  were what when where which who whom whose why will with would yes you your`.split(/\s+/),
);

const sentences = once(() => new Intl.Segmenter("und", { granularity: "sentence" }));

/** The sentences of a text, trimmed and not empty; a line break ends one, too. */
export function splitSentences(text: string): string[] {
  return [...sentencesOf(text)];
}

/** {@link splitSentences} one by one, so that a long text need not be split at once. */
export function* sentencesOf(text: string): Generator<string, void, void> {
  // The segmenter ends a sentence at these, too, but slowly.
  for (const line of text.split(/[\n\r\u0085\u2028\u2029]+/)) {
    for (const sentence of sentencesIn(line)) {
      const trimmed = sentence.trim();
      if (trimmed !== "") yield trimmed;
    }
  }
}

/** In scripts with spaces only a space ends a sentence: the segmenter would also break after the `?` in a link. */
function* sentencesIn(line: string): Generator<string, void, void> {
  // Avoids the slow segmenter for text without a sentence end.
  if (!/[.!?]["')\]}]*\s|[^\p{ASCII}]|[\v\f]/u.test(line)) {
    yield line;
    return;
  }
  let open = "";
  for (const { segment } of sentences().segment(line)) {
    open += segment;
    if (!/(?:\s|[^\p{ASCII}])$/u.test(segment)) continue;
    yield open;
    open = "";
  }
  yield open;
}

/**
 * The terms of a text: words without endings and without the most common English ones, and all pairs of characters of
 * scripts without spaces. Repeated terms are repeated.
 */
export function terms(text: string): string[] {
  return collect(text, (pairs) => pairs);
}

/**
 * The terms of a question: of pairs of characters only those without kana, which are mostly grammar, if a run has any;
 * else those with some; else all.
 */
export function questionTerms(question: string): string[] {
  return [...new Set(collect(question, contentOf))];
}

function contentOf(pairs: readonly string[]): readonly string[] {
  const withoutKana = pairs.filter((pair) => !/\p{Script=Hiragana}/u.test(pair));
  if (withoutKana.length > 0) return withoutKana;
  const mixed = pairs.filter((pair) => !/^\p{Script=Hiragana}+$/u.test(pair));
  return mixed.length > 0 ? mixed : pairs;
}

function collect(text: string, select: (pairs: readonly string[]) => readonly string[]): string[] {
  // The common case, over three times as fast: no normalisation, no script without spaces.
  if (/^\p{ASCII}*$/u.test(text)) return (text.toLowerCase().match(/\w+/g) ?? []).filter(tells).map(stem);
  const found: string[] = [];
  for (const [word] of normalForm(text, "NFKC").toLowerCase().matchAll(WORD)) {
    // One by one: a long paste has more pairs than a call can take as arguments.
    for (const [run] of word.matchAll(UNSPACED)) for (const pair of select(pairsOf(run))) found.push(pair);
    for (const rest of word.split(UNSPACED)) if (tells(rest)) found.push(stem(rest));
  }
  return found;
}

/** Whether a word is significant: not empty, a single letter or one of the most common words. */
function tells(word: string): boolean {
  return word !== "" && !STOP_WORDS.has(word) && (word.length > 1 || /\d/.test(word));
}

/** The pairs of neighbouring characters of a run in a script without spaces; of a single one, that one. */
export function pairsOf(run: string): string[] {
  const characters = Array.from(run);
  if (characters.length === 1) return characters;
  return characters.slice(1).map((character, index) => `${characters[index]}${character}`);
}

function stem(word: string): string {
  if (word.length < 5 || !/^[a-z]+$/.test(word)) return word;
  return word.replace(/ies$/, "y").replace(/(?:ing|ed|es|s)$/, "");
}

/** How well a document answers a query. */
export interface Match {
  /** The document's place in the list. */
  readonly index: number;
  /** BM25. */
  readonly score: number;
  /** Share of the query's terms in the document, weighted by rarity: 0 to 1. */
  readonly coverage: number;
}

const K1 = 1.2;
const B = 0.5;

/**
 * Documents that share a term with the query, best first; of equals the later one. Okapi BM25 with the usual constants;
 * b is lowered because chat lines are short.
 */
export function rankDocuments(query: string, documents: readonly string[]): Match[] {
  const counted = documents.map((document) => countTerms(document));
  const averageLength = counted.reduce((sum, { length }) => sum + length, 0) / Math.max(1, counted.length);
  const wanted = questionTerms(query).map((term) => {
    const containing = counted.filter(({ counts }) => counts.has(term)).length;
    return { term, weight: Math.log(1 + (documents.length - containing + 0.5) / (containing + 0.5)) };
  });
  const whole = wanted.reduce((sum, { weight }) => sum + weight, 0);
  const matches = counted.flatMap(({ counts, length }, index) => {
    let score = 0;
    let covered = 0;
    for (const { term, weight } of wanted) {
      const count = counts.get(term) ?? 0;
      if (count === 0) continue;
      covered += weight;
      score += (weight * count * (K1 + 1)) / (count + K1 * (1 - B + (B * length) / averageLength));
    }
    return score === 0 ? [] : [{ index, score, coverage: covered / whole }];
  });
  return matches.toSorted((a, b) => b.score - a.score || b.index - a.index);
}

function countTerms(document: string): { counts: Map<string, number>; length: number } {
  const counts = new Map<string, number>();
  const all = terms(document);
  for (const term of all) counts.set(term, (counts.get(term) ?? 0) + 1);
  return { counts, length: all.length };
}

/** Longest text that is read, in UTF-16 units: more than any platform's message has. */
const MAX_LENGTH = 200_000;
/** Memories have absolute dates, whatever the original words: a date is one term, and its day no separate number. */
const DATE = /\b\d{4}-\d\d-\d\d\b/g;
/** `0171 / 555-12` also yields 017155512. A match from the middle of a run of digits would only repeat it. */
const SPACED_NUMBER = /(?<!\d)\d+(?:[ .,:/-]{1,3}\d+)+/g;
const MIN_JOINED = 4;
const MAX_JOINED = 40;

/**
 * The terms by which a text shows that it repeats another: words without endings, numbers, identifiers and their parts;
 * not the most common English words. If it has invisible characters, or digits of other scripts than ASCII, also the
 * terms without them. A paraphrase without any of these words is not recognised.
 */
export function tellingTerms(text: string): Set<string> {
  const looked = text.slice(0, MAX_LENGTH);
  const plain = plainDigits(withoutUnseen(looked));
  const found = termsTold(looked);
  return plain === looked ? found : found.union(termsTold(plain));
}

function termsTold(looked: string): Set<string> {
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

/** Whether a term is a number, or an identifier with one, whose repetition is no coincidence. */
export function isExact(term: string): boolean {
  return /\d/.test(term);
}

/** A text without the sentences that have one of these terms; "": nothing else is left. Pure. */
export function withoutTerms(text: string, gone: ReadonlySet<string>): string {
  const isFree = (one: string): boolean => tellingTerms(one).isDisjointFrom(gone);
  const lines = text.split("\n").flatMap((line) => {
    if (isFree(line)) return [line];
    const left = splitSentences(line).filter(isFree).join(" ");
    // Numbers in separate sentences may join into another number once they are adjacent.
    return left !== "" && isFree(left) ? [left] : [];
  });
  return lines.join("\n").trim();
}
