import { text, toolCalls } from "../../test/support/model-behaviours.ts";
import type { Behaviour, ChatRequest } from "../../test/support/model-server.ts";
import type { RecordedFact, RecordedMessage } from "../support/recordings.ts";

/** A fact, and the first line of each message that it was noted of. */
interface Noted {
  readonly fact: string;
  readonly author: string;
  readonly said: readonly string[];
}

/** Begins the task, behind the summaries or the transcript. */
const TASK = "[System: your task]";
/** Begins a line of the transcript. It may stand in one message with the summary before it, whose lines are quoted. */
const TRANSCRIPT = /^\d+\. \[/m;
/** Most statements of one `memory_save`. */
const MOST_MEMORIES = 20;

/**
 * A summariser that makes no mistake: its summary of a transcript is the facts that were noted of it, a line each, as many as
 * the task's limit holds; that of summaries is their lines. Where there are too many, it leaves some out at regular intervals. Each
 * fact of a transcript is a memory, too.
 */
export function factSummariser(
  messages: readonly RecordedMessage[],
  facts: readonly RecordedFact[],
): (request: ChatRequest) => Behaviour {
  const said = new Map(messages.map((one) => [keyOf(one.conversation_id, one.seq), one]));
  const noted = facts.map((one): Noted => {
    const of = one.evidence.flatMap((seq) => said.get(keyOf(one.conversation_id, seq)) ?? []);
    const lines = of.map((message) => message.text.trim().split("\n")[0]?.trim() ?? "");
    return { fact: one.fact.replaceAll(/\s+/g, " ").trim(), author: of[0]?.author ?? "", said: lines };
  });
  return ({ messages: asked, tool_choice: choice }) => {
    const task = asked.findLast(({ role }) => role === "user")?.content ?? "";
    const given = asked.flatMap(({ role, content }) => (role === "user" ? (content ?? "") : [])).join("\n");
    const [before = ""] = given.split(TASK);
    const from = before.search(TRANSCRIPT);
    if (from < 0) return text(within(before.split("\n").flatMap(told), limitOf(task)).join("\n"));
    const transcript = before.slice(from);
    const own = noted.filter(
      (one) => one.said.length > 0 && one.said.some((line) => transcript.includes(line)),
    );
    const saved = MOST_MEMORIES * asked.filter(({ role }) => role === "tool").length;
    if (choice !== "none" && saved < own.length) return toolCalls([saveOf(own.slice(saved), transcript)]);
    return text(
      within(
        own.map(({ fact }) => fact),
        limitOf(task),
      ).join("\n"),
    );
  };
}

function keyOf(conversation: string, seq: number): string {
  return `${conversation} ${seq}`;
}

/** A summary's lines, as a request to merge quotes them. */
function told(line: string): string[] {
  const plain = line.replace(/^> ?/, "").trim();
  return plain === "" || plain.includes("[Compaction Summary]") || plain.startsWith("[System:")
    ? []
    : [plain];
}

function limitOf(task: string): number {
  return Number(/at most ([\d,]+) words/i.exec(task)?.[1]?.replaceAll(",", "") ?? "100");
}

/** As many lines as have so few words together, at regular intervals. */
function within(lines: readonly string[], words: number): string[] {
  for (let count = lines.length; count > 0; count--) {
    const kept = Array.from(
      { length: count },
      (_, place) => lines[Math.floor((place * lines.length) / count)] ?? "",
    );
    if (kept.join(" ").split(/\s+/).length <= words) return kept;
  }
  return lines.slice(0, 1);
}

function saveOf(own: readonly Noted[], transcript: string): { name: string; arguments: unknown } {
  const lines = transcript.split("\n");
  const memories = own.slice(0, MOST_MEMORIES).flatMap(({ fact, author, said: [quote = ""] }) => {
    const number = Number(/^(\d+)\. /.exec(lines.find((line) => line.includes(quote)) ?? "")?.[1] ?? "0");
    if (number === 0 || quote === "") return [];
    return [
      { type: "fact", subject: author, statement: fact, quote: quote.slice(0, 300), sources: [number] },
    ];
  });
  return { name: "memory_save", arguments: { memories } };
}
