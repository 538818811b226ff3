import { excerptOf, type Fact, factsOf } from "./facts.ts";
import { SliceCounter, type Slices } from "./slices.ts";
import { sentencesOf, terms } from "./terms.ts";
import { sliceWhole } from "./text.ts";

/** Something that somebody said. */
export interface SpokenLine {
  /** As it is to be shown; "" where it is not known. */
  readonly time: string;
  /** "" where it is not known. */
  readonly author: string;
  readonly text: string;
}

interface Candidate {
  readonly line: number;
  readonly order: number;
  /** The sentence, word for word. */
  readonly text: string;
  readonly score: number;
  readonly facts: readonly Fact[];
  /** Of a long sentence the part round its facts; else the sentence. */
  readonly excerpt: string;
}

/** What a summary must not lose, and how much a sentence that has it is worth. */
const SIGNALS: readonly (readonly [pattern: RegExp, worth: number])[] = [
  [/https?:\/\/\S+/, 3],
  // Code, paths, flags, issue numbers, names with inner capitals or underscores, hashes.
  [/`[^`]+`|[\w.-]\/[\w.-]|(?:^|\s)--?[a-z][\w-]+|#\d+|[a-z]\p{Lu}|\w_\w|\b[0-9a-f]{7,40}\b/u, 2],
  [/\d/, 1.5],
  [/[?？]/, 1.5],
  [
    /\b(?:decid|agree|approv|reject|promis|must|deadline|todo|let'?s|we(?:'ll| will)|i(?:'ll| will)|going with|instead of|because|prefer|beschlossen|einig|müssen|frist|weil)|決め|決定|決ま|約束|予定|締め?切|ことにし|必要|好き|决定|同意|必须/i,
    2.5,
  ],
];

/** A sentence with fewer terms than this says "ok" or "thanks": its score falls below nothing. */
const MIN_TERMS = 2;
const SMALL_TALK = -2;

/** `[2026-11-21 14:05] NAME: text`, as far as the parts are known. */
function formatLine({ time, author, text }: SpokenLine): string {
  return `${time === "" ? "" : `[${time}] `}${author === "" ? "" : `${author}: `}${text}`;
}

/** Share of a digest's room that goes to facts that nothing else in it has; the rest goes to what weighs most. */
const FACTS_SHARE = 0.85;
/** Each round of the choice of facts takes what is worth at least so much of the round before, for its length. */
const ROUND = 0.8;
const ROUNDS = 24;

/** A slice, in characters to be read or in sentences to choose from: a few milliseconds each. */
const SLICE_CHARACTERS = 4000;
const SLICE_SENTENCES = 500;

/**
 * Looks at every line once, for a digest without a model: the sentences that carry links, identifiers, numbers, questions
 * and decisions, word for word, with who said them and when, in the order in which they were said; of long ones the part
 * that matters.
 * @param factsShare share of it that goes to facts that nothing else in it has; 0: whole sentences by what they weigh
 * @returns the digest of these lines, never longer than so many characters; "" only where nothing was said or nothing fits
 */
export function* rankSentences(
  lines: readonly SpokenLine[],
  factsShare = FACTS_SHARE,
): Slices<(maxCharacters: number) => Slices<string>> {
  const candidates = yield* scoreSentences(lines);
  yield;
  const byWorth = candidates.toSorted((a, b) => b.score - a.score || a.order - b.order);
  yield;
  return function* (maxCharacters) {
    const choice = new Choice(lines, maxCharacters);
    if (factsShare > 0) yield* chooseFacts(candidates, choice, maxCharacters * (1 - factsShare));
    const slice = new SliceCounter(SLICE_SENTENCES);
    for (const candidate of byWorth) {
      if (candidate.score < 0) break;
      choice.take(candidate, candidate.text, 0);
      if (slice.isOver(1)) yield;
    }
    const digest = choice.text();
    return digest === "" ? shortened(byWorth[0], lines, maxCharacters) : digest;
  };
}

/** First what brings the most facts for its length that are not there yet. */
function* chooseFacts(candidates: readonly Candidate[], choice: Choice, keep: number): Slices<void> {
  const slice = new SliceCounter(SLICE_SENTENCES);
  const worth = new Map<Candidate, number>();
  let least = 0;
  for (const candidate of candidates) {
    if (candidate.facts.length === 0) continue;
    const now = choice.worthOf(candidate);
    worth.set(candidate, now);
    least = Math.max(least, now);
    if (slice.isOver(1)) yield;
  }
  let left: readonly Candidate[] = [...worth.keys()];
  for (let round = 0; round < ROUNDS && left.length > 0; round++) {
    least *= ROUND;
    const later: Candidate[] = [];
    for (const candidate of left) {
      // It only ever falls: what was too little before is too little now.
      const now = (worth.get(candidate) ?? 0) < least ? null : choice.worthOf(candidate);
      if (now !== null) worth.set(candidate, now);
      if (now !== null && now >= least) choice.take(candidate, candidate.excerpt, keep);
      else if (now !== 0) later.push(candidate);
      if (slice.isOver(1)) yield;
    }
    left = later;
  }
}

/** What is chosen of some lines, within a number of characters. */
class Choice {
  readonly #lines: readonly SpokenLine[];
  readonly #chosen = new Map<number, Map<Candidate, string>>();
  readonly #facts = new Set<string>();
  #room: number;

  constructor(lines: readonly SpokenLine[], room: number) {
    this.#lines = lines;
    this.#room = room;
  }

  /** New facts for each character that they would take. */
  worthOf(candidate: Candidate): number {
    let worth = 0;
    for (const fact of candidate.facts) if (!this.#facts.has(fact.text)) worth += fact.worth;
    return worth / this.#costOf(candidate, candidate.excerpt);
  }

  /** Takes a sentence or a part of it, unless less than `keep` characters would be left. */
  take(candidate: Candidate, text: string, keep: number): void {
    const parts = this.#chosen.get(candidate.line) ?? new Map<Candidate, string>();
    const cost = this.#costOf(candidate, text);
    if (cost > this.#room + 1 - keep) return;
    this.#room -= cost;
    this.#chosen.set(candidate.line, parts.set(candidate, text));
    for (const fact of candidate.facts) this.#facts.add(fact.text);
  }

  text(): string {
    return [...this.#chosen.entries()]
      .toSorted(([a], [b]) => a - b)
      .map(([index, parts]) => digestLine(this.#lines[index], parts))
      .join("\n");
  }

  /** A line's first sentence pays for its author and time, too, and for a line break. */
  #costOf(candidate: Candidate, text: string): number {
    const others = this.#chosen.get(candidate.line);
    if (others === undefined) {
      const { time = "", author = "" } = this.#lines[candidate.line] ?? {};
      return text.length + 1 + formatLine({ time, author, text: "" }).length;
    }
    const known = others.get(candidate);
    return known === undefined ? text.length + 1 : text.length - known.length;
  }
}

function digestLine(line: SpokenLine | undefined, parts: ReadonlyMap<Candidate, string>): string {
  const text = [...parts]
    .toSorted(([a], [b]) => a.order - b.order)
    .map(([, part]) => part)
    .join(" ");
  return formatLine({ time: line?.time ?? "", author: line?.author ?? "", text });
}

/** Where not one sentence fits, or none is worth much: the beginning of the best one. */
function shortened(best: Candidate | undefined, lines: readonly SpokenLine[], maxCharacters: number): string {
  const line = best === undefined ? undefined : lines[best.line];
  if (best === undefined || line === undefined) return "";
  const whole = formatLine({ ...line, text: best.text });
  if (whole.length <= maxCharacters) return whole;
  return maxCharacters < 2 ? "" : `${sliceWhole(whole, 0, maxCharacters - 1)}…`;
}

function* scoreSentences(lines: readonly SpokenLine[]): Slices<Candidate[]> {
  const slice = new SliceCounter(SLICE_CHARACTERS);
  const seen = new Set<string>();
  const frequency = new Map<string, number>();
  const found: { line: number; text: string; terms: string[] }[] = [];
  for (const [line, { text }] of lines.entries()) {
    for (const sentence of piecesOfAll(sentencesOf(text))) {
      if (slice.isOver(sentence.length)) yield;
      const words = [...new Set(terms(sentence))];
      // What is said again adds nothing, however often.
      const key = words.join(" ") || sentence;
      if (seen.has(key)) continue;
      seen.add(key);
      for (const word of words) frequency.set(word, (frequency.get(word) ?? 0) + 1);
      found.push({ line, text: sentence, terms: words });
    }
  }
  const candidates: Candidate[] = [];
  for (const [order, { line, text, terms: words }] of found.entries()) {
    if (slice.isOver(text.length)) yield;
    const signals = SIGNALS.reduce((sum, [pattern, worth]) => sum + (pattern.test(text) ? worth : 0), 0);
    const rarity =
      words.reduce((sum, word) => sum + 1 / (frequency.get(word) ?? 1), 0) / Math.max(1, words.length);
    const size = words.length < MIN_TERMS ? SMALL_TALK : Math.log2(1 + words.length) / 4;
    // Later lines are worth a little more: what was said last is what still holds.
    const score = signals + rarity + size + order / Math.max(1, found.length) / 2;
    const facts = factsOf(text);
    candidates.push({
      line,
      order,
      text,
      score,
      facts: withAuthor(facts, lines[line]),
      excerpt: excerptOf(text, facts),
    });
  }
  return candidates;
}

/** A sentence that is longer is weighed and quoted in parts, in UTF-16 units. */
const LONGEST = 2000;

function* piecesOfAll(sentences: Iterable<string>): Generator<string, void, void> {
  for (const sentence of sentences) yield* piecesOf(sentence);
}

/** A sentence in parts of at most {@link LONGEST}, between words where there is a space; none is empty. */
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

/** Who took part is a fact as well: with each author something of theirs is quoted. */
function withAuthor(facts: readonly Fact[], line: SpokenLine | undefined): readonly Fact[] {
  if (line === undefined || line.author === "" || line.text.length < LEAST_SAID) return facts;
  return [...facts, { text: line.author, worth: 1, from: 0, to: 0 }];
}

/** A line that is shorter says nothing of its author, in characters. */
const LEAST_SAID = 12;
