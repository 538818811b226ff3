import { SliceCounter, type Slices } from "../async/cooperative.ts";
import { sentencesOf, terms } from "./terms.ts";
import { sliceWhole } from "./text.ts";

export interface SpokenLine {
  /** In its shown form; "": unknown. */
  readonly time: string;
  /** "": unknown. */
  readonly author: string;
  readonly text: string;
}

/** Content that a digest contains once, however often it is repeated: a term, a fact, a decision, a participant. */
interface Item {
  worth: number;
}

interface Candidate {
  readonly line: number;
  readonly order: number;
  /** The sentence, word for word. */
  readonly text: string;
  readonly items: readonly Item[];
}

/** Words of decisions and promises. */
const DECISION =
  /\b(?:decid|agreed|approv|reject|promis|deadline|going with|instead of|beschlossen|einig|frist)|決め|決定|決ま|約束|締め?切|ことにし|决定|同意/i;

/** Exponent of a sentence's length in its cost: 1 would prefer the shortest sentences. */
const LENGTH_COUNTS = 0.7;

/** A part of a long sentence, or a whole one. */
interface Piece {
  readonly text: string;
  readonly isWhole: boolean;
}

/** A piece before the search for facts in it. */
interface Weighed {
  readonly line: number;
  readonly text: string;
  readonly isShort: boolean;
  readonly terms: readonly Item[];
}

/** Least number of terms of a sentence without a fact: one with fewer is "ok" or "thanks". */
const MIN_TERMS = 2;

/** Worth of a fact or a decision, as a multiple of a mean term's. Measured: `npm run bench -- digest`. */
const FACT_WORTH = 5;
/** Worth of a participant, as a share of a fact's: quotes at least something of each author. */
const AUTHOR_WORTH = 0.2;

/** Factor for a term of the question. */
const FOCUS_WORTH = 8;

/** `[2026-11-21 14:05] NAME: text`, with the known parts. */
function formatLine({ time, author, text }: SpokenLine): string {
  return `${time === "" ? "" : `[${time}] `}${author === "" ? "" : `${author}: `}${text}`;
}

/** Each round accepts this share of the least worth, by length, that the round before accepted. */
const ROUND = 0.92;
const ROUNDS = 64;

/** Size of a slice, in characters to read or in sentences to choose from: a few milliseconds each. */
const SLICE_CHARACTERS = 4000;
const SLICE_SENTENCES = 500;

/**
 * Reads every line once for a digest without a model: the sentences, word for word, that together cover most of the
 * content, with authors and times, in their original order. A greedy cover: a sentence is worth its terms (the square
 * root of each one's frequency, times its inverse sentence frequency) and its links, identifiers, numbers, names and
 * decisions, each counted once, relative to its length.
 * @param focus the question: its terms are worth more than others
 * @returns the digest of these lines within a number of characters; "" only if nothing was said or nothing fits
 */
export function* rankSentences(
  lines: readonly SpokenLine[],
  focus = "",
): Slices<(maxCharacters: number) => Slices<string>> {
  const candidates = yield* weighSentences(lines, new Set(terms(focus)));
  yield;
  return function* (maxCharacters) {
    const choice = new Choice(lines, maxCharacters);
    const best = yield* cover(candidates, choice);
    const digest = choice.text();
    return digest === "" ? shortened(best, lines, maxCharacters) : digest;
  };
}

/** A sentence that an extract takes, word for word. */
export interface RankedSentence {
  /** The place of its line in the list. */
  readonly line: number;
  readonly text: string;
}

/** The sentences of an extract within a number of characters, the best first. */
export function* bestSentences(
  lines: readonly SpokenLine[],
  maxCharacters: number,
): Slices<readonly RankedSentence[]> {
  const choice = new Choice(lines, maxCharacters);
  yield* cover(yield* weighSentences(lines, new Set()), choice);
  return choice.byRank;
}

/** Whether a sentence tells of a decision or a promise. */
export function isDecision(sentence: string): boolean {
  return DECISION.test(sentence);
}

/**
 * Takes the sentences with the most new content for their length, in rounds.
 * @returns the best of all, whether it fitted or not
 */
function* cover(candidates: readonly Candidate[], choice: Choice): Slices<Candidate | undefined> {
  const slice = new SliceCounter(SLICE_SENTENCES);
  const worth = new Map<Candidate, number>();
  let [best] = candidates;
  let least = 0;
  for (const candidate of candidates) {
    const now = choice.worthOf(candidate);
    worth.set(candidate, now);
    if (now > least) best = candidate;
    least = Math.max(least, now);
    if (slice.isOver(1)) yield;
  }
  let left = candidates;
  for (let round = 0; round < ROUNDS && left.length > 0; round++) {
    least *= ROUND;
    const later: Candidate[] = [];
    for (const candidate of left) {
      // Worth only falls, so a sentence that was worth too little still is.
      const now = (worth.get(candidate) ?? 0) < least ? null : choice.worthOf(candidate);
      if (now !== null) worth.set(candidate, now);
      if (now !== null && now > 0 && now >= least) choice.take(candidate);
      else if (now !== 0) later.push(candidate);
      if (slice.isOver(1)) yield;
    }
    left = later;
  }
  return best;
}

/** The chosen sentences of some lines, within a number of characters. */
class Choice {
  readonly #lines: readonly SpokenLine[];
  readonly #chosen = new Map<number, Candidate[]>();
  /** The chosen sentences in the order in which they were taken. */
  readonly byRank: RankedSentence[] = [];
  readonly #covered = new Set<Item>();
  #room: number;

  constructor(lines: readonly SpokenLine[], room: number) {
    this.#lines = lines;
    this.#room = room;
  }

  /** Worth of its new content, relative to its room. */
  worthOf(candidate: Candidate): number {
    let worth = 0;
    for (const item of candidate.items) if (!this.#covered.has(item)) worth += item.worth;
    return worth / this.#costOf(candidate) ** LENGTH_COUNTS;
  }

  take(candidate: Candidate): void {
    const cost = this.#costOf(candidate);
    // The last line needs no line break.
    if (cost > this.#room + 1) return;
    this.#room -= cost;
    this.byRank.push({ line: candidate.line, text: candidate.text });
    const parts = this.#chosen.get(candidate.line);
    if (parts === undefined) this.#chosen.set(candidate.line, [candidate]);
    else parts.push(candidate);
    for (const item of candidate.items) this.#covered.add(item);
  }

  text(): string {
    return [...this.#chosen]
      .toSorted(([a], [b]) => a - b)
      .map(([index, parts]) => {
        const { time = "", author = "" } = this.#lines[index] ?? {};
        const inOrder = parts.toSorted((a, b) => a.order - b.order);
        return formatLine({ time, author, text: inOrder.map(({ text }) => text).join(" ") });
      })
      .join("\n");
  }

  /** A line's first sentence also pays for its author, its time and a line break. */
  #costOf({ line, text }: Candidate): number {
    if (this.#chosen.has(line)) return text.length + 1;
    const { time = "", author = "" } = this.#lines[line] ?? {};
    return text.length + 1 + formatLine({ time, author, text: "" }).length;
  }
}

/** The beginning of the best sentence, if no sentence fits or none is worth much. */
function shortened(best: Candidate | undefined, lines: readonly SpokenLine[], maxCharacters: number): string {
  const line = best === undefined ? undefined : lines[best.line];
  if (best === undefined || line === undefined) return "";
  const whole = formatLine({ ...line, text: best.text });
  if (whole.length <= maxCharacters) return whole;
  return maxCharacters < 2 ? "" : `${sliceWhole(whole, 0, maxCharacters - 1)}…`;
}

function* weighSentences(lines: readonly SpokenLine[], focus: ReadonlySet<string>): Slices<Candidate[]> {
  const slice = new SliceCounter(SLICE_CHARACTERS);
  const seen = new Set<string>();
  const said = new Map<string, { item: Item; times: number; sentences: number }>();
  const found: Weighed[] = [];
  for (const [line, { text: whole }] of lines.entries()) {
    for (const { text, isWhole } of piecesOfAll(sentencesOf(whole))) {
      if (slice.isOver(text.length)) yield;
      const words = terms(text);
      const unique = new Set(words);
      // A repetition adds nothing.
      const key = [...unique].join(" ") || text;
      if (seen.has(key)) continue;
      seen.add(key);
      for (const word of words) {
        const count = said.get(word);
        if (count === undefined) said.set(word, { item: { worth: 0 }, times: 1, sentences: 0 });
        else count.times++;
      }
      const items = [...unique].flatMap((word) => {
        const count = said.get(word);
        if (count !== undefined) count.sentences++;
        return count === undefined ? [] : [count.item];
      });
      found.push({ line, text, isShort: isWhole && items.length < MIN_TERMS, terms: items });
    }
  }
  let sum = 0;
  for (const { item, times, sentences } of said.values()) {
    item.worth = Math.sqrt(times) * Math.log(1 + found.length / sentences);
    sum += item.worth;
  }
  for (const word of focus) {
    const asked = said.get(word);
    if (asked !== undefined) asked.item.worth *= FOCUS_WORTH;
  }
  return yield* withFacts(found, lines, (FACT_WORTH * sum) / Math.max(1, said.size));
}

/** @param unit worth of a fact of worth 1, relative to terms */
function* withFacts(
  found: readonly Weighed[],
  lines: readonly SpokenLine[],
  unit: number,
): Slices<Candidate[]> {
  const slice = new SliceCounter(SLICE_CHARACTERS);
  const items = new Map<string, Item>();
  const itemOf = (key: string, worth: number): Item => {
    const known = items.get(key) ?? { worth: worth * unit };
    items.set(key, known);
    return known;
  };
  const candidates: Candidate[] = [];
  for (const [order, { line, text, isShort, terms: words }] of found.entries()) {
    if (slice.isOver(text.length)) yield;
    const all = new Set(words);
    for (const fact of factsOf(text)) all.add(itemOf(fact.text, fact.worth));
    if (DECISION.test(text)) all.add({ worth: unit });
    const hasFact = all.size > words.length;
    const author = lines[line]?.author ?? "";
    if (author !== "" && (lines[line]?.text.length ?? 0) >= LEAST_SAID) all.add(itemOf(author, AUTHOR_WORTH));
    candidates.push({ line, order, text, items: isShort && !hasFact ? [] : [...all] });
  }
  return candidates;
}

/** Longest piece of a sentence that is ranked and quoted, in UTF-16 units. */
const LONGEST = 400;

function* piecesOfAll(sentences: Iterable<string>): Generator<Piece, void, void> {
  for (const sentence of sentences) {
    const pieces = piecesOf(sentence);
    for (const text of pieces) yield { text, isWhole: pieces.length === 1 };
  }
}

/** A sentence in pieces of at most {@link LONGEST}, cut at spaces if possible; none is empty. */
function piecesOf(sentence: string): string[] {
  if (sentence.length <= LONGEST) return [sentence];
  const pieces: string[] = [];
  for (let from = 0; from < sentence.length;) {
    const piece = sliceWhole(sentence, from, from + LONGEST);
    const space = piece.lastIndexOf(" ");
    const isLast = from + piece.length >= sentence.length;
    const length = isLast || space <= 0 ? piece.length : space;
    pieces.push(piece.slice(0, length).trim());
    from += length;
  }
  return pieces.filter((piece) => piece !== "");
}

/** Least length of a line that represents its author, in UTF-16 units. */
const LEAST_SAID = 12;

/** Content that a digest keeps verbatim. */
interface Fact {
  readonly kind: "link" | "identifier" | "number" | "name";
  readonly text: string;
  readonly worth: number;
  /** Its place in its sentence, in UTF-16 units. */
  readonly from: number;
  readonly to: number;
}

const LINK = /https?:\/\/[^\s<>")]+/g;
/**
 * Code, issue numbers, keys of tickets, versions, inner capitals, underscores, paths, hashes. `\b(?<!\bX+?)` is the first `\b` in a run of X: starting at
 * later ones would read the whole run again each time (`aéaéaé…`), without finding more.
 */
const IDENTIFIER = new RegExp(
  [
    /`[^`\s]+`|#\d+/u,
    /(?<![\p{L}\p{N}_-])\p{Lu}[\p{Lu}\p{N}]{1,15}-\d{1,9}(?![\p{L}\p{N}_-])/u,
    /(?<![\p{L}\p{N}_.])v?\d{1,6}(?:\.\d{1,6}){2,4}(?:-[\w.]{1,30})?(?![\p{L}\p{N}_])/u,
    /(?<![\p{L}\p{N}_])(?=[a-f]{0,40}\d)(?=\d{0,40}[a-f])[\da-f]{7,64}(?![\p{L}\p{N}_])/u,
    /\b(?<!\b\p{Ll}+?)\p{Ll}+\p{Lu}[\p{L}\p{N}_]*/u,
    /\b(?<!\b[\p{L}\p{N}]+?)[\p{L}\p{N}]+(?:_[\p{L}\p{N}]+)+/u,
    /~?(?:\/[\w.-]+){2,}/u,
    /\b(?<!\b[\w.-]+?)[\w.-]+\/[\w./-]+/u,
  ]
    .map(({ source }) => source)
    .join("|"),
  "gu",
);
const NUMBER = /(?<![\p{L}\p{N}_.])\d+(?:[.,:-]\d+)*(?![\p{L}\p{N}_])/gu;
/** A capital inside a sentence; in German that is every noun, which costs little. */
const NAME = /(?<=[\p{Ll},] )\p{Lu}\p{Ll}{2,}/gu;

const PATTERNS: readonly (readonly [kind: Fact["kind"], pattern: RegExp, worth: number])[] = [
  ["link", LINK, 1.5],
  ["identifier", IDENTIFIER, 1.2],
  ["number", NUMBER, 1],
  ["name", NAME, 1],
];

/** The facts of a sentence in order; a part of a longer fact is not listed. */
export function factsOf(sentence: string): Fact[] {
  let found: Fact[] = [];
  for (const [kind, pattern, worth] of PATTERNS) {
    const added: Fact[] = [];
    let next = 0;
    for (const { 0: text, index: from } of sentence.matchAll(pattern)) {
      const to = from + text.length;
      // Both lists are sorted and free of overlaps, so one pass suffices.
      while ((found[next]?.to ?? Infinity) <= from) next++;
      if ((found[next]?.from ?? Infinity) >= to) added.push({ kind, text, worth, from, to });
    }
    found = [...found, ...added].toSorted((a, b) => a.from - b.from);
  }
  return found;
}
