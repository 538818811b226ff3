import type { ToolCall } from "../../src/core/entry.ts";
import type { ModelMessage } from "../../src/core/context.ts";
import type { ModelAnswer } from "../../src/llm/model.ts";
import { ACT } from "./deeds.ts";
import { LOOK } from "./looks.ts";
import { AGENT, NAME, SECOND_AGENT } from "./profile.ts";
import { isOwnLine, type Prompt } from "./prompt.ts";
import { Random } from "./random.ts";
import type { Reply } from "./schedule.ts";
import { readOf, SLOWLY, taskOf } from "./scripted-subagent.ts";
import { EDITED, MARKER, markerNumber, query } from "./texts.ts";

type Said = Pick<ModelAnswer, "text" | "calls" | "finish">;

/** So many that some stand under a summary. */
const MOST_QUOTED = 5;

/** Which message the newest of a prompt is: the first marker of its last line that somebody said. */
export function askedBy(prompt: Prompt): string[] {
  return prompt.newest.flatMap(({ role, text }) =>
    role === "user" ? (text.match(MARKER)?.slice(0, 1) ?? []) : [],
  );
}

export function callOf(name: string, input: unknown, id: number): ToolCall {
  return { id: `call-${id}`, name, arguments: JSON.stringify(input) };
}

/** Side by side; some with the same id, some with arguments that do not fit, some that look for a word that somebody said. */
export function lookUps(random: Random, n: number, prompt: Prompt): ToolCall[] {
  const { said, edited } = saidIn(prompt.history);
  const known = edited.length > 0 && random.chance(0.5) ? edited : said;
  const names = [
    "search_history",
    "memory_recall",
    LOOK,
    "search_history",
    "read_messages",
    "react",
    "nonsense",
  ];
  return Array.from({ length: random.int(1, 3) }, (_, index) => {
    const name = random.pick(names);
    const word = known.length > 0 && random.chance(0.5) ? `${random.pick(known)} ` : "";
    const words = word + query(n + index);
    const inputs: Readonly<Record<string, unknown>> = {
      react: { emoji: "👍" },
      [LOOK]: { for: askedBy(prompt).at(-1) ?? "it" },
      read_messages: readOf(random),
      search_history: { query: words, limit: 1, ...moreOf(random) },
    };
    return callOf(name, inputs[name] ?? { query: words }, random.chance(0.1) ? 0 : index + n);
  });
}

/** Another page, a person or a time, known or not, or lines around a result. */
function moreOf(random: Random): Readonly<Record<string, unknown>> {
  return {
    ...(random.chance(0.2) && { page: random.int(1, 4) }),
    ...(random.chance(0.2) && { person: random.pick(["Ann", "Ben", "An", "nobody"]) }),
    ...(random.chance(0.2) && { when: random.pick(["today", "last week", "since March", "nonsense"]) }),
    ...(random.chance(0.2) && { context: 1 }),
  };
}

/** The calls of an answer that has more than an answer in view; null: it only answers, as it does of what came of them. */
export function callFor(reply: Reply, prompt: Prompt, random: Random, n: number): Said | null {
  if (reply === "hand" || reply === "hand_on") return handOver(reply, random, n, prompt);
  const results = prompt.newest.filter(({ role }) => role === "tool").length;
  if (prompt.newest.some(isOwnLine) || results > (reply === "act" ? 1 : 0)) return null;
  if (reply.startsWith("spawn"))
    return { text: "", calls: spawns(reply, random, prompt), finish: "tool_calls" };
  if (reply === "remind") return { text: "", calls: [remindOf(random, n, prompt)], finish: "tool_calls" };
  if (reply === "note") return { text: "", calls: [noteOf(n, prompt)], finish: "tool_calls" };
  if (reply === "noted_slow") return lookForNoted(n, prompt);
  if (reply === "quote") return { text: "", calls: [quoteOf(n, prompt)], finish: "tool_calls" };
  if (reply === "quote_slow") {
    const search = callOf("search_history", { query: query(n), limit: MOST_QUOTED }, n);
    return { text: "", calls: [search, ...spawns("spawn_slow", random, prompt)], finish: "tool_calls" };
  }
  if (!reply.startsWith("act")) return null;
  const what = reply === "act_again" ? actedLast(prompt) : whatFor(prompt);
  // As some servers do, it gives the first call of each answer the same id.
  const act = callOf(ACT, { what: results === 0 ? what : `${what}, too` }, 0);
  const beside = random.chance(0.2) ? lookUps(random, n + 1, prompt) : [];
  return { text: "", calls: [act, ...beside], finish: "tool_calls" };
}

/** Beside other calls now and then; null: it was handed over to this one, or goes no further. */
function handOver(reply: "hand" | "hand_on", random: Random, n: number, prompt: Prompt): Said | null {
  const isHanded = prompt.newest.some(isOwnLine);
  const isRefused = prompt.newest.some(
    ({ role, text }) => role === "tool" && text.startsWith("Error: This was"),
  );
  if (isRefused || (isHanded && reply === "hand")) return null;
  const agent = prompt.by === NAME ? SECOND_AGENT : AGENT;
  const call = callOf("hand_off", { agent, message: `About ${retoldBy(random, prompt)}: ${query(n)}` }, n);
  const beside = random.chance(0.3) ? lookUps(random, n + 1, prompt) : [];
  return { text: random.chance(0.3) ? "I ask." : "", calls: [...beside, call], finish: "tool_calls" };
}

/**
 * Markers that people said, and of them those of edits. A model that is shown two edits of a message repeats nothing of the first: what it
 * calls with that later, while it stands in view, is found by nobody.
 */
function saidIn(messages: readonly ModelMessage[]): { readonly said: string[]; readonly edited: string[] } {
  const texts = messages.flatMap(({ role, text }) => (role === "user" ? text : []));
  const newest = new Map<string, string>();
  const outdated = new Set<string>();
  for (const [, message = "", marker = ""] of texts.flatMap((text) => [...text.matchAll(EDITED)])) {
    const before = newest.get(message);
    if (before !== undefined && before !== marker) outdated.add(before);
    newest.set(message, marker);
  }
  const said = texts.flatMap((text) => text.match(MARKER) ?? []).filter((marker) => !outdated.has(marker));
  return { said, edited: [...newest.values()].filter((marker) => !outdated.has(marker)) };
}

/** It tells what somebody has asked, or has said before. */
function retoldBy(random: Random, prompt: Prompt): string {
  const { said } = saidIn([...prompt.history, ...prompt.newest]);
  return (random.chance(0.6) ? askedBy(prompt).at(-1) : said.at(-random.int(1, 8))) ?? "it";
}

function quoteOf(n: number, prompt: Prompt): ToolCall {
  const { edited } = saidIn([...prompt.history, ...prompt.newest]);
  return callOf("search_history", { query: `${edited.at(-1) ?? ""} ${query(n)}`, limit: 1 }, n);
}

/** By it a note is found where it is shown. */
const NOTED = "Noted:";

/** Of what was said before it was asked: what it is asked by itself may stay noted. */
function noteOf(n: number, prompt: Prompt): ToolCall {
  const asked = askedBy(prompt);
  const before = saidIn([...prompt.history, ...prompt.newest]).said.filter((one) => !asked.includes(one));
  return callOf("memory_write", { text: `${NOTED} ${before.at(-1) ?? "nothing"}` }, n);
}

/** Null: it is shown no note. */
function lookForNoted(n: number, prompt: Prompt): Said | null {
  const noted = prompt.dynamic.split("\n").filter((line) => line.includes(NOTED));
  const marker = noted.flatMap((line) => line.match(MARKER) ?? []).at(-1);
  if (marker === undefined) return null;
  const call = callOf("search_history", { query: `${marker} ${query(n)}`, limit: 1 }, n);
  return { text: "", calls: [call], finish: "tool_calls" };
}

function remindOf(random: Random, n: number, prompt: Prompt): ToolCall {
  const when = random.chance(0.2) ? { cron: "0 */3 * * *" } : { in: `${random.int(1, 20)}h` };
  return callOf("remind", { ...when, text: `Think of ${retoldBy(random, prompt)}: ${query(n)}` }, n);
}

/** Asked again about the same, it wants the same of them. */
function spawns(reply: Reply, random: Random, prompt: Prompt): ToolCall[] {
  const number = markerNumber(askedBy(prompt).at(-1) ?? "");
  const asks = new Random(number);
  const how = reply === "spawn_slow" ? SLOWLY : "quickly";
  const count = asks.int(1, 3);
  const isTwice = asks.chance(0.4);
  const context = reply === "spawn_slow" ? "brief" : asks.pick(["brief", "none"]);
  return Array.from({ length: count }, (_, index) => {
    const task = taskOf(number, how, isTwice ? 0 : index);
    return callOf("spawn_agent", { task, context }, random.int(0, 9999) * 10 + index);
  });
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
