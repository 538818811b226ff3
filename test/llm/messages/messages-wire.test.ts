// proves: src/llm/messages/messages-events.ts, src/llm/messages/messages-wire.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ModelMessage } from "../../../src/core/context.ts";
import { cacheRuleOf } from "../../../src/llm/caches/rules.ts";
import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import type { Model } from "../../../src/llm/model.ts";
import { openModels } from "../../../src/llm/model-provider.ts";
import { llm } from "../../support/llm-config.ts";
import { ask, SEARCH_HISTORY } from "../../support/model-calls.ts";
import {
  brokenOff,
  events,
  notStreamed,
  refusal,
  startWireServer,
  type WireServer,
} from "../../support/wire-server.ts";

const PATH = "/v1/messages";

function modelOf(server: WireServer, takesCacheMarkers = false): Model {
  const timeouts = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
  return createChatModel({
    baseUrl: `${server.origin}/v1`,
    apiKey: "sk-ant-0123",
    isOpenAi: false,
    isAnthropic: true,
    takesCacheKey: false,
    cacheRule: (model, api) => ({
      ...cacheRuleOf({ hostname: "", model, said: takesCacheMarkers, api }),
      least: 0,
    }),
    timeouts,
  });
}

const start = {
  type: "message_start",
  message: {
    id: "msg_1",
    type: "message",
    role: "assistant",
    content: [],
    stop_reason: null,
    usage: {
      input_tokens: 10,
      cache_read_input_tokens: 1000,
      cache_creation_input_tokens: 200,
      output_tokens: 1,
    },
  },
};
const block = (index: number, content_block: object) => ({
  type: "content_block_start",
  index,
  content_block,
});
const piece = (index: number, delta: object) => ({ type: "content_block_delta", index, delta });
const stop = (index: number) => ({ type: "content_block_stop", index });
const end = (stop_reason: string) => [
  { type: "message_delta", delta: { stop_reason, stop_sequence: null }, usage: { output_tokens: 42 } },
  { type: "message_stop" },
];
const said = (text: string, index = 0) => [
  block(index, { type: "text", text: "" }),
  { type: "ping" },
  piece(index, { type: "text_delta", text }),
  stop(index),
];
const call = (index: number, id: string, json: string) => [
  block(index, { type: "tool_use", id, name: "search_history", input: {} }),
  ...(json.match(/.{1,6}/g) ?? []).map((partial_json) =>
    piece(index, { type: "input_json_delta", partial_json }),
  ),
  stop(index),
];
const thinking = (index: number, words: string, signature: string) => [
  block(index, { type: "thinking", thinking: "", signature: "" }),
  piece(index, { type: "thinking_delta", thinking: words }),
  piece(index, { type: "signature_delta", signature }),
  stop(index),
];

test("Messages is asked with the system apart, in turns, results first, and no empty text", async () => {
  await using server = await startWireServer({
    [PATH]: () => events(start, ...said("Hello"), ...end("end_turn")),
  });
  const messages: ModelMessage[] = [
    { role: "system", text: "You are Weir." },
    { role: "assistant", text: "earlier", calls: [] },
    { role: "user", text: "one" },
    { role: "user", text: "two", images: [{ type: "image/png", base64: "AAAA" }] },
    {
      role: "assistant",
      text: "",
      calls: [{ id: "functions.x:0", name: "search_history", arguments: '{"query":"x"}' }],
    },
    { role: "tool", callId: "functions.x:0", text: "nothing" },
    { role: "user", text: " " },
    { role: "user", text: "now" },
  ];
  const { answer, shown, records } = await ask(modelOf(server), {
    model: "claude-opus-5",
    messages,
    tools: [SEARCH_HISTORY],
    toolChoice: "none",
    cacheKey: "k",
  });
  assert.deepEqual([answer?.text, answer?.finish, shown], ["Hello", "stop", "Hello"]);
  const { usage } = records[0] ?? {};
  assert.deepEqual([usage?.promptTokens, usage?.cachedTokens, usage?.completionTokens], [1210, 1000, 42]);
  assert.equal(usage?.writtenTokens, 200);
  const { body, headers } = server.requests[0] ?? {};
  assert.equal(headers?.authorization, "Bearer sk-ant-0123");
  assert.deepEqual(body, {
    model: "claude-opus-5",
    max_tokens: 1000,
    system: [{ type: "text", text: "You are Weir." }],
    messages: [
      { role: "user", content: [{ type: "text", text: "…" }] },
      { role: "assistant", content: [{ type: "text", text: "earlier" }] },
      {
        role: "user",
        content: [
          { type: "text", text: "one" },
          { type: "text", text: "two" },
          { type: "image", source: { type: "base64", media_type: "image/png", data: "AAAA" } },
        ],
      },
      {
        role: "assistant",
        content: [{ type: "tool_use", id: "functions_x_0", name: "search_history", input: { query: "x" } }],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: "functions_x_0", content: "nothing" },
          { type: "text", text: "now" },
        ],
      },
    ],
    stream: true,
    tools: [
      {
        name: "search_history",
        description: "Searches.",
        input_schema: SEARCH_HISTORY.parameters,
      },
    ],
    tool_choice: { type: "none" },
  });
});

test("Messages is sent each id once, each result with its call, and thoughts before the calls that they led to", async () => {
  await using server = await startWireServer({
    [PATH]: () => events(start, ...said("found"), ...end("end_turn")),
  });
  // As servers number them that begin anew with each answer.
  const asking = (id: string): ModelMessage => {
    return { role: "assistant", text: "", calls: [{ id, name: "search_history", arguments: "{}" }] };
  };
  const messages: ModelMessage[] = [
    { role: "user", text: "one" },
    asking("search:0"),
    { role: "tool", callId: "search:0", text: "first" },
    { role: "assistant", text: "So.", calls: [] },
    { role: "user", text: "two" },
    asking("search:0"),
    { role: "tool", callId: "search:0", text: "second" },
  ];
  const items = [{ type: "thinking", thinking: "hm", signature: "sig" }];
  const thoughts = [{ model: "claude-opus-5", api: "messages" as const, callIds: ["search:0"], items }];
  await ask(modelOf(server), { model: "claude-opus-5", tools: [SEARCH_HISTORY], messages, thoughts });
  const sent = JSON.stringify(server.requests[0]?.body["messages"]);
  const blocks = Array.from(
    sent.matchAll(/"(?:thinking":"hm|id":"[^"]+|tool_use_id":"[^"]+)"/g),
    ([one]) => one,
  );
  assert.deepEqual(blocks, [
    '"id":"search_0"',
    '"tool_use_id":"search_0"',
    '"thinking":"hm"',
    '"id":"search_0_2"',
    '"tool_use_id":"search_0_2"',
  ]);
});

test("Messages makes two parallel calls, and gets its signed thoughts back with their results", async () => {
  await using server = await startWireServer({
    [PATH]: (_, index) =>
      index === 0
        ? events(
            start,
            ...thinking(0, "hm", "sig1"),
            block(1, { type: "redacted_thinking", data: "xyz" }),
            stop(1),
            ...said("I look.", 2),
            ...call(3, "toolu_a", '{"query":"x"}'),
            ...call(4, "toolu_b", ""),
            ...end("tool_use"),
          )
        : events(start, ...said("found"), ...end("end_turn")),
  });
  const model = modelOf(server);
  const request = { model: "claude-opus-5", tools: [SEARCH_HISTORY] };
  const { answer, shown } = await ask(model, request);
  assert.deepEqual([answer?.text, shown, answer?.finish], ["I look.", "I look.", "tool_calls"]);
  const { calls = [], thoughts } = answer ?? {};
  assert.deepEqual(
    calls.map(({ id, arguments: given }) => [id, given]),
    [
      ["toolu_a", '{"query":"x"}'],
      ["toolu_b", "{}"],
    ],
  );
  assert.ok(thoughts !== undefined);
  const messages: ModelMessage[] = [
    { role: "user", text: "look" },
    { role: "assistant", text: "I look.", calls },
    { role: "tool", callId: "toolu_a", text: "one" },
    { role: "tool", callId: "toolu_b", text: "two" },
  ];
  assert.equal((await ask(model, { ...request, messages, thoughts: [thoughts] })).answer?.text, "found");
  assert.deepEqual(server.requests[1]?.body["messages"], [
    { role: "user", content: [{ type: "text", text: "look" }] },
    {
      role: "assistant",
      content: [
        { type: "thinking", thinking: "hm", signature: "sig1" },
        { type: "redacted_thinking", data: "xyz" },
        { type: "text", text: "I look." },
        { type: "tool_use", id: "toolu_a", name: "search_history", input: { query: "x" } },
        { type: "tool_use", id: "toolu_b", name: "search_history", input: {} },
      ],
    },
    {
      role: "user",
      content: [
        { type: "tool_result", tool_use_id: "toolu_a", content: "one" },
        { type: "tool_result", tool_use_id: "toolu_b", content: "two" },
      ],
    },
  ]);
});

test("Messages ends: cut by its limit or its window, refused", async () => {
  for (const [reason, finish] of [
    ["max_tokens", "length"],
    ["model_context_window_exceeded", "length"],
    ["refusal", "filtered"],
    ["stop_sequence", "stop"],
  ] as const) {
    await using server = await startWireServer({
      [PATH]: () => events(start, ...said("well"), ...end(reason)),
    });
    assert.equal((await ask(modelOf(server), { model: "claude-opus-5" })).answer?.finish, finish);
  }
});

test("Messages is read where a server does not stream", async () => {
  const whole = {
    ...start.message,
    content: [
      { type: "text", text: "at once" },
      { type: "tool_use", id: "toolu_a", name: "search_history", input: { query: "x" } },
    ],
    stop_reason: "tool_use",
  };
  await using server = await startWireServer({ [PATH]: () => notStreamed(whole) });
  const { answer } = await ask(modelOf(server), { model: "claude-opus-5", tools: [SEARCH_HISTORY] });
  assert.deepEqual(
    [answer?.text, answer?.calls[0]?.arguments, answer?.usage?.promptTokens],
    ["at once", '{"query":"x"}', 1210],
  );
});

test("Messages fails as any API does", async () => {
  const error = (type: string, message = "no") => ({ type: "error", error: { type, message } });
  for (const [answering, kind] of [
    [events(start, ...said("ha"), error("overloaded_error")), "unavailable"],
    [events(start, error("rate_limit_error")), "rate_limited"],
    [brokenOff(start, ...said("half")), "unavailable"],
    [refusal(529, { type: "overloaded_error", message: "Overloaded" }), "unavailable"],
    [
      refusal(401, { type: "authentication_error", message: "invalid x-api-key sk-ant-0123" }),
      "unauthorized",
    ],
    [
      refusal(400, {
        type: "invalid_request_error",
        message: "prompt is too long: 250000 tokens > 200000 maximum",
      }),
      "context_length",
    ],
    [refusal(404, { type: "not_found_error", message: "model: claude-none" }), "rejected"],
  ] as const) {
    await using server = await startWireServer({ [PATH]: () => answering });
    const { failure, records } = await ask(modelOf(server), { model: "claude-opus-5" });
    assert.equal(failure?.kind, kind);
    assert.doesNotMatch(failure.message, /sk-ant/);
    assert.equal(records.length, 1);
  }
});

test("Messages takes the largest limit that a refusal names", async () => {
  await using server = await startWireServer({
    [PATH]: ({ body }) =>
      Number(body["max_tokens"]) > 512
        ? refusal(400, {
            type: "invalid_request_error",
            message:
              "max_tokens: 1000 > 512, which is the maximum allowed number of output tokens for claude-3",
          })
        : events(start, ...said("ok"), ...end("end_turn")),
  });
  assert.equal((await ask(modelOf(server), { model: "claude-3" })).answer?.text, "ok");
  assert.equal(server.requests[1]?.body["max_tokens"], 512);
});

test("Messages is a server's API by configuration, and its models are listed in its own way", async () => {
  await using server = await startWireServer({
    "/v1/models": () =>
      notStreamed({ data: [{ type: "model", id: "claude-opus-5", max_input_tokens: 900_000 }] }),
    [PATH]: () => events(start, ...said("hello"), ...end("end_turn")),
  });
  const claude = {
    name: "claude",
    baseUrl: server.origin,
    apiKey: "sk-ant-0123",
    api: "messages" as const,
    headers: { "x-team": "blue" },
  };
  await using models = await openModels(llm({ servers: [claude] }));
  assert.equal(await models.resolve("claude/auto"), "claude/claude-opus-5");
  assert.equal(models.windowOf("claude/claude-opus-5", 0), 900_000);
  assert.equal((await ask(models.model, { model: "claude/auto" })).answer?.model, "claude/claude-opus-5");
  // Whether an Ollama is there is asked as well.
  const listing = server.requests.find(({ path }) => path === "/v1/models");
  const request = server.requests.find(({ path }) => path === PATH);
  assert.deepEqual(
    [listing?.headers.authorization, listing?.headers["x-team"]],
    ["Bearer sk-ant-0123", "blue"],
  );
  assert.deepEqual([request?.body["model"], request?.headers["x-team"]], ["claude-opus-5", "blue"]);
});

test("Messages marks what stays: parts of a text, results of a loop, and no assistant's words", async () => {
  await using server = await startWireServer({
    [PATH]: () => events(start, ...said("ok"), ...end("end_turn")),
  });
  const called = (id: string): ModelMessage => {
    return { role: "assistant", text: "", calls: [{ id, name: "search_history", arguments: "{}" }] };
  };
  const messages: ModelMessage[] = [
    { role: "system", text: "You are Weir." },
    { role: "user", text: "summary\none\nnow" },
    called("a"),
    { role: "tool", callId: "a", text: "nothing" },
    called("b"),
    { role: "tool", callId: "b", text: "less" },
  ];
  const stableEnds = [
    { message: 0, length: 13 },
    { message: 1, length: 7 },
    { message: 1, length: 11 },
  ];
  const hour = { type: "ephemeral", ttl: "1h" };
  const waits = Array.from({ length: 6 }, () => 20 * 60_000);
  await ask(modelOf(server, true), {
    model: "claude-opus-5",
    messages,
    tools: [SEARCH_HISTORY],
    stableEnds,
    waits,
  });
  const { body } = server.requests[0] ?? {};
  assert.partialDeepStrictEqual(body, {
    system: [{ type: "text", text: "You are Weir." }],
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "summary", cache_control: hour },
          { type: "text", text: "\none", cache_control: hour },
          { type: "text", text: "\nnow" },
        ],
      },
      { role: "assistant", content: [{ type: "tool_use" }] },
      { role: "user", content: [{ type: "tool_result" }] },
      { role: "assistant", content: [{ type: "tool_use" }] },
      { role: "user", content: [{ type: "tool_result", cache_control: hour }] },
    ],
  });
  assert.equal(JSON.stringify(body).match(/cache_control/g)?.length, 3);
});
