import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { boundedText } from "../../../src/llm/http/bounded-body.ts";
import { chatEvents, StreamBudget } from "../../../src/llm/chat/chat-events.ts";
import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import type { ModelError } from "../../../src/llm/model.ts";
import { cpuMsOf } from "../../support/cpu-time.ts";
import { flood, rawStream } from "../../support/model-behaviours.ts";
import { ask } from "../../support/model-calls.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";

const timeouts = { firstTokenMs: 60_000, idleMs: 60_000, totalMs: 60_000 };
const PIECE_LENGTH = 64_000;
/** 32 MB. */
const PIECES = 500;

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;
const filled = (line: string): string => line.repeat(Math.ceil(PIECE_LENGTH / line.length));

const FLOODS = {
  "line ends": filled("\n"),
  "carriage returns": filled("\r"),
  comments: filled(": keep-alive\n\n"),
  "empty events": filled("data:\n\n"),
  "events without a line between them": filled("data: \n"),
  names: filled("event: message\n"),
  "one endless line": "x".repeat(PIECE_LENGTH),
  "one endless comment, begun again and again": `: ${"x".repeat(PIECE_LENGTH)}\n`,
  "deltas of nothing": filled(chunk({})),
  "deltas of empty texts": filled(chunk({ role: "assistant", content: "" })),
  "chunks without a choice": filled('data: {"choices":[]}\n\n'),
};

function modelOf(server: ModelServer) {
  return createChatModel({
    baseUrl: server.url,
    apiKey: undefined,
    isOpenAi: false,
    takesCacheKey: false,
    timeouts,
  });
}

describe("a server that floods is cut off, as one that is not available:", () => {
  for (const [name, piece] of Object.entries(FLOODS)) {
    test(name, { timeout: 300_000 }, async () => {
      await using server = await startModelServer();
      server.reply(flood(piece, PIECES));
      let failure: ModelError | undefined;
      const cost = await cpuMsOf(async () => {
        ({ failure } = await ask(modelOf(server)));
      });
      assert.equal(failure?.kind, "unavailable");
      assert.ok(failure.retryable);
      assert.match(failure.message, /no part of an answer|does not end within/);
      // Without a bound it is 3 to 15 s for most of them; the server's own part is in it.
      assert.ok(cost < 2500, `${cost} ms of processor time`);
      assert.equal(await server.requests[0]?.done, "aborted");
    });
  }
});

/** Turns that everybody else has of the loop during some work. */
async function turnsBeside(work: () => Promise<unknown>): Promise<number> {
  let turns = 0;
  let isOver = false;
  const look = (): void => {
    turns++;
    if (!isOver) setImmediate(look);
  };
  setImmediate(look);
  await work();
  isOver = true;
  return turns;
}

test("however fast events come, everybody else has a turn every few milliseconds", async () => {
  const piece = Buffer.from(filled('data: {"choices":[{"delta":{"content":"and so on"}}]}\n\n'));
  // All of it is there at once: the stream itself waits for nothing.
  const response = new Response(ReadableStream.from(Array.from({ length: 60 }, () => piece)));
  const budget = new StreamBudget();
  let cost = 0;
  const turns = await turnsBeside(async () => {
    cost = await cpuMsOf(async () => {
      for await (const _ of chatEvents(response, budget)) budget.earn();
    });
  });
  assert.ok(turns > cost / 50, `${turns} turns in ${cost} ms of processor time`);
});

describe("a server that is only slow or talkative is heard to its end:", () => {
  const answer = chunk({ content: "at last" }) + chunk({}, "stop");
  const cases = {
    // A comment a second for ten minutes, and forty of them a second for as long.
    "keep-alives": ": OPENROUTER PROCESSING\n\n".repeat(600) + answer,
    "very many keep-alives": ": keep-alive\n\n".repeat(24_000) + answer,
    "thinking that it does not show": chunk({ content: "" }).repeat(20_000) + answer,
    "a long answer with a name, an id and keep-alives for each event":
      `event: message\nid: 1\n: and\n\n: on\n\n${chunk({ content: "so " })}`.repeat(30_000) + answer,
  };
  for (const [name, stream] of Object.entries(cases)) {
    test(name, async () => {
      await using server = await startModelServer();
      server.reply(rawStream(stream));
      const { answer: heard, failure } = await ask(modelOf(server), { maxOutputTokens: 32_000 });
      assert.equal(failure, undefined);
      assert.match(heard?.text ?? "", /at last$/);
    });
  }
});

test("a body of which each byte comes by itself is not read to its end", async () => {
  let taken = 0;
  async function* bytes(): AsyncGenerator<Uint8Array> {
    for (const byte = Buffer.from(" "); taken < 3_000_000; taken++) yield byte;
  }
  const text = await boundedText(new Response(ReadableStream.from(bytes())));
  assert.ok(text.length <= taken + 1 && taken < 200_000, `${taken} were taken`);
});
