import { PAIRED_SCRIPTS } from "../text/scripts.ts";
import type { Seq } from "../core/ids.ts";
import type { FoundLine } from "../store/search/found-lines.ts";
import { type AskedDate, askedDates } from "./asked-dates.ts";
import { EXPLAINED } from "./explained-terms.ts";

/**
 * Ranks what the index has found: BM25 over a line and two on each side of it, and what the question tells of who said it and
 * when. The weights were chosen on three conversations of LoCoMo and are reported on two others (`bench/recall-quality.ts`).
 * Pure.
 */

/** A term of the question, with about how many entries of the channel hold it. */
export interface RankingTerm {
  readonly lexeme: string;
  readonly expected: number;
  /** Every line of the channel that holds it was found: it is counted, and nothing is expected. */
  readonly isCounted: boolean;
}

/** What one definition of words of the question adds to it. */
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
  /** Default: none. */
  readonly explained?: readonly ExplainingTerms[];
  /** The name of whoever asks of themselves; null, the default: nobody. */
  readonly self?: string | null;
  /** Entries of the channel. */
  readonly size: number;
  /** Ms. */
  readonly now: number;
}

export interface RankedLine {
  readonly seq: Seq;
  readonly score: number;
  /** The share of the question that is said in the line and next to it, rare terms weighing more: 0 to 1. */
  readonly coverage: number;
}

/** How much of a line's words counts for the lines behind it, and before it, by how far away they are. */
const BEHIND = [1, 0.4, 0.2];
const BEFORE = [1, 0.5, 0.2];
/** What was asked counts this many times as much for the line behind it: that answers it. */
const ASKED_BEFORE = 1.4;
/**
 * Of BM25: how soon a term said again counts for little; how much length counts, where lines of chat are short; the usual length.
 */
const K1 = 0.5;
const B = 0.2;
const USUAL_LENGTH = 12;
/** A line of so many lexemes counts for 63 %: nobody wants "yes, Ann" back. */
const SHORT = 3;
/** What the name of somebody who takes part weighs: it is said to them more often than of them. */
const NAME = 0.7;
const NAMED_SPEAKER = 1.6;
/** Something in the line asks: a question tells less than an answer. */
const ASKS = 0.8;
/** The line speaks of a time, and a time is asked for. */
const TELLS_TIME = 1.5;
/** Said on a date that is asked for, or so long after it, ms: people tell of what has been. */
const ON_DATE = 2;
const SOON_MS = 14 * 24 * 3_600_000;
/** Silence that ends a conversation, ms, and how much of a line's score is that of the best lines of its own conversation. */
const SILENCE_MS = 3_600_000;
const CONVERSATION = 0.2;
const BEST_LINES = 2;
/**
 * Entries that hold a lexeme, by the statistics, over lines that say it: the index also has each line's words with the next one.
 */
const SAID_SHARE = 0.5;

export const ASKS_TIME =
  /\bwhen\b|\bhow (?:long|old)\b|\b(?:what|which) (?:date|day|week|month|year|time)\b|いつ|何[時日月年]|什么时候|几[点月号]/i;
/** Among lexemes. */
const TIME =
  / (?:yesterday|today|tomorrow|tonight|ago|last|next|sinc|day|week|weekend|month|year|mon|tue|wed|thur|fri|sat|sun|monday|tuesday|wednesday|thursday|friday|saturday|sunday|januari|februari|march|april|june|juli|august|septemb|octob|novemb|decemb|\d\S*|~[昨今明先来翌][日週月年晩朝夜天]|~\d?[月日時]) /;

/** Lines that share a term with the question, best first; of equals the later one. @param lines by seq */
export function rankLines(query: RankingQuery, lines: readonly FoundLine[]): RankedLine[] {
  const explained = query.explained ?? [];
  const terms = [...query.terms, ...explained.flatMap((one) => one.terms)];
  const counts = countTerms(lines, terms);
  const authors = new Set(lines.map(({ author }) => author.toLowerCase()));
  const names = new Set([...authors].flatMap((author) => author.match(NAMES) ?? []));
  const weights = terms.map(({ lexeme, expected, isCounted }, term) => {
    const said = counts.filter((line) => (line[term] ?? 0) > 0).length;
    const weight = idf(isCounted ? said : Math.max(said, expected * SAID_SHARE), query.size);
    return names.has(lexeme) ? NAME * weight : weight;
  });
  const whole = totalOf(weights.slice(0, query.terms.length));
  weighExplained(query, weights);
  const factorOf = lineFactor(query, lines);
  const scored = lines.map((line, index) => {
    const near = nearTo(lines, index);
    const length = near.reduce(
      (sum, { place, share }) => sum + share * (lines[place]?.length ?? USUAL_LENGTH),
      0,
    );
    const k1 = K1 * (1 - B + (B * length) / USUAL_LENGTH);
    let [score, covered] = [0, 0];
    for (let term = 0; term < weights.length; term++) {
      let frequency = 0;
      for (const { place, share } of near) frequency += share * (counts[place]?.[term] ?? 0);
      if (frequency === 0) continue;
      const weight = weights[term] ?? 0;
      score += (weight * frequency * (K1 + 1)) / (frequency + k1);
      covered += weight * Math.min(1, frequency);
    }
    if (score > 0) score *= factorOf(line);
    return { line, score, coverage: whole === 0 ? 0 : Math.min(1, covered / whole) };
  });
  return withConversations(scored)
    .filter(({ score }) => score > 0)
    .toSorted((a, b) => b.score - a.score || b.seq - a.seq);
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
 * How often each line says each term, three times at most. All lines are looked through as one text: one by one they take
 * several times as long.
 */
function countTerms(lines: readonly FoundLine[], terms: readonly RankingTerm[]): number[][] {
  const counts = lines.map(() => terms.map(() => 0));
  const text = lines.map(({ words }) => words).join("\n");
  for (const [index, { lexeme }] of terms.entries()) {
    const term = `${lexeme} `;
    let [place, end] = [-1, 0];
    for (let at = text.indexOf(term); at >= 0; at = text.indexOf(term, at + term.length)) {
      if (text[at - 1] !== " ") continue;
      while (at >= end) end += (lines[++place]?.words.length ?? Infinity) + 1;
      const line = counts[place];
      if (line !== undefined) line[index] = (line[index] ?? 0) + 1;
    }
  }
  return counts;
}

function idf(said: number, size: number): number {
  const known = Math.min(said, size);
  return Math.log(1 + (size - known + 0.5) / (known + 0.5));
}

/** A line in the list, and how much of its words counts. */
interface Near {
  readonly place: number;
  readonly share: number;
}

/** A line and those beside it in the log. */
function nearTo(lines: readonly FoundLine[], index: number): Near[] {
  const seq = lines[index]?.seq ?? 0;
  const near: Near[] = [];
  for (let place = index - 2; place <= index + 2; place++) {
    const other = lines[place];
    const share =
      other === undefined ? undefined : other.seq < seq ? BEHIND[seq - other.seq] : BEFORE[other.seq - seq];
    if (other === undefined || share === undefined) continue;
    near.push({ place, share: other.asks && other.seq === seq - 1 ? share * ASKED_BEFORE : share });
  }
  return near;
}

/** What the question tells of a line beside its words. */
function lineFactor(query: RankingQuery, lines: readonly FoundLine[]): (line: FoundLine) => number {
  const speaker = namedSpeaker(query.question, lines) ?? query.self ?? null;
  const asksTime = ASKS_TIME.test(query.question);
  const dates = askedDates(query.question, query.now);
  return ({ at, author, asks, words, length }) => {
    let factor = 1 - Math.exp(-(length ?? USUAL_LENGTH) / SHORT);
    if (author !== "" && author === speaker) factor *= NAMED_SPEAKER;
    if (asks) factor *= ASKS;
    if (asksTime && TIME.test(words)) factor *= TELLS_TIME;
    return at === null ? factor : factor * dateFactor(dates, at);
  };
}

function dateFactor(dates: readonly AskedDate[], at: number): number {
  return dates.some(({ from, to }) => at >= from && at < to + SOON_MS) ? ON_DATE : 1;
}

/** The words of a name; a single letter is too little to know somebody by. */
const NAMES = /[\p{L}\p{N}_]{2,}/gu;
const UNSPACED = new RegExp(`[${PAIRED_SCRIPTS}]{2}`, "u");

/** The one author whom the question names; null: nobody, or several. */
export function namedSpeaker(question: string, lines: readonly Pick<FoundLine, "author">[]): string | null {
  const asked = question.toLowerCase();
  const words = new Set(asked.match(/[\p{L}\p{N}_]+/gu));
  const named = [...new Set(lines.map(({ author }) => author))].filter((author) =>
    (author.toLowerCase().match(NAMES) ?? []).some(
      (name) => words.has(name) || (UNSPACED.test(name) && asked.includes(name)),
    ),
  );
  return named.length === 1 ? (named[0] ?? null) : null;
}

/** A line of a conversation that is about the question is more likely to be what is asked for. */
function withConversations(
  scored: readonly { readonly line: FoundLine; readonly score: number; readonly coverage: number }[],
): RankedLine[] {
  const conversations: (typeof scored)[number][][] = [];
  let last: number | null = null;
  for (const one of scored) {
    const { at } = one.line;
    if (last === null || at === null || at - last > SILENCE_MS) conversations.push([]);
    conversations.at(-1)?.push(one);
    last = at;
  }
  return conversations.flatMap((conversation) => {
    const best = conversation.map(({ score }) => score).toSorted((a, b) => b - a);
    const shared = best.slice(0, BEST_LINES).reduce((sum, score) => sum + score, 0) / BEST_LINES;
    return conversation.map(({ line: { seq }, score, coverage }) => {
      return { seq, coverage, score: score === 0 ? 0 : (1 - CONVERSATION) * score + CONVERSATION * shared };
    });
  });
}
