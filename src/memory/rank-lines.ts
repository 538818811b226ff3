import { PAIRED_SCRIPTS } from "../text/scripts.ts";
import type { Seq } from "../core/ids.ts";
import type { LineColumns } from "../store/search/found-lines.ts";
import { type AskedDate, askedDates } from "./asked-dates.ts";
import { EXPLAINED } from "./explained-terms.ts";
import type { ExpectedTerm } from "./terms.ts";

/**
 * Ranks the lines that the index has found: BM25 over a line and its two neighbours on each side, and the question's hints of
 * speaker and time. The weights were chosen on three conversations of LoCoMo and are reported on two others
 * (`bench/recall-quality.ts`). Pure.
 */

export interface RankingTerm extends ExpectedTerm {
  /** Every line of the channel that holds it was found: it is counted, and nothing is expected. */
  readonly isCounted: boolean;
}

/** The terms that one definition adds to the question. */
export interface ExplainingTerms {
  /** Lexemes of the question that it explains. */
  readonly of: readonly string[];
  readonly terms: readonly RankingTerm[];
  /** 1, or less where there are several. */
  readonly share: number;
}

export interface RankingQuery {
  readonly question: string;
  readonly terms: readonly RankingTerm[];
  /** Default: empty. */
  readonly explained?: readonly ExplainingTerms[];
  /** The name of an asker who asks about themselves; null, the default: no such question. */
  readonly self?: string | null;
  readonly size: number;
  /** Ms. */
  readonly now: number;
}

/** Best first; of equals the later one. */
export interface RankedLines {
  readonly seqs: readonly Seq[];
  readonly scores: Float64Array;
  /** The share of the question that is said in each line and next to it, rare terms weighing more: 0 to 1. */
  readonly coverage: Float64Array;
  /** The best line's BM25 score with its factors, over the weight of the question: how well the channel answers it; 0.3 is a fair match. */
  readonly fit: number;
}

/** Lines on each side of a line that count for it… */
const NEAR = 2;
/** …and the weights of a line's words for the lines after it, and before it, by distance. */
const BEHIND = [1, 0.4, 0.2];
const BEFORE = [1, 0.5, 0.2];
/** Factor of a question's words for the line after it, which probably answers it. */
const ASKED_BEFORE = 1.4;
/**
 * Of BM25: how soon a term said again counts for little; how much length counts, where lines of chat are short; the usual length.
 */
const K1 = 0.5;
const B = 0.2;
const USUAL_LENGTH = 12;
/** A line of this many lexemes counts 63 %: short lines as "yes, Ann" are of no use. */
const SHORT = 3;
/** Weight of a participant's name: lines contain it more often to address them than to speak about them. */
const NAME = 0.7;
const NAMED_SPEAKER = 3;
/** Factor of a line that asks: a question says less than an answer. */
const ASKS = 0.8;
/** Factor of a line that mentions a time, if the question asks for a time. */
const TELLS_TIME = 1.5;
/** Factor of a line of an asked date, or of the time after it, ms: people report the past. */
const ON_DATE = 2;
const SOON_MS = 14 * 24 * 3_600_000;
/** Silence that ends a conversation, ms, and how much of a line's score is the mean of the two best of its own conversation. */
const SILENCE_MS = 3_600_000;
const CONVERSATION = 0.2;
/**
 * Entries that hold a lexeme, by the statistics, over lines that say it: the index also has each line's words with the next one.
 */
const SAID_SHARE = 0.5;

export const ASKS_TIME =
  /\bwhen\b|\bhow (?:long|old)\b|\b(?:what|which) (?:date|day|week|month|year|time)\b|いつ|何[時日月年]|什么时候|几[点月号]/i;
/** Among lexemes. */
const TIME =
  / (?:yesterday|today|tomorrow|tonight|ago|last|next|sinc|day|week|weekend|month|year|mon|tue|wed|thur|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|januari|februari|march|april|june|juli|august|septemb|octob|novemb|decemb|\d\S*|~[昨今明先来翌][日週月年晩朝夜天]|~\d?[月日時]) /;

/** Ranks the lines that share a term with the question, or stand beside one that does. */
export function rankLines(query: RankingQuery, lines: LineColumns): RankedLines {
  const terms = [...query.terms, ...(query.explained ?? []).flatMap((one) => one.terms)];
  const counts = countTerms(lines, terms);
  const weights = weigh(query, terms, lines, counts);
  const dates = askedDates(query.question, query.now);
  const { scores, coverage } = score(query, weights, lines, { counts, dates });
  const whole = wholeOf(query, weights, dates.length > 0);
  // A question may be a date alone.
  const fit = whole === 0 ? 1 : scores.reduce((most, one) => Math.max(most, one), 0) / whole;
  shareInConversations(lines.times, scores);
  const best = bestFirst(scores);
  const ranked = { scores: new Float64Array(best.length), coverage: new Float64Array(best.length) };
  const seqs: Seq[] = [];
  for (let rank = 0; rank < best.length; rank++) {
    const place = best[rank] ?? 0;
    seqs.push(lines.seqs[place] ?? 0);
    ranked.scores[rank] = scores[place] ?? 0;
    ranked.coverage[rank] = coverage[place] ?? 0;
  }
  return { seqs, ...ranked, fit };
}

/** The weight of the question's own terms. @param isDated without its date, which a line of that day need not contain */
function wholeOf({ terms }: RankingQuery, weights: readonly number[], isDated = false): number {
  return totalOf(terms.map(({ lexeme }, index) => (isDated && isOfDate(lexeme) ? 0 : (weights[index] ?? 0))));
}

function isOfDate(lexeme: string): boolean {
  return lexeme === "may" || TIME.test(` ${lexeme} `);
}

/** Places of the lines that have a score; of equals the later one first. */
function bestFirst(scores: Float64Array): Uint32Array {
  const places = new Uint32Array(scores.length);
  let count = 0;
  for (let place = 0; place < scores.length; place++) if ((scores[place] ?? 0) > 0) places[count++] = place;
  // A difference would be a number on the heap for each two lines.
  return places.subarray(0, count).toSorted((a, b) => {
    const one = scores[a] ?? 0;
    const other = scores[b] ?? 0;
    return one > other ? -1 : one < other ? 1 : b - a;
  });
}

/** The weights of the terms: those of the question, then those that explain it. */
function weigh(
  query: RankingQuery,
  terms: readonly RankingTerm[],
  { count, authors }: LineColumns,
  counts: Uint8Array,
): number[] {
  const names = new Set(authors.flatMap((author) => author.toLowerCase().match(NAMES) ?? []));
  const weights = terms.map(({ lexeme, expected, isCounted }, term) => {
    let said = 0;
    for (let at = term * count; at < (term + 1) * count; at++) if (counts[at] !== 0) said++;
    const weight = idf(isCounted ? said : Math.max(said, expected * SAID_SHARE), query.size);
    return names.has(lexeme) ? NAME * weight : weight;
  });
  weighExplained(query, weights);
  return weights;
}

/** Scores each line by what it and those beside it say, by place. @param weights of all terms */
function score(
  query: RankingQuery,
  weights: readonly number[],
  lines: LineColumns,
  { counts, dates }: { readonly counts: Uint8Array; readonly dates: readonly AskedDate[] },
): Pick<RankedLines, "scores" | "coverage"> {
  const { count, lengths } = lines;
  const scores = new Float64Array(count);
  const coverage = new Float64Array(count);
  const whole = wholeOf(query, weights);
  const factorOf = lineFactor(query, lines, dates);
  const shares = new Float64Array(2 * NEAR + 1);
  for (let place = 0; place < count; place++) {
    const first = Math.max(0, place - NEAR);
    const last = Math.min(count - 1, place + NEAR);
    let length = 0;
    for (let near = first; near <= last; near++) {
      const share = nearShare(lines, place, near);
      shares[near - first] = share;
      length += share * lengthOf(lengths, near);
    }
    const k1 = K1 * (1 - B + (B * length) / USUAL_LENGTH);
    let sum = 0;
    let covered = 0;
    for (let term = 0; term < weights.length; term++) {
      let frequency = 0;
      for (let near = first; near <= last; near++)
        frequency += (shares[near - first] ?? 0) * (counts[term * count + near] ?? 0);
      if (frequency === 0) continue;
      const weight = weights[term] ?? 0;
      sum += (weight * frequency * (K1 + 1)) / (frequency + k1);
      covered += weight * Math.min(1, frequency);
    }
    scores[place] = sum > 0 ? sum * factorOf(place) : sum;
    coverage[place] = whole === 0 ? 0 : Math.min(1, covered / whole);
  }
  return { scores, coverage };
}

function lengthOf(lengths: Float64Array, place: number): number {
  return lengths[place] ?? USUAL_LENGTH;
}

function totalOf(numbers: readonly number[]): number {
  return numbers.reduce((all, one) => all + one, 0);
}

/**
 * The terms of a definition together weigh at most a share of what they explain.
 * @param weights of the question's terms, then of the explaining ones, which change
 */
function weighExplained({ terms, explained = [] }: RankingQuery, weights: number[]): void {
  let from = terms.length;
  for (const one of explained) {
    const to = from + one.terms.length;
    const whole = totalOf(weights.slice(from, to));
    const base = totalOf(weights.filter((_, index) => one.of.includes(terms[index]?.lexeme ?? "")));
    const scale = whole === 0 ? 0 : Math.min(1, (EXPLAINED * one.share * base) / whole);
    for (let index = from; index < to; index++) weights[index] = (weights[index] ?? 0) * scale;
    from = to;
  }
}

/**
 * How often each line says each term, three times at most; all lines of a term, then those of the next. They are looked through as one
 * text: one by one they take several times as long.
 */
function countTerms(
  { told, count, wordsFrom, wordsTo }: LineColumns,
  terms: readonly RankingTerm[],
): Uint8Array {
  const counts = new Uint8Array(terms.length * count);
  for (const [index, { lexeme }] of terms.entries()) {
    const term = `${lexeme} `;
    let place = 0;
    for (let at = told.indexOf(term); at >= 0; at = told.indexOf(term, at + term.length)) {
      while (at >= (wordsTo[place] ?? Infinity)) place++;
      // Text before a line's words, such as its author's name, does not count.
      if (told[at - 1] !== " " || at <= (wordsFrom[place] ?? Infinity)) continue;
      const cell = index * count + place;
      counts[cell] = (counts[cell] ?? 0) + 1;
    }
  }
  return counts;
}

function idf(said: number, size: number): number {
  const known = Math.min(said, size);
  return Math.log(1 + (size - known + 0.5) / (known + 0.5));
}

/** How much of the words of a line near another counts for that; 0: it is too far away in the log. */
function nearShare({ seqs, asks }: LineColumns, place: number, near: number): number {
  const behind = (seqs[place] ?? 0) - (seqs[near] ?? 0);
  const share = (behind > 0 ? BEHIND[behind] : BEFORE[-behind]) ?? 0;
  return behind === 1 && asks[near] === 1 ? share * ASKED_BEFORE : share;
}

/** The factor of each line, by its place: the question's hints other than its words. */
function lineFactor(
  query: RankingQuery,
  lines: LineColumns,
  dates: readonly AskedDate[],
): (place: number) => number {
  const { told, times, authors, saidBy, asks, wordsFrom, wordsTo, lengths } = lines;
  const named = speakersNamed(query.question, authors);
  const asked = named.length > 0 ? named : [query.self ?? []].flat();
  const speakers = new Set(asked.map((name) => authors.indexOf(name)));
  const asksTime = ASKS_TIME.test(query.question);
  return (place) => {
    let factor = 1 - Math.exp(-lengthOf(lengths, place) / SHORT);
    if (speakers.has(saidBy[place] ?? -1)) factor *= NAMED_SPEAKER;
    if (asks[place] === 1) factor *= ASKS;
    if (asksTime && TIME.test(told.slice(wordsFrom[place], wordsTo[place]))) factor *= TELLS_TIME;
    // NaN: the line has no time.
    const at = times[place] ?? Number.NaN;
    return dates.some(({ from, to }) => at >= from && at < to + SOON_MS) ? factor * ON_DATE : factor;
  };
}

/** The words of a name; a single letter does not identify a person. */
const NAMES = /[\p{L}\p{N}_]{2,}/gu;
const UNSPACED = new RegExp(`[${PAIRED_SCRIPTS}]{2}`, "u");

/** The authors whom the question names. Of several, those whose name is written as a name, if there are any: "may" is a verb, too. */
export function speakersNamed(question: string, authors: readonly string[]): string[] {
  const asked = question.toLowerCase();
  const written = question.match(/[\p{L}\p{N}_]+/gu) ?? [];
  const words = new Set(written.map((word) => word.toLowerCase()));
  const names = new Set(written.filter((word) => /^\p{Lu}/u.test(word)).map((word) => word.toLowerCase()));
  const isNamed = (author: string, among: ReadonlySet<string>): boolean =>
    (author.toLowerCase().match(NAMES) ?? []).some(
      (name) => among.has(name) || (UNSPACED.test(name) && asked.includes(name)),
    );
  const all = authors.filter((author) => isNamed(author, words));
  const named = all.filter((author) => isNamed(author, names));
  return all.length > 1 && named.length > 0 ? named : all;
}

/** A line of a conversation that is about the question is more likely to be what is asked for. @param scores change */
function shareInConversations(times: Float64Array, scores: Float64Array): void {
  for (let from = 0, to = 0; from < scores.length; from = to) {
    let best = 0;
    let second = 0;
    do {
      const one = scores[to++] ?? 0;
      second = Math.max(second, Math.min(best, one));
      best = Math.max(best, one);
      // Where it is not known when something was said, that is a conversation by itself.
    } while (to < scores.length && (times[to] ?? 0) - (times[to - 1] ?? 0) <= SILENCE_MS);
    const shared = (best + second) / 2;
    for (let place = from; place < to; place++) {
      const one = scores[place] ?? 0;
      if (one > 0) scores[place] = (1 - CONVERSATION) * one + CONVERSATION * shared;
    }
  }
}
