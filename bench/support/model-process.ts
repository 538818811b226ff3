/**
 * The scripted model server in its own process: real HTTP, streamed, with minimal work. A model's name sets its
 * behaviour: `reply-DELAY-WORDS`, `summary-DELAY` (ms), `summary-never`; `told-DELAY` writes a summary of the requested
 * length; `failing-DELAY` the same, and fails three times in ten; `empty-DELAY` answers with nothing;
 * `search-DELAY-COUNT` makes this many searches at once before it replies; `+prefix`, `+breakpoints` and `+blocks`
 * measure the prefix, and the bill of a provider with such a cache. A request that asks for no stream gets its answer in one piece.
 */
import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { setTimeout as delay } from "node:timers/promises";
import { inSlices } from "../../src/async/cooperative.ts";
import { bestSentences, factsOf } from "../../src/text/rank-sentences.ts";
import { createMixedTalk, createTalk } from "./conversation.ts";
import {
  BLOCK_CACHE,
  BREAKPOINT_CACHE,
  type CacheSpecies,
  chatPrompt,
  implicitlyMarked,
  PREFIX_CACHE,
  ProviderCache,
} from "../../test/support/provider-caches.ts";
import { machineNow } from "./figure.ts";
import type { PromptPrefix, ServedRequest } from "./model.ts";
import { promptBytes, sharedBytes } from "./prompt-bytes.ts";

const served: ServedRequest[] = [];
const talk = createTalk(7);
const mixedTalk = createMixedTalk(8);
const CACHES: Readonly<Record<string, CacheSpecies>> = {
  prefix: PREFIX_CACHE,
  breakpoints: BREAKPOINT_CACHE,
  blocks: BLOCK_CACHE,
};
/** By billed model. */
const caches = new Map<string, { readonly own: ProviderCache; readonly implicit: ProviderCache }>();
/** The conversations of `bench -- cost` run at ten times people's speed. */
const HASTE = 10;
/** The previous prompt of each model with a measured prefix. */
const prompts = new Map<string, Buffer>();

const server = createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  response.on("error", () => undefined);
  void serve(request, response).catch(() => response.destroy());
});

async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const arrivedAt = machineNow();
  const body = await buffer(request);
  if (request.method !== "POST") {
    response.writeHead(200, { "content-type": "application/json" });
    response.end('{"object":"list","data":[{"id":"reply-0-8"}]}');
    return;
  }
  // The client writes the model first; parsing all of a large body would add our time to the model's.
  const model = /"model":"([^"]+)"/.exec(body.subarray(0, 400).toString("latin1"))?.[1] ?? "";
  const [kind, wait, words] = model.split(/[-+]/);
  const [, cache = ""] = model.split("+");
  const species = CACHES[cache];
  const isSummariser = kind === "summary" || kind === "told";
  const prefix = species === undefined || isSummariser ? null : measurePrefix(model, body);
  const billed = species === undefined ? null : bill(model, body, species, arrivedAt);
  const marks = species === undefined ? [] : marksIn(body);
  const record = {
    model,
    arrivedAt,
    endedAt: 0,
    bytes: body.length,
    completionTokens: 0,
    prefix,
    billed,
    marks,
  };
  served.push(record);
  if (wait === "never") return;
  if (Number(wait) > 0) await delay(Number(wait));
  if (kind === "search" && body.lastIndexOf('"role":"tool"') < body.lastIndexOf('"role":"user"')) {
    streamSearches(response, Number(words));
    record.endedAt = machineNow();
    return;
  }
  if (kind === "failing" && served.length % 10 < 3) {
    response.writeHead(500).end();
    return;
  }
  const summary = kind === "told" || kind === "failing" ? toldLength(body) : kind === "summary" ? 900 : 0;
  const text =
    summary > 0 ? await extractOf(body, summary) : kind === "empty" ? " " : talk(Number(words) * 6);
  record.completionTokens = Math.ceil(text.length / 4);
  const answer = body.includes('"stream":true') ? stream : answerWhole;
  answer(response, text, { prompt: Math.ceil(body.length / 4), completion: record.completionTokens });
  record.endedAt = machineNow();
}

/** The head of a transcript's line. */
const LINE_HEAD = /^\d+\. (?:\[[^\]]*\] ?)?(?:[^:\n]{1,60}: )?/;

/** A summary that keeps what it must: the facts of the best sentences of what is summarised, and as many of these as fit. */
async function extractOf(body: Buffer, maxCharacters: number): Promise<string> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is our own request
  const { messages } = JSON.parse(body.toString()) as {
    readonly messages: readonly { readonly role: string; readonly content: string }[];
  };
  const asked = messages.filter(({ role }) => role === "user").map(({ content }) => content);
  const [source = ""] = asked.join("\n").split("[System: your task]");
  const lines = source
    .split("\n")
    .map((line) => ({ time: "", author: "", text: line.replace(LINE_HEAD, "") }));
  const best = await inSlices(bestSentences(lines, toldLength(body)));
  const facts = new Set(best.flatMap(({ text }) => factsOf(text).map((fact) => fact.text)));
  const kept = [...facts].join(", ").slice(0, Math.floor(maxCharacters * 0.8));
  const told = `${kept}. ${best.map(({ text }) => text).join(" ")}`.slice(0, maxCharacters);
  return `- ${best.length === 0 ? talk(maxCharacters) : told}`;
}

/** Length of a summary, in characters: slightly below the task's limit of words. */
function toldLength(body: Buffer): number {
  // Behind the task come the tools.
  const task = body.lastIndexOf("At most ");
  const words = /^At most ([\d,]+) words/.exec(body.subarray(task, task + 40).toString())?.[1] ?? "100";
  return Math.floor(Number(words.replaceAll(",", "")) * 6 * 0.9);
}

interface Usage {
  readonly prompt: number;
  readonly completion: number;
}

function stream(response: ServerResponse, text: string, usage: Usage): void {
  response.writeHead(200, { "content-type": "text/event-stream" });
  for (const piece of text.match(/\s*\S+/g) ?? []) response.write(event({ delta: { content: piece } }));
  response.write(event({ delta: {}, finish_reason: "stop" }));
  const counted = { prompt_tokens: usage.prompt, completion_tokens: usage.completion };
  response.write(`data: ${JSON.stringify({ choices: [], usage: counted })}\n\n`);
  response.end("data: [DONE]\n\n");
}

function answerWhole(response: ServerResponse, text: string, { prompt, completion }: Usage): void {
  const choices = [{ index: 0, message: { role: "assistant", content: text }, finish_reason: "stop" }];
  const usage = {
    prompt_tokens: prompt,
    completion_tokens: completion,
    total_tokens: prompt + completion,
  };
  response.writeHead(200, { "content-type": "application/json" });
  // Clients keep messages by their answer's id.
  const id = `chatcmpl-${randomUUID()}`;
  response.end(JSON.stringify({ id, object: "chat.completion", created: 1, choices, usage }));
}

/** Searches for other words each time, in both kinds of scripts. */
function streamSearches(response: ServerResponse, count: number): void {
  const calls = Array.from({ length: count }, (_, index) => ({
    index,
    id: `call_${index}`,
    type: "function",
    function: { name: "search_history", arguments: JSON.stringify({ query: mixedTalk(80) }) },
  }));
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.write(event({ delta: { tool_calls: calls } }));
  response.write(event({ delta: {}, finish_reason: "tool_calls" }));
  response.end("data: [DONE]\n\n");
}

function event(choice: object): string {
  return `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [{ index: 0, ...choice }] })}\n\n`;
}

/** Tools first, then the messages: the order of a server's template. */
function measurePrefix(model: string, body: Buffer): PromptPrefix {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it is our own request
  const { tools, messages } = JSON.parse(body.toString()) as { tools: unknown; messages: unknown[] };
  const prompt = promptBytes([tools, ...messages]);
  const shared = sharedBytes(prompt, prompts.get(model));
  prompts.set(model, prompt);
  return { shared, total: prompt.length, hasHole: prompt.includes("older messages were truncated") };
}

function marksIn(body: Buffer): number[] {
  return [...new Set([...body.toString().matchAll(/mark-(\d+)/g)].map(([, number]) => Number(number)))];
}

function bill(model: string, body: Buffer, species: CacheSpecies, at: number): ServedRequest["billed"] {
  const cache = caches.get(model) ?? {
    own: new ProviderCache(species),
    implicit: new ProviderCache(species),
  };
  caches.set(model, cache);
  const parts = chatPrompt(JSON.parse(body.toString()));
  const now = at * HASTE;
  return { use: cache.own.use(parts, now), implicit: cache.implicit.use(implicitlyMarked(parts), now) };
}

process.on("message", () => process.send?.(served.splice(0)));
process.on("disconnect", () => process.exit(0));
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  if (typeof address === "object" && address !== null) process.send?.(`http://127.0.0.1:${address.port}/v1`);
});
