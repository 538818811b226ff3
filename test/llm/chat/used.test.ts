// proves: src/llm/chat/chat-model.ts, src/llm/chat/chat-chunk.ts, src/llm/chat/answer-accumulator.ts, src/llm/http/node-fetch.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import type { ModelTimeouts } from "../../../src/llm/http/watchdog.ts";
import type { Model, ModelCallRecord } from "../../../src/llm/model.ts";
import { estimateTokens } from "../../../src/text/tokens.ts";
import {
  cutStream,
  rateLimited,
  rawStream,
  resetMidStream,
  stalledStream,
  status,
  streamError,
  text,
} from "../../support/model-behaviours.ts";
import { ask, modelRequest } from "../../support/model-calls.ts";
import { type Behaviour, startModelServer } from "../../support/model-server.ts";

const HALF = "half of an answer that never ended";

function modelAt(baseUrl: string, timeouts: Partial<ModelTimeouts> = {}): Model {
  return createChatModel({
    baseUrl,
    apiKey: undefined,
    isOpenAi: false,
    takesCacheKey: false,
    timeouts: { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000, ...timeouts },
  });
}

/** The record of one attempt. */
async function recordOf(behaviour: Behaviour, timeouts?: Partial<ModelTimeouts>): Promise<ModelCallRecord> {
  await using server = await startModelServer();
  server.reply(behaviour);
  const { records } = await ask(modelAt(server.url, timeouts));
  const [record] = records;
  assert.ok(record !== undefined && records.length === 1);
  return record;
}

test("an attempt is paid for with what came of it, where its stream broke, was silent, or told of an error", async () => {
  const broken: readonly (readonly [Behaviour, Partial<ModelTimeouts>])[] = [
    [cutStream(HALF), {}],
    [resetMidStream(HALF), {}],
    [stalledStream(HALF), { idleMs: 50 }],
    [streamError({ message: "overloaded" }, HALF), {}],
  ];
  for (const [behaviour, timeouts] of broken) {
    const { usage, isPaid, receivedTokens, outcome } = await recordOf(behaviour, timeouts);
    assert.deepEqual(
      { usage, isPaid, receivedTokens },
      { usage: undefined, isPaid: true, receivedTokens: estimateTokens(HALF) },
      outcome,
    );
  }
});

test("an attempt is paid for where its caller ended it in mid-stream, or before the first token", async () => {
  for (const [begun, received] of [
    [HALF, estimateTokens(HALF)],
    [undefined, 0],
  ] as const) {
    await using server = await startModelServer();
    server.reply(stalledStream(begun));
    const records: ModelCallRecord[] = [];
    const ending = new AbortController();
    const call = modelAt(server.url).answer(modelRequest(), {
      signal: ending.signal,
      onText: () => ending.abort(),
      onCall: (record) => records.push(record),
    });
    await server.received(1);
    if (begun === undefined) ending.abort();
    await assert.rejects(call);
    const [record] = records;
    assert.partialDeepStrictEqual(record, { outcome: "aborted", isPaid: true, receivedTokens: received });
  }
});

test("an attempt is paid for where no token came in time, and where a gateway has waited for the model in vain", async () => {
  const late = await recordOf(stalledStream(), { firstTokenMs: 1500 });
  assert.partialDeepStrictEqual(late, { outcome: "timeout", isPaid: true, receivedTokens: 0 });
  for (const code of [504, 524]) assert.equal((await recordOf(status(code))).isPaid, true, String(code));
});

test("an attempt is paid for with its thinking, under whatever name, once, and with its calls", async () => {
  const thought = "let me think about the mill";
  const deltas: readonly (readonly [object, number])[] = [
    [{ reasoning_content: thought }, estimateTokens(thought)],
    [
      { reasoning: thought, reasoning_details: [{ type: "reasoning.text", text: thought }] },
      estimateTokens(thought),
    ],
    [{ reasoning: thought, reasoning_content: thought }, estimateTokens(thought)],
    [
      { content: [{ type: "thinking", thinking: [{ type: "text", text: thought }] }] },
      estimateTokens(thought),
    ],
    [{ content: `<think>${thought}` }, estimateTokens(`<think>${thought}`)],
    [
      { tool_calls: [{ index: 0, id: "c", function: { name: "look", arguments: '{"q":1}' } }] },
      estimateTokens('look{"q":1}'),
    ],
  ];
  for (const [delta, tokens] of deltas) {
    const event = `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: null }] })}\n\n`;
    const { receivedTokens } = await recordOf(rawStream(event));
    assert.equal(receivedTokens, tokens, JSON.stringify(delta));
  }
});

test("an attempt is paid for with all that came, where it was answered and its server reports nothing", async () => {
  const record = await recordOf(text("hello there", { usage: "none" }));
  assert.partialDeepStrictEqual(record, {
    outcome: "answered",
    usage: undefined,
    isPaid: true,
    receivedTokens: estimateTokens("hello there"),
  });
});

test("an attempt costs nothing where its server turned it away, also inside a stream", async () => {
  for (const behaviour of [
    status(400, { error: { message: "no" } }),
    status(401),
    status(404),
    status(413),
    rateLimited(),
    status(500),
    status(503),
    streamError({ message: "slow down", code: "rate_limit_exceeded" }),
  ]) {
    const { isPaid, outcome, receivedTokens } = await recordOf(behaviour);
    assert.deepEqual({ isPaid, receivedTokens }, { isPaid: false, receivedTokens: 0 }, outcome);
  }
});

test("an attempt costs nothing where it never reached a server", async () => {
  const server = await startModelServer();
  await server[Symbol.asyncDispose]();
  const { records } = await ask(modelAt(server.url));
  assert.partialDeepStrictEqual(records, [{ outcome: "unavailable", isPaid: false }]);
});

test("an attempt costs nothing where its caller had ended it before it was sent", async () => {
  await using server = await startModelServer();
  const { records } = await ask(modelAt(server.url), {}, AbortSignal.abort());
  assert.partialDeepStrictEqual(records, [{ outcome: "aborted", isPaid: false }]);
  assert.equal(server.requests.length, 0);
});

test("what a server reports with an error counts, in the error's body and inside a stream", async () => {
  const usage = { prompt_tokens: 70, completion_tokens: 5 };
  const said = { promptTokens: 70, cachedTokens: 0, writtenTokens: 0, completionTokens: 5 };
  const inBody = await recordOf(status(500, { error: { message: "broke" }, usage }));
  assert.deepEqual(inBody.usage, said);
  const inStream = await recordOf(
    rawStream(`data: ${JSON.stringify({ error: { message: "broke" }, usage })}\n\n`),
  );
  assert.deepEqual(inStream.usage, said);
});

test("thoughts that a server counts in the total alone are counted, and an answer that they used up is no full window", async () => {
  const usage = { prompt_tokens: 20_000, completion_tokens: 0, total_tokens: 24_093 };
  const event = { choices: [{ index: 0, delta: { role: "assistant" }, finish_reason: "length" }], usage };
  const record = await recordOf(rawStream(`data: ${JSON.stringify(event)}\n\ndata: [DONE]\n\n`));
  assert.partialDeepStrictEqual(record, { outcome: "empty", isPaid: true, reason: "output_spent" });
  assert.equal(record.usage?.completionTokens, 4093);
});
