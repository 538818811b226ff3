import type { ModelMessage } from "../../core/context.ts";
import type { SpokenLine } from "../../core/extract.ts";

/** `[2026-11-21 14:05] NAME: text`, as the context renders what people said; lists and quotations put a mark before it. */
const LINE =
  /^\s*(?:[-*•>]\s+)?\[(?<time>\d{4}-\d\d-\d\d(?: \d\d:\d\d)?)\] (?<author>[^\n:]{1,80}): (?<text>.*)$/;
const SUMMARY = /^\[Compaction Summary\]:\s*/;

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
 * Reads a request. Its order is system, summaries, history, the dynamic part, the messages to answer, this turn's
 * calls and results: so the messages to answer are the last ones in the form of lines, back to the dynamic part.
 */
export function readTranscript(messages: readonly ModelMessage[]): Transcript {
  const lastSaid = messages.findLastIndex((message) => message.role === "user");
  const firstDue = firstDueIndex(messages, lastSaid);
  const due = messages.slice(firstDue, lastSaid + 1);
  const others = [...messages.slice(0, firstDue), ...messages.slice(lastSaid + 1)];
  const questions = due.flatMap((message) => linesOrText(message.text));
  return {
    questions,
    sources: others.flatMap((message) => sourceLines(message)),
    hasSearched: messages.slice(lastSaid + 1).some((message) => message.role === "tool"),
  };
}

/** All that was said in a request, for a summary. */
export function spokenLines(messages: readonly ModelMessage[]): SpokenLine[] {
  return messages.flatMap((message) => (message.role === "user" ? linesOrText(message.text) : []));
}

function firstDueIndex(messages: readonly ModelMessage[], lastSaid: number): number {
  let index = lastSaid;
  while (index > 0) {
    const before = messages[index - 1];
    if (before?.role !== "user") return lastSaid;
    // The dynamic part ends the search; without one, only the last message is sure to want an answer.
    if (!LINE.test(firstLine(before.text))) return index;
    index--;
  }
  return Math.max(0, lastSaid);
}

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

function summaryLines(text: string): SpokenLine[] {
  const lines = parseLines(text);
  return lines.length > 0 ? lines : [{ time: "", author: "summary", text }];
}

function linesOrText(text: string): SpokenLine[] {
  const lines = parseLines(text);
  return lines.length > 0 || text.trim() === "" ? lines : [{ time: "", author: "", text }];
}

/** What comes before the first line in the known form was said by nobody; what follows one without a mark belongs to it. */
function parseLines(text: string): SpokenLine[] {
  const lines: { time: string; author: string; text: string }[] = [];
  for (const raw of text.split("\n")) {
    const groups = LINE.exec(raw)?.groups;
    const last = lines.at(-1);
    if (groups !== undefined) {
      lines.push({ time: groups["time"] ?? "", author: groups["author"] ?? "", text: groups["text"] ?? "" });
    } else if (last !== undefined) {
      last.text += `\n${raw.replace(/^\s*> ?/, "")}`;
    }
  }
  return lines;
}

function firstLine(text: string): string {
  return text.split("\n", 1)[0] ?? "";
}
