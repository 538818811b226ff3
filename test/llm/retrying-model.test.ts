// proves: src/llm/model.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pino } from "pino";
import { createChatModel } from "../../src/llm/chat/chat-model.ts";
import type { Model } from "../../src/llm/model.ts";
import { createRetryingModel, type RetryOptions } from "../../src/llm/retrying-model.ts";
import { fallbackLog } from "../../src/daemon/setup.ts";
import {
  cutStream,
  rateLimited,
  resetBefore,
  resetMidStream,
  stalledStream,
  status,
  text,
  toolCalls,
} from "../support/model-behaviours.ts";
import { ask, modelRequest, SEARCH_HISTORY } from "../support/model-calls.ts";
import { contextLengthError } from "../support/model-refusals.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";

function patient(server: ModelServer, patience: Partial<RetryOptions> = {}, idleMs = 30_000): Model {
  const timeouts = { firstTokenMs: 30_000, idleMs, totalMs: 60_000 };
  const model = createChatModel({
    baseUrl: server.url,
    apiKey: "key",
    isOpenAi: false,
    takesCacheKey: false,
    timeouts,
  });
  return createRetryingModel(model, { firstDelayMs: 10, maxDelayMs: 40, ...patience });
}

const askedModels = (server: ModelServer): string[] => server.requests.map(({ body }) => body.model);

function gapMs(server: ModelServer): number {
  const [first, second] = server.requests;
  return (second?.at ?? 0) - (first?.at ?? 0);
}

describe("a patient model retries", () => {
  test("a busy server, a cut stream, a reset socket and an empty answer", async () => {
    for (const trouble of [status(503), cutStream("half"), resetBefore(), resetMidStream("half"), text("")]) {
      await using server = await startModelServer();
      server.reply(trouble, text("whole"));
      const { answer, shown, records } = await ask(patient(server));
      assert.equal(answer?.text, "whole");
      assert.equal(shown, "whole");
      assert.equal(records.length, 2);
    }
  });

  test("and says so where text was shown already", async () => {
    await using server = await startModelServer();
    server.reply(status(500), cutStream("half an ans"), text("whole"));
    const { shown, restarts, pieces } = await ask(patient(server));
    assert.deepEqual(pieces, ["half an ans", "whole"]);
    assert.equal(restarts, 1);
    assert.equal(shown, "whole");
  });

  test("and tool calls come out once", async () => {
    await using server = await startModelServer();
    const calls = toolCalls([{ name: "search_history", arguments: { query: "x" } }]);
    server.reply(resetBefore(), calls);
    const { answer } = await ask(patient(server), { tools: [SEARCH_HISTORY] });
    assert.equal(answer?.calls.length, 1);
  });

  test("not before the time that a 429 asks for", async () => {
    for (const header of [{ ms: 150 }, 0.15]) {
      await using server = await startModelServer();
      server.reply(rateLimited(header), text("whole"));
      assert.equal((await ask(patient(server))).answer?.text, "whole");
      assert.ok(gapMs(server) >= 149, `waited ${gapMs(server)} ms`);
    }
  });

  test("with growing waits, a bounded number of times", async () => {
    await using server = await startModelServer();
    server.respond(() => status(500));
    const { failure, records } = await ask(patient(server, { maxAttempts: 4 }));
    assert.equal(failure?.kind, "unavailable");
    assert.equal(records.length, 4);
    const [first, second, third, fourth] = server.requests.map(({ at }) => at);
    assert.ok((second ?? 0) - (first ?? 0) >= 5);
    assert.ok((fourth ?? 0) - (third ?? 0) >= 20);
  });

  test("not past its budget of time", async () => {
    await using server = await startModelServer();
    server.respond(() => status(500));
    const model = patient(server, { maxAttempts: 50, firstDelayMs: 30, maxDelayMs: 30, budgetMs: 800 });
    await ask(model);
    assert.ok(server.requests.length >= 2 && server.requests.length < 50);
  });
});

describe("a patient model goes on to its fallbacks", () => {
  test("in order, after the attempts on each", async () => {
    await using server = await startModelServer();
    server.respond(({ model }) => (model === "third" ? text("from the third") : status(500)));
    const { answer } = await ask(patient(server, { maxAttempts: 2, fallbacks: ["second", "third"] }));
    assert.equal(answer?.model, "third");
    assert.deepEqual(askedModels(server), ["test-model", "test-model", "second", "second", "third"]);
  });

  test("at once where a 429 asks for more than a person would wait", async () => {
    await using server = await startModelServer();
    server.reply(rateLimited(120), text("from the fallback"));
    const startedAt = performance.now();
    const { answer } = await ask(patient(server, { fallbacks: ["second"] }));
    assert.equal(answer?.model, "second");
    assert.ok(performance.now() - startedAt < 5000);
  });

  test("at once where the model was silent for a whole timeout", async () => {
    await using server = await startModelServer();
    server.reply(stalledStream("half"), text("whole"));
    const { shown, restarts } = await ask(patient(server, { fallbacks: ["second"] }, 1000));
    assert.deepEqual(askedModels(server), ["test-model", "second"]);
    assert.deepEqual([shown, restarts], ["whole", 1]);
  });

  test("without a retry where the first model is refused", async () => {
    for (const refusal of [status(401), status(404, { error: { message: "no such model" } })]) {
      await using server = await startModelServer();
      server.reply(refusal, text("whole"));
      assert.equal((await ask(patient(server, { fallbacks: ["second"] }))).answer?.model, "second");
      assert.deepEqual(askedModels(server), ["test-model", "second"]);
    }
  });

  test("and reports the last failure when all have failed", async () => {
    await using server = await startModelServer();
    server.reply(status(404, { error: { message: "no such model" } }), rateLimited(99));
    const { failure, records } = await ask(patient(server, { fallbacks: ["second"] }));
    assert.equal(failure?.kind, "rate_limited");
    assert.equal(failure.model, "second");
    assert.equal(failure.retryAfterMs, 99_000);
    assert.match(failure.message, /\(before it, test-model: .*no such model/);
    assert.deepEqual(
      records.map(({ model, outcome }) => [model, outcome]),
      [
        ["test-model", "rejected"],
        ["second", "rate_limited"],
      ],
    );
  });
});

test("a model that is asked again is told of, with the attempt and how many there may be", async () => {
  await using server = await startModelServer();
  server.reply(status(503), status(503), text("whole"));
  const told: [number, number][] = [];
  await patient(server, { maxAttempts: 4 }).answer(modelRequest(), {
    signal: new AbortController().signal,
    onRetry: (attempt, of) => told.push([attempt, of]),
  });
  assert.deepEqual(told, [
    [2, 4],
    [3, 4],
  ]);
});

describe("a patient model gives up at once", () => {
  test("where the request is too large: the caller has to make it smaller", async () => {
    await using server = await startModelServer();
    server.reply(contextLengthError("openai", 8192));
    const { failure } = await ask(patient(server, { fallbacks: ["second"] }));
    assert.equal(failure?.kind, "context_length");
    assert.equal(failure.window, 8192);
    assert.equal(server.requests.length, 1);
  });

  test("but tells of a fallback's smaller window, since a smaller request would help", async () => {
    await using server = await startModelServer();
    server.respond(({ model }) => (model === "small" ? contextLengthError("vllm", 2048) : status(401)));
    const { failure } = await ask(patient(server, { fallbacks: ["small", "third"] }));
    assert.deepEqual([failure?.kind, failure?.model, failure?.window], ["context_length", "small", 2048]);
  });

  test("when the caller aborts, in mid-stream or between two attempts", async () => {
    await using server = await startModelServer();
    server.respond((_request, index) => (index === 0 ? status(500) : stalledStream("half")));
    const waiting = new AbortController();
    const asked = ask(patient(server, { firstDelayMs: 5000, maxDelayMs: 5000 }), {}, waiting.signal);
    await server.received(1);
    await server.requests[0]?.done;
    setTimeout(() => waiting.abort(), 50);
    assert.equal((await asked).failure?.kind, "aborted");
    assert.equal(server.requests.length, 1);

    const streaming = new AbortController();
    const answer = patient(server, { fallbacks: ["second"] }).answer(modelRequest(), {
      signal: streaming.signal,
      onText: () => streaming.abort(),
    });
    await assert.rejects(answer, { kind: "aborted" });
    assert.equal(await server.requests[1]?.done, "aborted");
    assert.equal(server.requests.length, 2);
  });
});

test("what fails before a request is made, such as the log, is no failure of the model, and no fallback is asked", async () => {
  await using server = await startModelServer();
  const model = createRetryingModel(
    createChatModel({
      baseUrl: server.url,
      apiKey: undefined,
      isOpenAi: false,
      takesCacheKey: false,
      timeouts: { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 },
    }),
    { fallbacks: ["second"] },
  );
  const lost = new Error("the database is away");
  const make = async (): Promise<never> => Promise.reject(lost);
  const answer = model.answer({ model: "first", make }, { signal: AbortSignal.timeout(30_000) });
  await assert.rejects(answer, lost);
  assert.equal(server.requests.length, 0);
});

test("a model that is passed over is told to the log with its reason, once for each and without secrets", async () => {
  await using server = await startModelServer();
  const gone = { error: { message: `no such model, ask k3y-secret ${"x".repeat(400)}` } };
  server.respond(({ model }) => (model === "second" ? text("whole") : status(404, gone)));
  const lines: string[] = [];
  const log = pino({ base: null, timestamp: false }, { write: (line) => void lines.push(line) });
  const onPassedOver = fallbackLog(log, (why) => why.replaceAll("k3y-secret", "•••"));
  const model = patient(server, { fallbacks: ["second"], onPassedOver });
  for (let turn = 0; turn < 3; turn++) assert.equal((await ask(model)).answer?.text, "whole");
  server.respond(({ model: name }) => (name === "second" ? text("whole") : status(401)));
  assert.equal((await ask(model)).answer?.text, "whole");
  const told = lines.map((line): Record<string, unknown> => ({ ...JSON.parse(line) }));
  assert.deepEqual(
    told.map(({ level, msg, model: name, answeredBy, reason }) => [level, msg, name, answeredBy, reason]),
    [
      [40, "model_passed_over", "test-model", "second", "unknown_model"],
      [40, "model_passed_over", "test-model", "second", "key"],
    ],
  );
  assert.match(String(told[0]?.["why"]), /no such model, ask •••/);
  assert.equal(String(told[0]?.["why"]).length, 200);
});
