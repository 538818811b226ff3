import type { ToolCall } from "../../src/core/entry.ts";
import { ModelError, type ModelAnswer, type ModelRequest } from "../../src/llm/model.ts";
import { MODEL } from "./profile.ts";
import type { Prompt } from "./prompt.ts";
import { Random } from "./random.ts";
import type { Reply } from "./schedule.ts";
import { MARKER, query, words } from "./texts.ts";

type Said = Pick<ModelAnswer, "text" | "calls" | "finish">;

/** Rounds of calls before it answers. */
const ROUNDS = 2;

/** Which message the newest of a prompt is: the first marker of its last line that somebody said. */
export function askedBy(prompt: Prompt): string[] {
  return prompt.newest.flatMap(({ role, text }) =>
    role === "user" ? (text.match(MARKER)?.slice(0, 1) ?? []) : [],
  );
}

/** What the model answers; it repeats what people said in the arguments of its calls alone. */
export function talk(reply: Reply, request: ModelRequest, prompt: Prompt, n: number): Said {
  const random = new Random(n * 31 + 7);
  const rounds = prompt.newest.filter(({ role }) => role === "tool").length;
  if (reply === "fail") throw new ModelError("rejected", MODEL, "scripted");
  // Begun again, it may have nothing to say to what it began to answer before.
  const isSkipped = reply === "skip" || (reply === "slow" && random.chance(0.4));
  if (request.toolChoice === "auto" && isSkipped) {
    // Beside a call that fails it does not count, and the model is asked again.
    const beside = rounds < ROUNDS && random.chance(0.4) ? calls(random, n, prompt) : [];
    const skip = callOf("skip", { reason: "nothing to say" }, 0);
    return { text: "", calls: [...beside, skip], finish: "tool_calls" };
  }
  if (request.toolChoice === "auto" && reply === "tools" && rounds < ROUNDS) {
    return {
      text: random.chance(0.5) ? "" : "Let me look.",
      calls: calls(random, n, prompt),
      finish: "tool_calls",
    };
  }
  const length = reply === "long" ? random.int(50, 110) : random.int(5, 25);
  return { text: `answer ${n}: ${words(random, length)}`, calls: [], finish: "stop" };
}

/** Side by side; some with the same id, some with arguments that do not fit, some that look for a word that somebody said. */
function calls(random: Random, n: number, prompt: Prompt): ToolCall[] {
  const said = prompt.history.flatMap(({ role, text }) =>
    role === "user" ? (text.match(MARKER) ?? []) : [],
  );
  const names = ["search_history", "memory_recall", "search_history", "react", "nonsense"];
  return Array.from({ length: random.int(1, 3) }, (_, index) => {
    const name = random.pick(names);
    const limit = name === "search_history" ? { limit: 1 } : {};
    const word = said.length > 0 && random.chance(0.5) ? `${random.pick(said)} ` : "";
    const input = name === "react" ? { emoji: "👍" } : { query: word + query(n + index), ...limit };
    return callOf(name, input, random.chance(0.1) ? 0 : index + n);
  });
}

function callOf(name: string, input: unknown, id: number): ToolCall {
  return { id: `call-${id}`, name, arguments: JSON.stringify(input) };
}
