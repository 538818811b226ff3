import type { Entry } from "../../core/entry.ts";
import type { Seq } from "../../core/ids.ts";
import { SliceCounter, type Slices } from "../../async/cooperative.ts";
import { sliceWhole } from "../../text/text.ts";
import { estimateTokens, HEAVIEST_UNIT, sumTokens } from "../../text/tokens.ts";
import type { TranscriptLine } from "./transcript.ts";

/** A line of a transcript, or a piece of a long line. The cut of a line depends on its text alone. */
interface Piece {
  readonly line: TranscriptLine;
  /** From 0. */
  readonly piece: number;
  readonly body: string;
  /** With the head and a line break. */
  readonly tokens: number;
  /** Tokens by which the whole head is longer. */
  readonly headSpare: number;
}

/** Consecutive lines of a transcript that fit one request. */
export interface Chunk {
  readonly text: string;
  readonly tokens: number;
  readonly lines: readonly TranscriptLine[];
  /** Its last piece. */
  readonly end: Position;
}

/** A place in a transcript: after this piece. */
interface Position {
  readonly seq: Seq;
  readonly piece: number;
}

/** The smallest chunk size, in tokens: no piece is larger. */
export const MIN_CHUNK_TOKENS = 250;
const MIN_BODY_TOKENS = 60;
/** Marks the continuation of a long text. */
const GOES_ON = "… ";

export function wholeTranscript(lines: readonly TranscriptLine[]): string {
  return lines.map(({ head, wholeHead, body }, index) => (index === 0 ? wholeHead : head) + body).join("\n");
}

/**
 * Cuts a transcript into chunks of at most `maxTokens` each; nothing is dropped. A chunk ends where a summary may end.
 * A group that is too large for a chunk is cut between entries; an entry that is too large, between lines or words.
 * @param maxTokens at least MIN_CHUNK_TOKENS
 * @param from the chunks begin after this place
 * @returns null: the transcript does not have `from`
 */
export function* chunkTranscript(
  lines: readonly TranscriptLine[],
  maxTokens: number,
  from: Position | null = null,
): Slices<Chunk[] | null> {
  const pieces = yield* piecesOfAll(lines);
  const behind = from === null ? -1 : placeOf(pieces, from);
  if (from !== null && behind < 0) return null;
  const chunks: Piece[][] = [];
  let open: Piece[] = [];
  let room = maxTokens;
  const add = (group: readonly Piece[]): void => {
    const tokens = sumTokens(group);
    if (tokens > room && open.length > 0) {
      chunks.push(open);
      open = [];
      room = maxTokens;
    }
    // The first line of a chunk has its whole head.
    if (open.length === 0) room -= headSpare(group);
    open.push(...group);
    room -= tokens;
  };
  const ends = legalEnds(lines);
  const together = (before: Entry, next: Entry): boolean => sameEntry(before, next) || !ends.has(before.seq);
  for (const group of groupsOf(pieces.slice(behind + 1), together)) {
    if (sumTokens(group) + headSpare(group) <= maxTokens) add(group);
    else
      for (const entry of groupsOf(group, sameEntry)) {
        if (sumTokens(entry) + headSpare(entry) <= maxTokens) add(entry);
        else for (const piece of entry) add([piece]);
      }
  }
  const found: Chunk[] = [];
  for (const chunk of [...chunks, open].filter(({ length }) => length > 0)) {
    found.push(toChunk(chunk));
    yield;
  }
  return found;
}

/** An entry that was edited meanwhile may have fewer pieces: the place is then after its last piece. */
function placeOf(pieces: readonly Piece[], { seq, piece: last }: Position): number {
  return pieces.findLastIndex(({ line, piece }) => line.entry.seq === seq && piece <= last);
}

function headSpare([first]: readonly Piece[]): number {
  return first?.headSpare ?? 0;
}

function groupsOf(pieces: readonly Piece[], belongs: (before: Entry, next: Entry) => boolean): Piece[][] {
  const groups: Piece[][] = [];
  let before: Piece | null = null;
  for (const piece of pieces) {
    const group = groups.at(-1);
    if (group !== undefined && before !== null && belongs(before.line.entry, piece.line.entry))
      group.push(piece);
    else groups.push([piece]);
    before = piece;
  }
  return groups;
}

function sameEntry(before: Entry, next: Entry): boolean {
  return before.seq === next.seq;
}

/**
 * The seqs at which a summary may end: all later lines have higher seqs (in the view, messages that arrived during a
 * turn follow its answer), and no call is separated from its results.
 */
export function legalEnds(lines: readonly TranscriptLine[]): ReadonlySet<Seq> {
  const ends = new Set<Seq>();
  let lowestBehind = Infinity;
  const lowest = lines
    .toReversed()
    .map(({ entry }) => (lowestBehind = Math.min(lowestBehind, entry.seq)))
    .toReversed();
  let highest = 0;
  for (const [index, { entry }] of lines.entries()) {
    highest = Math.max(highest, entry.seq);
    const next = lines[index + 1]?.entry;
    if (highest < (lowest[index + 1] ?? Infinity) && next?.kind !== "tool_result") ends.add(entry.seq);
  }
  return ends;
}

function toChunk(pieces: readonly Piece[]): Chunk {
  const texts = groupsOf(pieces, sameEntry).map((group, index) => {
    const first = group[0];
    if (first === undefined) return "";
    const body = group.map((piece) => piece.body).join("");
    const { head, wholeHead } = first.line;
    return (index === 0 ? wholeHead : head) + (first.piece > 0 ? GOES_ON + body.trim() : body.trimEnd());
  });
  const last = pieces.at(-1);
  return {
    text: texts.join("\n"),
    tokens: sumTokens(pieces) + headSpare(pieces),
    lines: [...new Set(pieces.map(({ line }) => line))],
    end: { seq: last?.line.entry.seq ?? 0, piece: last?.piece ?? 0 },
  };
}

/** Characters that are cut in one slice: a few milliseconds. */
const SLICE_CHARACTERS = 10_000;

function* piecesOfAll(lines: readonly TranscriptLine[]): Slices<Piece[]> {
  const pieces: Piece[] = [];
  const slice = new SliceCounter(SLICE_CHARACTERS);
  for (const line of lines) {
    for (const piece of piecesOf(line)) {
      pieces.push(piece);
      if (slice.isOver(piece.body.length)) yield;
    }
  }
  return pieces;
}

function* piecesOf(line: TranscriptLine): Generator<Piece, void, void> {
  const head = estimateTokens(`${line.head}${GOES_ON}\n`);
  // How a line is cut does not depend on the line before it.
  const wholeHead = estimateTokens(`${line.wholeHead}${GOES_ON}\n`);
  const spare = { line, headSpare: Math.max(0, wholeHead - head) };
  const body = estimateTokens(line.body, MIN_CHUNK_TOKENS);
  if (wholeHead + body <= MIN_CHUNK_TOKENS) {
    yield { ...spare, piece: 0, body: line.body, tokens: head + body };
    return;
  }
  let piece = 0;
  for (const { text, tokens } of splitText(
    line.body,
    Math.max(MIN_BODY_TOKENS, MIN_CHUNK_TOKENS - wholeHead),
  ))
    yield { ...spare, piece: piece++, body: text, tokens: head + tokens };
}

interface Counted {
  readonly text: string;
  readonly tokens: number;
}

/** Cuts a text into pieces of at most `maxTokens`, between lines, else between words; joined, they are the text again. */
function* splitText(text: string, maxTokens: number): Generator<Counted, void, void> {
  let open: Counted = { text: "", tokens: 0 };
  for (const part of partsOf(text, maxTokens)) {
    if (open.text !== "" && open.tokens + part.tokens > maxTokens) {
      yield open;
      open = { text: "", tokens: 0 };
    }
    open = { text: open.text + part.text, tokens: open.tokens + part.tokens };
  }
  yield open;
}

/** A text's lines; an overlong line's words, and an overlong word's slices. */
function* partsOf(text: string, maxTokens: number): Generator<Counted> {
  for (const line of cutBehind(text, /\n/g)) {
    const tokens = estimateTokens(line, maxTokens);
    if (tokens <= maxTokens) {
      yield { text: line, tokens };
      continue;
    }
    for (const word of cutBehind(line, /\S(?=\s)/g)) yield* slicesOf(word, maxTokens);
  }
}

/**
 * Cuts a text after certain characters; joined, the pieces are the text again. The expression finds one character at a
 * time: matching whole lines overflows the stack at some megabytes, in a process with many expressions (V8 then no
 * longer optimises new ones).
 */
function* cutBehind(text: string, character: RegExp): Generator<string> {
  let from = 0;
  for (const { index } of text.matchAll(character)) {
    yield text.slice(from, index + 1);
    from = index + 1;
  }
  if (from < text.length) yield text.slice(from);
}

function* slicesOf(word: string, maxTokens: number): Generator<Counted> {
  const tokens = estimateTokens(word, maxTokens);
  if (tokens <= maxTokens) {
    yield { text: word, tokens };
    return;
  }
  const length = Math.floor(maxTokens / HEAVIEST_UNIT);
  for (let rest = word; rest !== "";) {
    const cut = sliceWhole(rest, 0, length);
    // A backslash stays with the character that it escapes.
    const slice = cut.length < rest.length && cut.endsWith("\\") ? cut.slice(0, -1) || cut : cut;
    yield { text: slice, tokens: estimateTokens(slice) };
    rest = rest.slice(slice.length);
  }
}
