import assert from "node:assert/strict";
import process from "node:process";
import { describe, test } from "node:test";

import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import type { Model } from "../../../src/llm/model.ts";
import type { ModelTimeouts } from "../../../src/llm/http/watchdog.ts";
import {
  endlessRepetition,
  invalidUtf8,
  rawStream,
  stalledStream,
  status,
  text,
} from "../../support/model-behaviours.ts";
import { ask, modelRequest } from "../../support/model-calls.ts";
import { startModelServer, type ModelServer } from "../../support/model-server.ts";

function modelOf(server: ModelServer, timeouts: Partial<ModelTimeouts> = {}): Model {
  return createChatModel({
    baseUrl: server.url,
    apiKey: undefined,
    isOpenAi: false,
    takesCacheKey: false,
    timeouts: { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000, ...timeouts },
  });
}

const chunk = (delta: object, finish: string | null = null): string =>
  `data: ${JSON.stringify({ choices: [{ index: 0, delta, finish_reason: finish }] })}\n\n`;

/** A chunk whose content is written as JSON text, escapes and all. */
const rawChunk = (content: string): string =>
  `data: {"choices":[{"delta":{"content":"${content}"},"finish_reason":null}]}\n\n`;

const fail = (): never => {
  throw new Error("listener");
};

test("a call may be ended by whoever is told of the call: its connection fails for nobody", async () => {
  await using server = await startModelServer();
  const unhandled: unknown[] = [];
  const onUnhandled = (error: unknown): void => void unhandled.push(error);
  process.on("uncaughtException", onUnhandled);
  try {
    for (let round = 0; round < 20; round++) {
      server.reply(text(""));
      const ending = new AbortController();
      const call = modelOf(server).answer(modelRequest(), {
        signal: ending.signal,
        onCall: () => ending.abort(),
      });
      await assert.rejects(call);
    }
    await new Promise((resolve) => {
      setTimeout(resolve, 20);
    });
  } finally {
    process.off("uncaughtException", onUnhandled);
  }
  assert.deepEqual(unhandled, []);
});

describe("a streamed answer", () => {
  test("arrives piece by piece, with usage and cached tokens", async () => {
    await using server = await startModelServer();
    server.reply(text(["Hel", "lo ", "world"], { usage: { prompt: 120, cached: 100, completion: 3 } }));
    const { answer, pieces, records } = await ask(modelOf(server));
    assert.deepEqual(pieces, ["Hel", "lo ", "world"]);
    assert.deepEqual(answer, {
      model: "test-model",
      text: "Hello world",
      calls: [],
      finish: "stop",
      usage: { promptTokens: 120, cachedTokens: 100, writtenTokens: 0, completionTokens: 3 },
    });
    assert.equal(records.length, 1);
    assert.equal(records[0]?.outcome, "answered");
    assert.ok((records[0]?.firstTokenMs ?? -1) >= 0);
    assert.deepEqual(records[0]?.usage, answer?.usage);
  });

  test("is whole without usage, where a server ignores stream_options", async () => {
    await using server = await startModelServer();
    server.reply(text("hello there", { usage: "none" }));
    const { answer } = await ask(modelOf(server));
    assert.equal(answer?.text, "hello there");
    assert.equal(answer?.usage, undefined);
  });

  test("is whole where a server ignores `stream` and answers with plain JSON", async () => {
    await using server = await startModelServer();
    const message = { role: "assistant", content: "all at\nonce" };
    server.reply(
      status(200, { choices: [{ index: 0, message, finish_reason: "stop" }], usage: { prompt_tokens: 5 } }),
    );
    const { answer, shown } = await ask(modelOf(server));
    assert.equal(answer?.text, "all at\nonce");
    assert.equal(shown, "all at\nonce");
    assert.equal(answer?.usage?.promptTokens, 5);
  });

  test("is complete once it has a finish_reason, even if the server never closes the stream", async () => {
    await using server = await startModelServer();
    server.reply(async (exchange) => {
      exchange.response.writeHead(200, { "content-type": "text/event-stream" });
      exchange.response.write(chunk({ content: "done" }) + chunk({}, "stop"));
    });
    const { answer } = await ask(modelOf(server, { idleMs: 5000 }));
    assert.equal(answer?.text, "done");
  });
});

describe("an odd answer", () => {
  test("keeps emoji that the server splits over two chunks, and makes NUL storable", async () => {
    await using server = await startModelServer();
    server.reply(rawStream(rawChunk("a\\ud83d"), rawChunk("\\ude00b\\u0000"), chunk({}, "stop")));
    const { answer, shown } = await ask(modelOf(server));
    assert.equal(answer?.text, "a😀b\uFFFD");
    assert.equal(shown, answer?.text);
  });

  test("survives bytes that are not UTF-8", async () => {
    await using server = await startModelServer();
    server.reply(invalidUtf8("before ", " after"));
    const { answer } = await ask(modelOf(server));
    assert.match(answer?.text ?? "", /^before \uFFFD+\(? after$/u);
    assert.ok(answer?.text.isWellFormed());
  });

  test("that never ends is cut off at a bound from maxOutputTokens, and the server is told", async () => {
    await using server = await startModelServer();
    server.reply(endlessRepetition("again and again ".repeat(20)));
    const { answer } = await ask(modelOf(server), { maxOutputTokens: 50 });
    assert.equal(answer?.finish, "length");
    assert.ok((answer?.text.length ?? 0) < 50 * 16 + 400);
    assert.equal(await server.requests[0]?.done, "aborted");
  });

  test("of nothing is an empty answer; thinking that ate the whole limit says what to change", async () => {
    await using server = await startModelServer();
    server.reply(text("  \n"), text("", { reasoning: "hmm, hmm", finish: "length" }));
    assert.equal((await ask(modelOf(server))).failure?.kind, "empty");
    const { failure } = await ask(modelOf(server));
    assert.equal(failure?.kind, "empty");
    assert.match(failure?.message ?? "", /raise max_output_tokens/);
  });

  test("tells the finish reasons apart", async () => {
    await using server = await startModelServer();
    server.reply(
      text("a", { finish: "length" }),
      text("b", { finish: "content_filter" }),
      text("c", { finish: "eos" }),
    );
    const model = modelOf(server);
    const finishes = [];
    for (let index = 0; index < 3; index++) finishes.push((await ask(model)).answer?.finish);
    assert.deepEqual(finishes, ["length", "filtered", "stop"]);
  });
});

describe("thinking", () => {
  test("in reasoning_content is not shown, but keeps the call alive", async () => {
    await using server = await startModelServer();
    server.reply(async (exchange) => {
      exchange.response.writeHead(200, { "content-type": "text/event-stream" });
      for (let index = 0; index < 6; index++) {
        exchange.response.write(chunk({ reasoning_content: "step" }));
        await new Promise((resolve) => {
          setTimeout(resolve, 250);
        });
      }
      exchange.response.end(chunk({ content: "42" }) + chunk({}, "stop"));
    });
    const { answer, pieces } = await ask(modelOf(server, { firstTokenMs: 1000 }));
    assert.equal(answer?.text, "42");
    assert.deepEqual(pieces, ["42"]);
  });

  test("in <think> blocks is not shown, however the stream splits them", async () => {
    await using server = await startModelServer();
    const whole = "<think>They said </thin hello.</think>\n\nHello <b>you</b>";
    server.reply(text(whole.split("")), text([whole]));
    const model = modelOf(server);
    for (let index = 0; index < 2; index++) {
      const { answer, shown } = await ask(model);
      assert.equal(answer?.text, "Hello <b>you</b>");
      assert.equal(shown, answer?.text);
    }
  });

  test("of which only the end is marked is taken back when the mark comes", async () => {
    await using server = await startModelServer();
    server.reply(text(["I should greet.", "\n</th", "ink>\n", "\nHello"]));
    const { answer, shown, restarts } = await ask(modelOf(server));
    assert.equal(answer?.text, "Hello");
    assert.equal(shown, "Hello");
    assert.equal(restarts, 1);
  });
});

describe("a listener that throws", () => {
  test("voids nothing", async () => {
    await using server = await startModelServer();
    server.reply(text("hello"));
    const signal = new AbortController().signal;
    const answer = await modelOf(server).answer(modelRequest(), { signal, onText: fail, onCall: fail });
    assert.equal(answer.text, "hello");
  });
});

describe("an abort", () => {
  test("before the first token reaches the server and is reported", async () => {
    await using server = await startModelServer();
    server.reply(stalledStream());
    const controller = new AbortController();
    const asked = ask(modelOf(server), {}, controller.signal);
    await server.received(1);
    controller.abort();
    const { failure, records } = await asked;
    assert.equal(failure?.kind, "aborted");
    assert.deepEqual(
      records.map(({ outcome }) => outcome),
      ["aborted"],
    );
    assert.equal(await server.requests[0]?.done, "aborted");
  });

  test("in mid-stream is no silent end: it rejects, and closes the server's socket", async () => {
    await using server = await startModelServer();
    server.reply(stalledStream("half an"));
    const controller = new AbortController();
    const answer = modelOf(server).answer(modelRequest(), {
      signal: controller.signal,
      onText: () => controller.abort(),
    });
    await assert.rejects(answer, { kind: "aborted" });
    assert.equal(await server.requests[0]?.done, "aborted");
  });

  test("before the call sends nothing", async () => {
    await using server = await startModelServer();
    assert.equal((await ask(modelOf(server), {}, AbortSignal.abort())).failure?.kind, "aborted");
    assert.equal(server.requests.length, 0);
  });
});
