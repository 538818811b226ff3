import type { Slices } from "../../async/cooperative.ts";
import type { DayRange } from "../../core/memory.ts";
import { isNamed, namedTimes } from "../../memory/named-times.ts";
import { holdsSecret } from "../../memory/secrets.ts";
import { namesPerson, sharedWords } from "../../memory/statement-support.ts";
import { normalWords } from "../../text/normal-text.ts";
import { numbersIn } from "../../text/number-words.ts";
import { bestSentences, factsOf, isDecision } from "../../text/rank-sentences.ts";
import { questionTerms, splitSentences, terms } from "../../text/terms.ts";
import { normalForm, plainDigits, sliceWhole } from "../../text/text.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { namesOneOf, peopleOf, type SourceLine } from "./source.ts";

/**
 * What a summary must not lose: links, identifiers, numbers, dates and names in the sentences that an extract of the same
 * length would take, and the question that is open at the end. Pure.
 */
export interface RequiredFact extends Fact {
  /** The whole sentence of the source. */
  readonly sentence: string;
  readonly line: SourceLine;
}

interface Fact {
  /** As it is written in the source; of a date its ISO form, or its sentence. */
  readonly text: string;
  readonly isIn: (summary: SummaryForms) => boolean;
}

/** The forms of a summary in which facts are looked for. */
interface SummaryForms {
  readonly text: string;
  /** In small letters, without marks of code and escapes. */
  readonly lower: string;
  readonly numbers: ReadonlySet<string>;
  /** The times that it names, read on that day. */
  readonly timesOn: (day: string) => readonly DayRange[];
}

/** Most facts that are required: of a short stretch, and one more for each of so many tokens. */
const MOST = { short: 8, long: 12, step: 1500 } as const;
/** Most tokens of all facts together, as a share of the summary's length. */
const FACTS_SHARE = 0.25;
/** Characters of the extract whose facts are required: a share of the summary's, and of a very short source's these. */
const EXTRACT_SHARE = 0.7;
const LEAST_ROOM = 400;
const CHARACTERS_A_TOKEN = 2;
/** What stands before each line of an extract takes room. */
const TIME = "2026-11-21 14:05";
/** Longest fact, in UTF-16 units: a truncated link is useless. */
const LONGEST = 200;
const LONGEST_DATE = 120;
/** A summary has at least so many of the required facts, and of the others this share: asking twice costs as much as two summaries. */
const NEEDED = 4;
const NEEDED_SHARE = 0.5;
const CODE = /```[^`]*(?:```|$)/gu;
/** Longest beginning of a message that is read, in UTF-16 units. */
const LONGEST_MESSAGE = 1500;
/** Characters of the newest lines that are ranked: more would take seconds. */
const RANKED = 200_000;

export interface FactLimits {
  /** Estimated. */
  readonly sourceTokens: number;
  /** The length that is asked for. */
  readonly wantedTokens: number;
}

/** The facts that a summary of these lines must have, the most important first; small talk has none. */
export function* requiredFacts(
  all: readonly SourceLine[],
  { sourceTokens, wantedTokens }: FactLimits,
): Slices<readonly RequiredFact[]> {
  const lines = newest(all.filter(({ isSpoken }) => isSpoken).map(withoutPastes));
  const characters = lines.reduce((sum, { text }) => sum + text.length, 0);
  const share = Math.min(1, wantedTokens / Math.max(1, sourceTokens));
  const least = Math.min(LEAST_ROOM, wantedTokens * CHARACTERS_A_TOKEN);
  const room = Math.floor(Math.max(least, characters * share * EXTRACT_SHARE));
  const spoken = lines.map(({ author, text }) => ({ time: TIME, author, text }));
  const best = yield* bestSentences(spoken, room);
  const names = new NameCounter(lines);
  const question = openQuestion(lines);
  const chosen = new Map<string, RequiredFact>();
  let tokens = 0;
  const most = Math.min(MOST.long, MOST.short + Math.floor(sourceTokens / MOST.step));
  const add = (fact: Fact, sentence: string, line: SourceLine): void => {
    const key = fact.text.toLowerCase();
    const cost = estimateTokens(fact.text);
    if (chosen.has(key) || chosen.size >= most || fact.text.length > LONGEST) return;
    if (tokens + cost > wantedTokens * FACTS_SHARE) return;
    tokens += cost;
    chosen.set(key, { ...fact, sentence, line });
  };
  const last = lines.at(-1);
  if (question !== null && last !== undefined) add(question, question.text, last);
  for (const { line: place, text } of best) {
    const line = lines[place];
    // A password that somebody has pasted is better lost.
    if (line === undefined || holdsSecret(text)) continue;
    for (const fact of factsIn(text, line.day, names)) add(fact, text, line);
    if (chosen.size >= most) break;
    yield;
  }
  return [...chosen.values()];
}

/** The facts that a summary lacks. */
export function* missingFacts(text: string, facts: readonly RequiredFact[]): Slices<readonly RequiredFact[]> {
  if (facts.length === 0) return [];
  const forms = formsOf(text);
  const missing: RequiredFact[] = [];
  for (const fact of facts) {
    if (!fact.isIn(forms)) missing.push(fact);
    yield;
  }
  return missing;
}

/** Whether a summary that lacks so many of its facts is good enough. */
export function isTolerable(missing: number, required: number): boolean {
  return missing <= Math.floor(Math.max(0, required - NEEDED) * (1 - NEEDED_SHARE));
}

/** Logs and code are pasted for a question, and their details are seldom worth keeping. */
function withoutPastes(line: SourceLine): SourceLine {
  // A line of a summary is not pasted.
  if (line.author === "") return line;
  return { ...line, text: sliceWhole(line.text.replaceAll(CODE, " "), 0, LONGEST_MESSAGE) };
}

function newest(lines: readonly SourceLine[]): readonly SourceLine[] {
  let left = RANKED;
  const from = lines.findLastIndex(({ text }) => (left -= text.length) < 0);
  return lines.slice(from + 1);
}

function formsOf(text: string): SummaryForms {
  const plain = plainText(text);
  const days = new Map<string, DayRange[]>();
  const sentences = splitSentences(plain);
  return {
    text: plain,
    lower: bare(plain),
    numbers: numberForms(plain),
    timesOn: (day) => {
      const known = days.get(day) ?? sentences.flatMap((sentence) => namedTimes(sentence, day));
      days.set(day, known);
      return known;
    },
  };
}

function plainText(text: string): string {
  return plainDigits(normalForm(text, "NFKC")).replaceAll(/[’‘]/g, "'");
}

function bare(text: string): string {
  return text.toLowerCase().replaceAll(/[`\\*]/g, "");
}

/** With a decimal point, as one would be in another language's text. */
function numberForms(text: string): ReadonlySet<string> {
  return new Set([...numbersIn(text)].map((number) => number.replace(",", ".")));
}

function* factsIn(sentence: string, day: string, names: NameCounter): Generator<Fact, void, void> {
  const date = dateIn(sentence, day);
  if (date !== null) yield date.fact;
  for (const { kind, text, from, to } of withWholeNames(factsOf(sentence))) {
    switch (kind) {
      case "link":
        yield linkFact(text);
        break;
      case "identifier":
        if (isTelling(text)) yield wordFact(text);
        break;
      case "number": {
        const number = numberAt(sentence, text, from, to);
        if (number !== null && date?.parts.has(text) !== true) yield number;
        break;
      }
      case "name":
        if (names.isRequired(text, sentence)) yield nameFact(text);
        break;
    }
  }
}

type FoundFact = ReturnType<typeof factsOf>[number];

/** Names side by side are one: "Weight Watchers". */
function withWholeNames(facts: readonly FoundFact[]): FoundFact[] {
  const whole: FoundFact[] = [];
  for (const fact of facts) {
    const before = whole.at(-1);
    const isMore = before?.kind === "name" && fact.kind === "name" && fact.from === before.to + 1;
    if (isMore) whole[whole.length - 1] = { ...before, text: `${before.text} ${fact.text}`, to: fact.to };
    else whole.push(fact);
  }
  return whole;
}

function linkFact(found: string): Fact {
  const text = found.replace(/(?<![.,:;!?'*])[.,:;!?'*]+$/, "");
  const place = bare(plainText(text))
    .replace(/^https?:\/\/(?:www\.)?/, "")
    .replace(/\/$/, "");
  return { text, isIn: ({ lower }) => lower.includes(place) };
}

function wordFact(found: string): Fact {
  const text = found.replaceAll("`", "").replace(/(?<![.,:;!?])[.,:;!?]+$/, "");
  const word = bare(plainText(text));
  return { text, isIn: ({ lower }) => lower.includes(word) };
}

/** "and/or" and "he/she" name nothing. */
function isTelling(identifier: string): boolean {
  const word = identifier.replaceAll("`", "");
  if (word.length < 3) return /^#\d/.test(word);
  return !/^[\p{L}-]+\/[\p{L}-]+\.?$/u.test(word) && !/^\d{1,2}\/\d{1,2}$/.test(word);
}

const CURRENCY = /[$€£¥₹]\s?$/u;
const UNIT = /^\s?(?:%|[$€£¥₹°]|[円元年月日時分秒人個本回台件歳点]|(?:\p{L}{1,3}|\p{L}{4,20})(?!\p{L}))/u;
/** A digit alone is mostly a count of little weight, and so are two without a unit. */
const TWO_DIGITS = /^[1-9]\d$/;
const MANY_DIGITS = /\d\D?\d\D?\d/;

function numberAt(sentence: string, number: string, from: number, to: number): Fact | null {
  // A part of a name, as in "gauge-12".
  if (/[\p{L}\p{N}]-$/u.test(sentence.slice(Math.max(0, from - 2), from))) return null;
  const sign = CURRENCY.exec(sentence.slice(Math.max(0, from - 2), from))?.[0] ?? "";
  const unit = UNIT.exec(sentence.slice(to, to + 24))?.[0] ?? "";
  const isMeasured = sign !== "" || /^\s?[%$€£¥₹°]/u.test(unit);
  const isCounted = TWO_DIGITS.test(number) && terms(unit).length > 0;
  if (!isMeasured && !isCounted && !MANY_DIGITS.test(number)) return null;
  const wanted = [...numberForms(plainText(number))];
  return {
    text: `${sign}${number}${isMeasured || terms(unit).length > 0 ? unit : ""}`.replaceAll(/\s+/g, " "),
    isIn: ({ numbers }) => wanted.every((one) => numbers.has(one)),
  };
}

/** A date in digits, or in words of a decision: in other sentences "yesterday" is seldom worth keeping. */
function dateIn(
  sentence: string,
  day: string,
): { readonly fact: Fact; readonly parts: ReadonlySet<string> } | null {
  const times = day === "" ? isoDates(sentence) : datesIn(sentence, day);
  const [first] = times;
  if (first === undefined) return null;
  const readOn = day === "" ? first.from : day;
  const parts = new Set(
    times.flatMap((one) => [
      one.from,
      ...one.from.split("-"),
      ...one.from.split("-").map((part) => String(Number(part))),
    ]),
  );
  return {
    fact: {
      // "3 November" may be last year's or the next: the sentence says it as it was meant.
      text: times.length === 1 ? first.from : sliceWhole(sentence.replaceAll(/\s+/g, " "), 0, LONGEST_DATE),
      isIn: ({ lower, timesOn }) =>
        times.some((one) => lower.includes(one.from) || isNamed(one, timesOn(readOn))),
    },
    parts,
  };
}

function isoDates(sentence: string): DayRange[] {
  return [...sentence.matchAll(/(?<!\d)\d{4}-\d\d-\d\d(?!\d)/g)].map(([day]) => ({ from: day, to: day }));
}

function datesIn(sentence: string, day: string): DayRange[] {
  const isDecided = isDecision(sentence);
  if (!isDecided && !/\d/.test(plainDigits(sentence))) return [];
  const inWords = isDecided ? [] : namedTimes(sentence.replaceAll(/\p{N}/gu, " "), day);
  return namedTimes(sentence, day).filter(
    ({ from, to }) =>
      from === to && from !== day && !inWords.some((one) => one.from === from && one.to === to),
  );
}

function nameFact(text: string): Fact {
  return { text, isIn: (summary) => namesPerson(summary.text, text) };
}

const GERMAN = /(?<!\p{L})(?:der|die|das|und|ist|nicht|eine?|wird|mit|für)(?!\p{L})/u;
const NO_NAME =
  /^(?:the .*|(?:mon|tues|wednes|thurs|fri|satur|sun)days?|(?:jan|febr)uary|march|april|may|june|july|august|(?:septem|octo|novem|decem)ber|okay|the|yes|lol|thanks|english|internet|christmas)$/i;

/** Share of the lines of a long stretch that speak of a name that is required. */
const COMMON_SHARE = 0.01;

/** Says which names are required: those of which several lines speak. */
class NameCounter {
  readonly #lines: readonly SourceLine[];
  readonly #people: ReadonlySet<string>;
  /** The words of their names. */
  readonly #parts: readonly string[];
  readonly #least: number;
  readonly #known = new Map<string, boolean>();
  /** The words of each line. */
  #spoken: readonly string[] | null = null;

  constructor(lines: readonly SourceLine[]) {
    this.#lines = lines;
    this.#people = peopleOf(lines);
    this.#parts = normalWords([...this.#people].join(" ")).split(" ");
    this.#least = Math.max(2, lines.length * COMMON_SHARE);
  }

  /** A speaker's name is in nearly each line, and tells little; a German noun is written like a name. */
  isRequired(name: string, sentence: string): boolean {
    if (NO_NAME.test(name) || GERMAN.test(sentence)) return false;
    const known = this.#known.get(name) ?? this.#isCommon(name);
    this.#known.set(name, known);
    return known;
  }

  #isCommon(name: string): boolean {
    // "Cal" is Calvin.
    if (this.#parts.some((part) => part.startsWith(name.toLowerCase())) || namesOneOf(name, this.#people))
      return false;
    this.#spoken ??= this.#lines.map(({ text }) => ` ${text.replaceAll(/[^\p{L}]+/gu, " ")} `);
    let lines = 0;
    for (const text of this.#spoken) {
      if (text.includes(` ${name.toLowerCase()} `)) return false;
      if (text.includes(` ${name} `)) lines++;
    }
    return lines >= this.#least;
  }
}

const QUESTION = /[?？]["'”’)\]]*$/u;
/** A question with fewer words is "right?", or small talk. */
const FEW_WORDS = 4;
const QUESTION_SHARE = 0.5;

/** A question after which nobody else has spoken. */
function openQuestion(lines: readonly SourceLine[]): Fact | null {
  const last = lines.at(-1);
  if (last === undefined || !last.isOfPerson) return null;
  const from = lines.findLastIndex(({ author }) => author !== last.author);
  const said = lines.slice(from + 1).flatMap(({ text }) => splitSentences(text));
  const asked = said.findLast((one) => QUESTION.test(one) && questionTerms(one).length >= FEW_WORDS);
  if (asked === undefined || holdsSecret(asked)) return null;
  const text = sliceWhole(asked.replaceAll(/\s+/g, " "), 0, LONGEST);
  const words = questionTerms(text);
  return {
    text,
    isIn: (summary) => sharedWords(words.join(" "), summary.text) >= words.length * QUESTION_SHARE,
  };
}
