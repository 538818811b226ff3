import { escapeLabels } from "./labels.ts";
import { capText } from "./cap.ts";
import { type Entry, isEditNotice } from "../core/entry.ts";
import { rankSentences, type SpokenLine } from "../text/rank-sentences.ts";
import { isCounted, isOfStandIn } from "../core/history.ts";
import type { AgentId, Seq } from "../core/ids.ts";
import { SliceCounter, type Slices } from "../async/cooperative.ts";
import { displayName, sliceWhole } from "../text/text.ts";
import type { TimeFormat } from "../text/time.ts";
import { estimateTokens, MESSAGE_OVERHEAD } from "../text/tokens.ts";

/** A summary's text made without a model. */
export interface Digest {
  readonly text: string;
  readonly tokens: number;
}

/** The text around the lines of a digest; its words are in the templates of `prompts/`. */
export interface DigestFrame {
  /** Messages, calls and results that are not deleted. */
  readonly count: number;
  /** The speakers, the most talkative first, at most twelve. */
  readonly people: readonly string[];
  /** The times of the first and the last entry, in the agent's time zone; "": none. */
  readonly fromTime: string;
  readonly toTime: string;
  /** "": nothing is worth a line. */
  readonly lines: string;
}

export interface DigestOptions {
  /** Longest digest, estimated tokens. */
  readonly maxTokens: number;
  readonly frame: (values: DigestFrame) => string;
  readonly agentName: string;
  /** Another agent that spoke in the same channel; default: its id. */
  readonly nameOf?: (agent: AgentId) => string;
  /** The question: related sentences come first. */
  readonly focus?: string;
}

/** Entries that become lines in one slice. */
const SLICE_ENTRIES = 500;
const MOST_PEOPLE = 12;

/**
 * The deterministic digest of a range: its important sentences, word for word, with authors and times. Deleted and
 * expired entries contribute nothing, and neither do the stand-in's quotes, passages and memories that a tool result quotes. Edited texts
 * contribute their newest form only.
 * @param entries by seq
 * @returns never more than `maxTokens`; the frame alone if nothing is worth a line
 */
export function* digestEntries(
  entries: readonly Entry[],
  time: TimeFormat,
  { maxTokens, frame, agentName, nameOf = (agent) => agent, focus }: DigestOptions,
): Slices<Digest> {
  const left = entries.filter(({ deleted, expired }) => !deleted && expired !== true);
  // The time of a deleted entry is no secret: a range of deleted entries still shows its time.
  const times = (left.length > 0 ? left : entries).map(({ at }) => at.getTime()).toSorted((a, b) => a - b);
  const [first] = times;
  const last = times.at(-1);
  const values = {
    count: left.filter(isCounted).length,
    people: peopleOf(left),
    fromTime: first === undefined ? "" : time.minute(new Date(first)),
    toTime: last === undefined ? "" : time.minute(new Date(last)),
  };
  const edited = newestEdits(left);
  const lines: SpokenLine[] = [];
  const authorOf = ({ agent }: { agent?: AgentId }): string =>
    agent === undefined ? agentName : nameOf(agent);
  const slice = new SliceCounter(SLICE_ENTRIES);
  for (const entry of left) {
    if (!edited.has(entry.seq) && !isOfStandIn(entry)) lines.push(...linesOf(entry, time, authorOf));
    if (slice.isOver(1)) yield;
  }
  return yield* shrink(lines, maxTokens, (text) => frame({ ...values, lines: text }), focus);
}

/**
 * The digest of summaries, for a merge: their most important sentences, with author and time if the summary names them.
 * @returns never more than `maxTokens`; "" only if all texts are
 */
export function* digestTexts(
  texts: readonly string[],
  { maxTokens }: Pick<DigestOptions, "maxTokens">,
): Slices<Digest> {
  const lines = texts.flatMap((text) => text.split("\n").map((line) => parseLine(line)));
  const digest = yield* shrink(lines, maxTokens, (text) => text);
  return digest.text === "" ? capped(texts.join("\n").trim(), maxTokens) : digest;
}

/** The most talkative people first; of equals, the first speaker. */
function peopleOf(entries: readonly Entry[]): string[] {
  const counts = new Map<string, number>();
  for (const entry of entries) {
    if (entry.kind !== "user") continue;
    const name = displayName(entry.author.name);
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const byCount = [...counts].toSorted(([, a], [, b]) => b - a);
  return byCount.slice(0, MOST_PEOPLE).map(([name]) => name);
}

/** The entries whose texts were replaced later in the range: messages, and earlier edits of the same message. */
function newestEdits(entries: readonly Entry[]): Set<Seq> {
  const replaced = new Set<Seq>();
  const newest = new Map<Seq, Seq>();
  for (const entry of entries) {
    if (!isEditNotice(entry)) continue;
    replaced.add(newest.get(entry.edits.seq) ?? entry.edits.seq);
    newest.set(entry.edits.seq, entry.seq);
  }
  return replaced;
}

function linesOf(
  entry: Entry,
  time: TimeFormat,
  authorOf: (entry: { agent?: AgentId }) => string,
): SpokenLine[] {
  const line = (author: string, text: string): SpokenLine => ({
    time: time.minute(entry.at),
    author: displayName(author),
    text,
  });
  switch (entry.kind) {
    case "user":
      return [line(entry.author.name, entry.text)];
    case "assistant":
      return [line(authorOf(entry), entry.text)];
    case "tool_call":
      // Another agent's calls are left out.
      return entry.agent === undefined ? [line(authorOf(entry), entry.text)] : [];
    case "tool_result":
      // Without its quotations, which are in the log or a memory: a later deletion could not reach a copy here.
      return entry.agent === undefined ? [line(entry.tool, entry.text)] : [];
    case "notice":
      return entry.edits === null ? [] : [line(entry.edits.author, entry.text)];
  }
}

/** `[2026-11-21 14:05] NAME: text`, a digest's line. */
const SPOKEN = /^\[(\d{4}-\d\d-\d\d \d\d:\d\d)\] (.{1,80}?): (.*)$/u;

/** Parses a line of a summary; a line in another form has neither author nor time. */
function parseLine(line: string): SpokenLine {
  const [, time, author, text] = SPOKEN.exec(line) ?? [];
  return time === undefined || author === undefined || text === undefined
    ? { time: "", author: "", text: line }
    : { time, author, text };
}

/** Most characters that are ranked, over all lines. More would take seconds, while a deletion makes its channel wait. */
const MOST_CHARACTERS = 400_000;

/** Cuts the middle out of long lines if all lines together are too long. */
function bounded(lines: readonly SpokenLine[]): readonly SpokenLine[] {
  const all = lines.reduce((sum, { text }) => sum + text.length, 0);
  const share = Math.floor(MOST_CHARACTERS / Math.max(1, lines.length));
  if (all <= MOST_CHARACTERS) return lines;
  return lines.map((line) => {
    const { text } = line;
    if (text.length <= share) return line;
    const tail = sliceWhole(text, text.length - Math.floor(share * 0.3), text.length);
    return { ...line, text: `${sliceWhole(text, 0, Math.floor(share * 0.7))}\n${tail}` };
  });
}

/** Takes fewer characters of the lines until the digest fits. */
function* shrink(
  all: readonly SpokenLine[],
  maxTokens: number,
  frame: (lines: string) => string,
  focus = "",
): Slices<Digest> {
  const lines = bounded(all);
  const room = maxTokens - estimateTokens(frame(""));
  const digestWithin = yield* rankSentences(lines, focus);
  yield;
  let length = startLength(lines, room);
  if (room <= 0) length = 0;
  while (length > 0) {
    const digest = escapeDigest(yield* digestWithin(length));
    if (digest === "") break;
    yield;
    const text = frame(digest);
    const tokens = estimateTokens(text);
    if (tokens <= maxTokens) return { text, tokens };
    // The frame does not shrink, so only the lines' excess counts.
    length = Math.floor(Math.min(length, digest.length) * Math.min(0.95, room / estimateTokens(digest)));
  }
  return capped(frame(""), maxTokens);
}

/** First guess of how many characters of these lines fit. */
function startLength(lines: readonly SpokenLine[], room: number): number {
  const all = lines.map(({ time, author, text }) => `[${time}] ${author}: ${text}`).join("\n");
  const tokens = estimateTokens(all);
  // An estimate by average density; dense text (links, numbers) is what a digest prefers.
  return tokens <= room ? all.length : Math.floor((all.length * room) / tokens);
}

/** Escapes Weir's labels in a digest, except for the heads of its own lines. Last, since two joined sentences may form a label. */
function escapeDigest(digest: string): string {
  const escaped = digest.split("\n").map((line) => {
    const head = /^\[\d{4}-\d\d-\d\d \d\d:\d\d\] /.exec(line)?.[0] ?? "";
    return head + escapeLabels(line.slice(head.length));
  });
  return escaped.join("\n");
}

function capped(text: string, maxTokens: number): Digest {
  const tokens = estimateTokens(text);
  if (tokens <= maxTokens) return { text, tokens };
  const cut = capText(text, maxTokens + MESSAGE_OVERHEAD);
  return { text: cut, tokens: estimateTokens(cut) };
}
