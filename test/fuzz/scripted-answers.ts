import type { ToolCall } from "../../src/core/entry.ts";
import { ModelError, type ModelAnswer, type ModelRequest } from "../../src/llm/model.ts";
import { ACT } from "./deeds.ts";
import { AGENT, MODEL, NAME, SECOND_AGENT } from "./profile.ts";
import { isOwnLine, type Prompt } from "./prompt.ts";
import { Random } from "./random.ts";
import type { Reply } from "./schedule.ts";
import { MARKER, markerNumber, query, words } from "./texts.ts";
import { SLOWLY, taskOf } from "./scripted-subagent.ts";

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
  if (request.toolChoice === "auto" && (reply === "hand" || reply === "hand_on")) {
    const handed = handOver(reply, random, n, prompt);
    if (handed !== null) return handed;
  }
  if (request.toolChoice === "auto" && reply.startsWith("spawn")) {
    // What comes of them it only tells.
    const isTold = rounds > 0 || prompt.newest.some(isOwnLine);
    if (!isTold) return { text: "", calls: spawns(reply, random, prompt), finish: "tool_calls" };
  }
  if (
    request.toolChoice === "auto" &&
    reply.startsWith("act") &&
    rounds === 0 &&
    !prompt.newest.some(isOwnLine)
  ) {
    const act = callOf(ACT, { what: reply === "act_again" ? actedLast(prompt) : whatFor(prompt) }, n);
    return {
      text: "",
      calls: [act, ...(random.chance(0.2) ? calls(random, n + 1, prompt) : [])],
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

/** Beside other calls now and then; null: it was handed over to this one, or goes no further. */
function handOver(reply: "hand" | "hand_on", random: Random, n: number, prompt: Prompt): Said | null {
  const isHanded = prompt.newest.some(isOwnLine);
  const isRefused = prompt.newest.some(
    ({ role, text }) => role === "tool" && text.startsWith("Error: This was"),
  );
  if (isRefused || (isHanded && reply === "hand")) return null;
  // It tells what somebody has asked, or has said before.
  const said = [...prompt.history, ...prompt.newest].flatMap(({ role, text }) =>
    role === "user" ? (text.match(MARKER) ?? []) : [],
  );
  const retold = random.chance(0.6) ? askedBy(prompt).at(-1) : said.at(-random.int(1, 8));
  const agent = prompt.by === NAME ? SECOND_AGENT : AGENT;
  const call = callOf("hand_off", { agent, message: `About ${retold ?? "it"}: ${query(n)}` }, n);
  const beside = random.chance(0.3) ? calls(random, n + 1, prompt) : [];
  return { text: random.chance(0.3) ? "I ask." : "", calls: [...beside, call], finish: "tool_calls" };
}

/** Asked again about the same, it wants the same of them. */
function spawns(reply: Reply, random: Random, prompt: Prompt): ToolCall[] {
  const asked = askedBy(prompt).at(-1) ?? "";
  const how = reply === "spawn_slow" ? SLOWLY : "quickly";
  const number = markerNumber(asked);
  const asks = new Random(number);
  const count = asks.int(1, 3);
  const isTwice = asks.chance(0.4);
  const context = reply === "spawn_slow" ? "brief" : asks.pick(["brief", "none"]);
  return Array.from({ length: count }, (_, index) =>
    callOf(
      "spawn_agent",
      { task: taskOf(number, how, isTwice ? 0 : index), context },
      random.int(0, 9999) * 10 + index,
    ),
  );
}

function whatFor(prompt: Prompt): string {
  return `what ${askedBy(prompt).at(-1) ?? ""} wants`;
}

/** What it has called last, as far as it is shown that. */
function actedLast(prompt: Prompt): string {
  const made = prompt.history.flatMap((message) => (message.role === "assistant" ? message.calls : []));
  const [, what] = /"what":"([^"]+)"/.exec(made.findLast(({ name }) => name === ACT)?.arguments ?? "") ?? [];
  return what ?? whatFor(prompt);
}

function callOf(name: string, input: unknown, id: number): ToolCall {
  return { id: `call-${id}`, name, arguments: JSON.stringify(input) };
}
