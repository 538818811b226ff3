import type { ModelMessage } from "../../core/context.ts";
import { HeadReader } from "../../text/line-head.ts";
import type { SpokenLine } from "../../text/rank-sentences.ts";

/** The beginning of Weir's own lines; no line that people typed begins like this. */
const OWN_WORD = "[System:";
const SUMMARY_WORD = "[Compaction Summary]:";
/** The beginning of the dynamic part, which fills the rest of its message. */
const NOW = "[System: what is true just now";
/** The head of a person's line. */
const HEAD = /^\[(?:(?:\d{4}-\d\d-\d\d )?\d\d:\d\d|\+?)\] /;
/** A line of a transcript; consecutive ones are one text. */
const NUMBERED_HEAD = /^\d{1,7}\. \[(?:(?:\d{4}-\d\d-\d\d )?\d\d:\d\d|\+?)\] /;

/**
 * A request split into its original pieces: in a user's message, each person's line, summary, note and task stands
 * alone. No line that people typed begins like these. A picture stays with the line before it.
 */
export function piecesOf(messages: readonly ModelMessage[]): ModelMessage[] {
  return messages.flatMap((message) => (message.role === "user" ? ownPieces(message) : message));
}

function ownPieces(message: ModelMessage & { role: "user" }): ModelMessage[] {
  const { text, images = [] } = message;
  let from = 0;
  return textPieces(text).map((piece): ModelMessage => {
    const end = from + piece.length;
    const own = images.filter(({ at = text.length }) => at >= from && at <= end);
    from = end + 1;
    const { images: _images, ...rest } = message;
    return { ...rest, text: piece, ...(own.length > 0 && { images: own }) };
  });
}

/** The pieces of a user's message. */
export function textPieces(text: string): string[] {
  const pieces: string[][] = [];
  for (const line of text.split("\n")) {
    const open = pieces.at(-1);
    if (open === undefined || begins(line, open[0] ?? "")) pieces.push([line]);
    else open.push(line);
  }
  return pieces.map((lines) => lines.join("\n"));
}

/** @param open the first line of the piece that continues unless this line begins another */
function begins(line: string, open: string): boolean {
  if (open.startsWith(NOW)) return false;
  if (NUMBERED_HEAD.test(line)) return !NUMBERED_HEAD.test(open);
  return line.startsWith(OWN_WORD) || line.startsWith(SUMMARY_WORD) || HEAD.test(line);
}

/**
 * `[2026-11-21 14:05] NAME: text`, as the context renders messages; lists and quotations put a mark before
 * it.
 */
const LINE =
  /^\s*(?:[-*•>]\s+)?\[(?<time>\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)\] (?<author>[^\n:]{1,80}): (?<text>.*)$/;
/** What such a line says where Weir itself says it after the colon: what is due, and its text. */
const DUE_WORK = /^(?<title>[^\]\n]*)\] (?<text>.*)$/;
/** The author of such lines; people's names never look like this. */
export const DUE_WORK_AUTHOR = "[Weir]";
/** The number before such a line, once its head is complete. */
const NUMBERED = /^(?<number>\d{1,7})\. (?=\[)/;
/** Before the first colon of `NAME called tool({"a": 1})` and of `tool returned: text`. */
const TOOL_WORD = / called \S+\(| returned$/;
const TOOL_LINE = /^\[[^\]]*\] (?:.{1,80} called \S+\(|.{1,80} returned: )/s;
/** A summary's head, with times and count. */
const SUMMARY = /^\[Compaction Summary\]:(?:\s\(\d[^()\n]*, [\d,]+ messages?(?: from #\d+)?\)(?=\s))?\s*/;
/** The escape before a line's head in a summary: a model's text must not pass for people's words. */
const ESCAPED_HEAD = /(?<!\\)\\+(?=\[\d{4}-\d\d-\d\d(?: \d\d:\d\d)?\] [^\n:]{1,80}: )/;
const EXTRACT_HEAD = /^An extract, word for word, of \d/;
/** After the agent's name in a summariser's transcript. */
const AGENT_MARK = / \[agent\]$/;
/** The offline model's sentences about itself, which do not belong in a summary. */
export const OWN_SENTENCES = {
  quoting: "I am not a language model, so I quote what was said before:",
  noted: "This is noted: ask for it in a question with some of its words, and I quote it.",
  invitation: "Tell me something, and ask for it later.",
  nothing: "I found nothing about that in what I can see.",
  onlyQuotes: "I am not a language model: I can only quote.",
  setup: "Set OPENAI_API_KEY, or llm.base_url for a server of your own, to have one.",
} as const;

/** A line of a summariser's transcript. */
export interface NumberedLine extends SpokenLine {
  readonly number: number;
}

/** The offline model's view of a request. */
export interface Transcript {
  /** The messages to answer, oldest first. */
  readonly questions: readonly SpokenLine[];
  /** Texts to quote: earlier and recalled lines, summaries, tool results. Oldest first. */
  readonly sources: readonly SpokenLine[];
  /** This turn has called a tool. */
  readonly hasSearched: boolean;
}

/**
 * Reads a request. Its order is system, summaries, history, the messages to answer, the dynamic part, this turn's calls
 * and results. The dynamic part has the number of messages to answer.
 */
export function readTranscript(request: readonly ModelMessage[]): Transcript {
  const messages = withDatedHeads(request);
  const lastSaid = messages.findLastIndex(({ role, text }) => role === "user" && !text.startsWith(OWN_WORD));
  const firstDue = Math.max(0, lastSaid - dueCount(messages) + 1);
  const due = messages.slice(firstDue, lastSaid + 1);
  const others = [...messages.slice(0, firstDue), ...messages.slice(lastSaid + 1)];
  const questions = due.flatMap((message) => linesOrText(message.text));
  return {
    questions,
    sources: saidByOthers(
      others.flatMap((message) => sourceLines(message)),
      messages,
    ),
    hasSearched: messages.slice(lastSaid + 1).some((message) => message.role === "tool"),
  };
}

/**
 * All lines of people in a request for a summary: a transcript, with or without numbers, or summaries to merge. Without
 * the agent's lines, which quote others, and without tool results, which are in the log elsewhere.
 */
export function spokenLines(request: readonly ModelMessage[]): SpokenLine[] {
  const messages = withDatedHeads(request);
  const lines = messages.flatMap(({ role, text }) => {
    if (role !== "user" || text.startsWith(OWN_WORD)) return [];
    if (SUMMARY.test(text)) return summaryLines(text.replace(SUMMARY, ""));
    const numbered = parseNumbered(text);
    if (numbered.length === 0) return linesOrText(text);
    return numbered.filter((line) => line.author !== "" || !TOOL_LINE.test(line.text));
  });
  return saidByOthers(lines, messages);
}

/** Drops the agent's own lines, and removes {@link OWN_SENTENCES} that others repeat. */
function saidByOthers(lines: readonly SpokenLine[], messages: readonly ModelMessage[]): SpokenLine[] {
  const names = agentNames(messages);
  return lines.flatMap((line) => {
    if (names.has(line.author)) return [];
    const text = Object.values(OWN_SENTENCES).reduce((left, own) => left.replaceAll(own, ""), line.text);
    return text === line.text ? [line] : text.trim() === "" ? [] : [{ ...line, text: text.trim() }];
  });
}

/** The agent's own names in a transcript, if its prompts state them. */
export function agentNames(messages: readonly ModelMessage[]): ReadonlySet<string> {
  const prompts = messages.filter(({ role }) => role === "system").map(({ text }) => text);
  const named = prompts.flatMap((text) => [...text.matchAll(AGENT_NAME)]);
  return new Set(["you", ...named.map(([, one, other]) => one ?? other ?? "")]);
}

const AGENT_NAME =
  /\bYou are ([^.,\n]{1,80})[.,]|\bsummary of a chat\. ([^\n]{1,80}?) takes part in that chat\b/g;

/** The pieces of a request with complete heads: the original heads leave out what the line before has. */
function withDatedHeads(request: readonly ModelMessage[]): ModelMessage[] {
  const heads = new HeadReader();
  return piecesOf(request).map((message) => {
    const { role, text } = message;
    if (role !== "user" || text.startsWith(OWN_WORD) || SUMMARY.test(text)) return message;
    return { ...message, text: heads.dated(text) };
  });
}

/** The numbered lines of a summariser's transcript; memories cite the numbers. */
export function numberedLines(messages: readonly ModelMessage[]): NumberedLine[] {
  return withDatedHeads(messages).flatMap(({ role, text }) => {
    const isTranscript = role === "user" && !SUMMARY.test(text) && !text.startsWith(OWN_WORD);
    return isTranscript ? parseNumbered(text) : [];
  });
}

/** A line without a number belongs to the line before it: a person may have typed it to look like a head. */
function parseNumbered(text: string): NumberedLine[] {
  return joinLines(text, (raw) => {
    const number = NUMBERED.exec(raw)?.groups?.["number"];
    if (number === undefined) return null;
    const said = raw.replace(NUMBERED, "");
    const line = parseLine(said);
    // A tool line has a number, too, but no author.
    const isSaid = line !== null && !TOOL_WORD.test(line.author);
    const author = line?.author.replace(AGENT_MARK, "") ?? "";
    return {
      ...(isSaid ? { ...line, author } : { time: "", author: "", text: said }),
      number: Number(number),
    };
  });
}

/** The number of waiting messages, by the dynamic part; without one, only the last message is sure to need an answer. */
function dueCount(messages: readonly ModelMessage[]): number {
  const dynamic = messages.findLast(({ role, text }) => role === "user" && text.startsWith(OWN_WORD))?.text;
  return Number(DUE.exec(dynamic ?? "")?.[1] ?? 1);
}

const DUE = /^Answer the newest (\d+) messages, together, above\.$/m;

function sourceLines(message: ModelMessage): SpokenLine[] {
  switch (message.role) {
    case "user":
      return SUMMARY.test(message.text)
        ? summaryLines(message.text.replace(SUMMARY, ""))
        : message.text.startsWith(OWN_WORD)
          ? quotedLines(message.text)
          : parseLines(message.text);
    case "tool":
      return parseLines(withDatedLines(withoutNumbers(message.text)));
    // The instructions are nobody's words, and the assistant only quoted.
    case "system":
    case "assistant":
      return [];
  }
}

/**
 * The quoted lines of each section of Weir's own text. Its other lines are nobody's words. The name over a page of a person
 * is left out: it would be read as the end of the statement before it.
 */
function quotedLines(text: string): SpokenLine[] {
  return text.split("\n\n").flatMap((section) => {
    const isPages = PAGES.test(section);
    const quoted = section
      .split("\n")
      .filter((line) => line.startsWith(">") && !(isPages && NAME_OVER_PAGE.test(line)));
    return parseLines(withDatedLines(quoted.join("\n")));
  });
}

/** The heading over the pages of people. */
const PAGES = /^Remembered of people /m;
/** A statement begins with a bracket, and no name has one. */
const NAME_OVER_PAGE = /^> [^[].*:$/;

function withoutNumbers(text: string): string {
  return text
    .split("\n")
    .map((line) => line.replace(NUMBERED, ""))
    .join("\n");
}

/** Completes the heads of recalled or found lines in one text, which leave out what the line before has. */
function withDatedLines(text: string): string {
  const heads = new HeadReader();
  return text
    .split("\n")
    .map((line) => heads.dated(line.replace(/^> /, "")))
    .join("\n");
}

/** Each line of a summary is separate; a line without a head has no known author. */
function summaryLines(text: string): SpokenLine[] {
  return text
    .split("\n")
    .map((raw) => raw.trim())
    .map((line) => (ESCAPED_HEAD.exec(line)?.index === 0 ? line.replace(ESCAPED_HEAD, "") : line))
    .filter((line) => line !== "" && !EXTRACT_HEAD.test(line))
    .map((line) => parseLine(line) ?? { time: "", author: "", text: line });
}

function linesOrText(text: string): SpokenLine[] {
  const lines = parseLines(text);
  return lines.length > 0 || text.trim() === "" ? lines : [{ time: "", author: "", text }];
}

/** Drops text before the first line in the known form; later text without the form belongs to the line before it. */
function parseLines(text: string): SpokenLine[] {
  return joinLines(text, parseLine);
}

function parseLine(raw: string): SpokenLine | null {
  const groups = LINE.exec(raw)?.groups;
  if (groups === undefined) return null;
  const { time = "", author = "", text = "" } = groups;
  const due = author === "[Weir" ? DUE_WORK.exec(text)?.groups : undefined;
  return due === undefined
    ? { time, author, text }
    : { time, author: DUE_WORK_AUTHOR, text: `${due["title"]}: ${due["text"]}` };
}

/** @param parse null: the line continues the line before it */
function joinLines<Line extends SpokenLine>(text: string, parse: (raw: string) => Line | null): Line[] {
  const lines: Line[] = [];
  let isOpen = false;
  for (const raw of text.split("\n")) {
    const line = parse(raw);
    const last = lines.at(-1);
    if (line !== null) lines.push(line);
    else if (isOpen && last !== undefined && !raw.startsWith(OWN_WORD)) {
      lines[lines.length - 1] = { ...last, text: `${last.text}\n${raw.replace(/^\s*> ?/, "")}` };
    }
    isOpen = line !== null || (isOpen && !raw.startsWith(OWN_WORD));
  }
  return lines;
}
