/**
 * The model server of a soak, in a process of its own. Its argument is a seed; it tells its parent its URL, takes a `Mood` for
 * each message, and ends with its parent.
 */
import { offers, piecesIn } from "../support/request-pieces.ts";
import { once } from "node:events";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { DYNAMIC, memoryOf, randomWords } from "../chaos/chaos-model.ts";
import { Random } from "../fuzz/random.ts";
import { rateLimited, type ScriptedCall, status, text, toolCalls } from "../support/model-behaviours.ts";
import { type Behaviour, type ChatRequest, startModelServer } from "../support/model-server.ts";
import type { Mood } from "./model.ts";
import { answerHead, type Cue, HELPER_TASK, questionsIn, REMINDER } from "./texts.ts";

const random = new Random(Number(process.argv[2]));
const server = await startModelServer();
server.models = [{ id: "talker" }, { id: "summariser" }];
let mood: Mood = "well";
let summaries = 0;

/** Less than the daemon waits for a first word. */
const SLOW_MS = 1500;

const CALLS: Readonly<Record<Cue, () => ScriptedCall>> = {
  search: () => ({ name: "search_history", arguments: { query: "gauge by the mill" } }),
  react: () => ({ name: "react", arguments: { emoji: "👍" } }),
  remind: () => ({ name: "remind", arguments: { in: `${random.int(5, 40)}s`, text: REMINDER } }),
  helper: () => ({ name: "spawn_agent", arguments: { task: HELPER_TASK, context: "none" } }),
};

server.respond((request) => async (exchange) => {
  const behave = request.model === "talker" ? talk(request) : summarise(request);
  try {
    if (mood === "failing" && random.chance(0.5)) await status(500)(exchange);
    else if (mood === "refusing") await rateLimited(1)(exchange);
    else if (mood === "silent") await once(exchange.signal, "abort");
    else {
      if (mood === "slow") await delay(SLOW_MS, undefined, { signal: exchange.signal });
      await behave(exchange);
    }
  } finally {
    // A run of hours would keep them all.
    server.forget();
  }
});

function talk(request: ChatRequest): Behaviour {
  const messages = piecesIn(request);
  const dynamic = messages.findLastIndex(({ content }) => content?.startsWith(DYNAMIC) === true);
  const before = messages.slice(0, Math.max(0, dynamic));
  const isAnswer = ({ role, content }: ChatRequest["messages"][number]): boolean =>
    role === "assistant" && (content ?? "") !== "";
  // What was said while the tools ran stands behind their results.
  const newest = [...before.slice(before.findLastIndex(isAnswer) + 1), ...messages.slice(dynamic + 1)];
  const asked = newest.flatMap(({ role, content }) => (role === "user" ? questionsIn(content ?? "") : []));
  const cue = asked.at(-1)?.cue ?? null;
  const pace = { firstDelayMs: random.int(10, 200), delayMs: random.pick([0, 2, 10]) };
  const isFirst = !messages.slice(dynamic).some(({ role }) => role === "tool");
  if (cue !== null && isFirst) return toolCalls([CALLS[cue]()], pace);
  const words = randomWords(random, random.chance(0.1) ? random.int(300, 500) : random.int(5, 40));
  if (asked.length === 0) return text(`By the way: ${words}`, pace);
  return text(`${answerHead(asked.map(({ mark }) => mark))} ${words}`, pace);
}

function summarise(request: ChatRequest): Behaviour {
  const isAfterSave = request.messages.some(({ role }) => role === "tool");
  if (offers(request, "memory_revise")) return text("Nothing changes.");
  const maySave = (request.tools?.length ?? 0) > 0 && request.tool_choice !== "none" && !isAfterSave;
  const mark = `S${++summaries}#`;
  const memory = maySave && random.chance(0.4) ? memoryOf(request) : null;
  const pace = { firstDelayMs: random.int(50, 500) };
  if (memory !== null) return toolCalls([{ name: "memory_save", arguments: memory }], pace);
  return text(`${mark} ${randomWords(random, random.int(15, 60))}.`, pace);
}

process.on("message", (next: Mood) => {
  mood = next;
});
process.on("disconnect", () => process.exit(0));
process.send?.(server.url);
