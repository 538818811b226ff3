import type { ToolCall } from "../../src/core/entry.ts";
import { ModelError, type ModelAnswer, type ModelRequest } from "../../src/llm/model.ts";
import { MODEL } from "./profile.ts";
import { Random } from "./random.ts";
import { MARKER, query } from "./texts.ts";

type Said = Pick<ModelAnswer, "text" | "calls" | "finish">;

/** How the instructions of a subagent begin. */
const INSTRUCTIONS = "You are a subagent of ";
/** In tasks whose subagent is held until it is released. */
export const SLOWLY = "slowly";

/** A request of a subagent, and no turn's. */
export function isOfSubagent({ messages, task }: ModelRequest): boolean {
  return task !== "summarise" && messages[0]?.text.startsWith(INSTRUCTIONS) === true;
}

/** A task for whoever has asked in a message of that number. What a report tells of it stays in the log: so it repeats no text. */
export function taskOf(number: number, how: string, part: number): string {
  return `Look for item ${number} ${how}, part ${part}`;
}

/** The number of the message for which a task is done. */
export function askedIn(task: string): number {
  return Number(/ item (\d+) /.exec(task)?.[1] ?? 0);
}

/** The task of a subagent's request: its line of it. */
export function taskIn({ messages }: ModelRequest): string {
  return /^Look for .*$/m.exec(messages[1]?.text ?? "")?.[0] ?? "";
}

/** Few messages, as some windows are small; now and then numbers that no message has. */
export function readOf(random: Random): { readonly from: number; readonly to: number } {
  const from = random.chance(0.1) ? 1_000_000 : random.int(1, 120);
  return { from, to: from + random.int(0, 3) };
}

/** What it does: it looks for something, and reports how much it was told and has found. */
export function work(request: ModelRequest, n: number): Said {
  const random = new Random(n * 53 + 11);
  const steps = request.messages.filter(({ role }) => role === "assistant").length;
  if (random.chance(0.05)) throw new ModelError("rejected", MODEL, "scripted");
  const seen = [...new Set(request.messages.flatMap(({ text }) => text.match(MARKER) ?? []))];
  if (request.toolChoice === "auto" && random.chance(steps === 0 ? 0.5 : 0.3)) {
    const calls = Array.from({ length: random.int(1, 2) }, (_, index): ToolCall => {
      const name = random.pick(["search_history", "memory_recall", "read_messages", "nonsense"]);
      const word = seen.length > 0 && random.chance(0.3) ? `${random.pick(seen)} ` : "";
      const words = { query: word + query(n + index), ...(name === "search_history" && { limit: 2 }) };
      const input = name === "read_messages" ? readOf(random) : words;
      return { id: `look-${n}-${index}`, name, arguments: JSON.stringify(input) };
    });
    return { text: "", calls, finish: "tool_calls" };
  }
  return { text: `report ${n} of ${seen.length}`, calls: [], finish: "stop" };
}
