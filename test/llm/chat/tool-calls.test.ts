import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import { toolCalls } from "../../support/model-behaviours.ts";
import { ask, SEARCH_HISTORY } from "../../support/model-calls.ts";
import { startModelServer, type Behaviour } from "../../support/model-server.ts";

const TWO = [
  { name: "search_history", arguments: { query: "the first, a longer one" }, id: "a" },
  { name: "search_history", arguments: { query: "second" }, id: "b" },
];

async function callsOf(behaviour: Behaviour, toolChoice: "auto" | "none" = "auto") {
  await using server = await startModelServer();
  server.reply(behaviour);
  const timeouts = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
  const model = createChatModel({
    baseUrl: server.url,
    apiKey: undefined,
    isOpenAi: false,
    takesCacheKey: false,
    timeouts,
  });
  return await ask(model, { tools: [SEARCH_HISTORY], toolChoice });
}

describe("parallel tool calls", () => {
  for (const dialect of ["indexed", "no_index", "shared_index", "shared_no_id"] as const) {
    test(`come out whole and apart (${dialect})`, async () => {
      const { answer } = await callsOf(toolCalls(TWO, { dialect, text: "Let me look. " }));
      assert.equal(answer?.finish, "tool_calls");
      assert.equal(answer.text, "Let me look. ");
      assert.deepEqual(
        answer.calls.map((call) => [call.name, JSON.parse(call.arguments)]),
        TWO.map((call) => [call.name, call.arguments]),
      );
      assert.equal(new Set(answer.calls.map(({ id }) => id)).size, 2);
      if (dialect !== "shared_no_id")
        assert.deepEqual(
          answer.calls.map(({ id }) => id),
          ["a", "b"],
        );
    });
  }

  test("keep arguments whose first piece is their second one as well", async () => {
    for (const levels of [1, 2, 3, 40]) {
      const json = `${'{"a":'.repeat(levels)}1${"}".repeat(levels)}`;
      const { answer } = await callsOf(toolCalls([{ name: "search_history", arguments: json }]));
      assert.equal(answer?.calls[0]?.arguments, json);
    }
  });

  test("without ids, or with the same id twice, get ids of their own", async () => {
    for (const id of [null, "same"]) {
      const { answer } = await callsOf(toolCalls(TWO.map((call) => ({ ...call, id }))));
      const ids = answer?.calls.map((call) => call.id) ?? [];
      assert.equal(new Set(ids).size, 2);
      assert.ok(ids.every((given) => given !== ""));
      assert.deepEqual(
        answer?.calls.map((call): unknown => JSON.parse(call.arguments)),
        TWO.map((call) => call.arguments),
      );
    }
  });
});

describe("the id of a tool call", () => {
  const idsOf = async (ids: readonly string[], dialect: "indexed" | "shared_index") => {
    const calls = ids.map((id, place) => ({ name: "search_history", arguments: { place }, id }));
    const { answer } = await callsOf(toolCalls(calls, { dialect }));
    assert.deepEqual(
      answer?.calls.map((call): unknown => JSON.parse(call.arguments)),
      calls.map((call) => call.arguments),
    );
    return answer.calls.map(({ id }) => id);
  };

  test("stays as real servers make it", async () => {
    const ids = [
      "call_Z8ofZnYOCeOnpu0h2auwOgeR",
      "D681PevKs",
      "toolu_013wc5CxNCjWGN2rsAR82rJK",
      "chatcmpl-tool-23c5c0da71854f9bbd8774f7d0113a69",
      "functions.search_history:0",
    ];
    assert.deepEqual(await idsOf(ids, "indexed"), ids);
  });

  test("is another one where it is too long or too odd to go back with every later request", async () => {
    const odd = ["i".repeat(2_000_000), "a b\n\u001B[31m🙂", "nul\0", "x".repeat(65), "x".repeat(66)];
    for (const dialect of ["indexed", "shared_index"] as const) {
      const ids = await idsOf(odd, dialect);
      assert.equal(new Set(ids).size, odd.length);
      for (const id of ids) assert.match(id, /^[a-z0-5]{9}$/);
    }
  });
});

describe("a tool call", () => {
  test("is one where the server says `stop`", async () => {
    const { answer } = await callsOf(toolCalls(TWO.slice(0, 1), { finish: "stop" }));
    assert.equal(answer?.finish, "tool_calls");
  });

  test("with broken JSON is passed on as it is: the caller answers it", async () => {
    const { answer } = await callsOf(toolCalls([{ name: "search_history", arguments: '{"query": oops' }]));
    assert.equal(answer?.calls[0]?.arguments, '{"query": oops');
  });

  test("that was cut off by the output limit is dropped", async () => {
    const cut = [TWO[0], { name: "search_history", arguments: '{"query": "never fin' }].filter(
      (call) => call !== undefined,
    );
    const { answer } = await callsOf(toolCalls(cut, { finish: "length" }));
    assert.deepEqual(
      answer?.calls.map(({ id }) => id),
      ["a"],
    );
  });

  test("that was forbidden is not passed on", async () => {
    const { answer } = await callsOf(toolCalls(TWO, { text: "Anyway: hello." }), "none");
    assert.deepEqual(answer?.calls, []);
    assert.equal(answer.text, "Anyway: hello.");
    const { failure } = await callsOf(toolCalls(TWO), "none");
    assert.equal(failure?.kind, "empty");
  });
});
