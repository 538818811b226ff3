import type { ModelMessage } from "../../core/context.ts";
import type { SpokenLine } from "../../text/rank-sentences.ts";

/** `[2026-11-21 14:05] NAME: text`, as the context renders what people said; lists and quotations put a mark before it. */
const LINE =
  /^\s*(?:[-*•>]\s+)?\[(?<time>\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)\] (?<author>[^\n:]{1,80}): (?<text>.*)$/;
/** The same as a summariser's transcript shows it, with its number before it. */
const NUMBERED = /^(?<number>\d{1,7})\. (?=\[)/;
/** Before the first colon of `NAME called tool({"a": 1})` and of `tool returned: text`. */
const TOOL_WORD = / called \S+\(| returned$/;
const TOOL_LINE = /^\[[^\]]*\] (?:.{1,80} called \S+\(|.{1,80} returned: )/s;
/** With its times and its number. */
const SUMMARY = /^\[Compaction Summary\]:(?:\s\(\d[^()\n]*, [\d,]+ messages?\)(?=\s))?\s*/;
/** What stands before a line of a summary that the offline model itself has written, once more with each merge. */
const MERGED = /^(?:summary: )+/;
/** The head of a line, escaped as it is kept in a summary: what a model writes must not pass for what was said there. */
const ESCAPED_HEAD = /\\+(?=\[\d{4}-\d\d-\d\d(?: \d\d:\d\d)?\] [^\n:]{1,80}: )/;
/** What an extract says of itself. */
const EXTRACT_HEAD = /^An extract, word for word, of \d/;
/** Behind the agent's name in a summariser's transcript. */
const AGENT_MARK = / \[agent\]$/;
/** What Weir itself says: what people typed never begins a line like this. */
const OWN_WORD = "[System:";

/** The sentences in which the offline model speaks of itself: nobody wants to read them in a summary. */
export const OWN_SENTENCES = {
  quoting: "I am not a language model, so I quote what was said before:",
  nothing: "I found nothing about that in what I can see.",
  onlyQuotes: "I am not a language model: I can only quote.",
  setup: "Set OPENAI_API_KEY, or llm.base_url for a server of your own, to have one.",
} as const;

/** A line of a summariser's transcript. */
export interface NumberedLine extends SpokenLine {
  readonly number: number;
}

/** What the offline model sees in a request. */
export interface Transcript {
  /** What it is to answer, oldest first. */
  readonly questions: readonly SpokenLine[];
  /** What it may quote: earlier and recalled lines, summaries, tool results. Oldest first. */
  readonly sources: readonly SpokenLine[];
  /** This turn has called a tool already. */
  readonly hasSearched: boolean;
}

/**
 * Reads a request. Its order is system, summaries, history, the messages to answer, the dynamic part, this turn's calls and
 * results. The dynamic part says how many messages are to be answered.
 */
export function readTranscript(messages: readonly ModelMessage[]): Transcript {
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
 * All that people said in a request, for a summary: a transcript, with or without numbers, or summaries to merge. The
 * agent's own lines are left out: they quote what others said, and what tools found was said elsewhere.
 */
export function spokenLines(messages: readonly ModelMessage[]): SpokenLine[] {
  const lines = messages.flatMap(({ role, text }) => {
    if (role !== "user" || text.startsWith(OWN_WORD)) return [];
    if (SUMMARY.test(text)) return summaryLines(text.replace(SUMMARY, ""));
    const numbered = parseNumbered(text);
    return numbered.length > 0 ? numbered.filter((line) => !isToolLine(line)) : linesOrText(text);
  });
  return saidByOthers(lines, messages);
}

function isToolLine({ author, text }: SpokenLine): boolean {
  return author === "" && TOOL_LINE.test(text);
}

/** Without the agent's own lines, and what others repeat of how the offline model speaks of itself. */
function saidByOthers(lines: readonly SpokenLine[], messages: readonly ModelMessage[]): SpokenLine[] {
  const names = agentNames(messages);
  return lines.flatMap((line) => {
    if (names.has(line.author)) return [];
    const text = Object.values(OWN_SENTENCES).reduce((left, own) => left.replaceAll(own, ""), line.text);
    return text === line.text ? [line] : text.trim() === "" ? [] : [{ ...line, text: text.trim() }];
  });
}

/** Under which names the agent itself speaks in a transcript, as far as its prompts say. */
export function agentNames(messages: readonly ModelMessage[]): ReadonlySet<string> {
  const prompts = messages.filter(({ role }) => role === "system").map(({ text }) => text);
  const named = prompts.flatMap((text) => [...text.matchAll(AGENT_NAME)]);
  return new Set(["you", ...named.map(([, one, other]) => one ?? other ?? "")]);
}

const AGENT_NAME =
  /\bYou are ([^.,\n]{1,80})[.,]|\bsummary of a chat\. ([^\n]{1,80}?) takes part in that chat\b/g;

/** The lines of a summariser's transcript that have a number, by which memories cite them. */
export function numberedLines(messages: readonly ModelMessage[]): NumberedLine[] {
  return messages.flatMap(({ role, text }) => {
    const isTranscript = role === "user" && !SUMMARY.test(text) && !text.startsWith(OWN_WORD);
    return isTranscript ? parseNumbered(text) : [];
  });
}

/** A line without a number belongs to the one before it, whatever it looks like: somebody may have typed it so. */
function parseNumbered(text: string): NumberedLine[] {
  return joinLines(text, (raw) => {
    const number = NUMBERED.exec(raw)?.groups?.["number"];
    if (number === undefined) return null;
    const said = raw.replace(NUMBERED, "");
    const line = parseLine(said);
    // What a tool did has a number, too, and no author.
    const isSaid = line !== null && !TOOL_WORD.test(line.author);
    const author = line?.author.replace(AGENT_MARK, "") ?? "";
    return {
      ...(isSaid ? { ...line, author } : { time: "", author: "", text: said }),
      number: Number(number),
    };
  });
}

/** How many messages wait, by the dynamic part; without one, only the last message is sure to want an answer. */
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
        : parseLines(message.text);
    case "tool":
      return parseLines(message.text);
    // The instructions were said by nobody here, and what the assistant said are quotes.
    case "system":
    case "assistant":
      return [];
    default:
      return [];
  }
}

/** Each line of a summary stands for itself; what has no head was said by nobody who is known. */
function summaryLines(text: string): SpokenLine[] {
  return text.split("\n").flatMap((raw) => {
    const plain = raw.replace(MERGED, "");
    // An older merge took all lines of a summary for one.
    const pieces = plain === raw ? [raw.trim()] : plain.split(ESCAPED_HEAD).map((piece) => piece.trim());
    return pieces
      .map((piece) => (ESCAPED_HEAD.exec(piece)?.index === 0 ? piece.replace(ESCAPED_HEAD, "") : piece))
      .filter((piece) => piece !== "" && !EXTRACT_HEAD.test(piece))
      .map((piece) => parseLine(piece) ?? { time: "", author: "", text: piece });
  });
}

function linesOrText(text: string): SpokenLine[] {
  const lines = parseLines(text);
  return lines.length > 0 || text.trim() === "" ? lines : [{ time: "", author: "", text }];
}

/** What comes before the first line in the known form was said by nobody; what follows one without a mark belongs to it. */
function parseLines(text: string): SpokenLine[] {
  return joinLines(text, parseLine);
}

function parseLine(raw: string): SpokenLine | null {
  const groups = LINE.exec(raw)?.groups;
  if (groups === undefined) return null;
  const { time = "", author = "", text = "" } = groups;
  return { time, author, text };
}

/** @param parse null: the line goes on with what the one before it says */
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
