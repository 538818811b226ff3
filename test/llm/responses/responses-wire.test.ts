// proves: src/llm/responses/responses-events.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cacheRuleOf } from "../../../src/llm/caches/rules.ts";
import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import type { ChatServer } from "../../../src/llm/chat/chat-request.ts";
import type { Api } from "../../../src/llm/dialect.ts";
import type { Model } from "../../../src/llm/model.ts";
import { ask, SEARCH_HISTORY } from "../../support/model-calls.ts";
import {
  brokenOff,
  events,
  notStreamed,
  refusal,
  startWireServer,
  type WireServer,
} from "../../support/wire-server.ts";

const PATH = "/v1/responses";
const USAGE = {
  input_tokens: 1200,
  input_tokens_details: { cached_tokens: 1024, cache_write_tokens: 100 },
  output_tokens: 30,
  output_tokens_details: { reasoning_tokens: 20 },
  total_tokens: 1230,
};

function modelOf(
  server: WireServer,
  more: Pick<Partial<ChatServer>, "isOpenAi" | "api" | "cacheRule"> = {},
): Model {
  const timeouts = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
  return createChatModel({
    baseUrl: `${server.origin}/v1`,
    apiKey: "sk-key-0123",
    isOpenAi: true,
    takesCacheKey: true,
    timeouts,
    ...more,
  });
}

const REASONING = { id: "rs_1", type: "reasoning", summary: [], encrypted_content: "gAAAA" };
const text = (delta: string, output_index = 0) => ({
  type: "response.output_text.delta",
  item_id: "msg_1",
  output_index,
  content_index: 0,
  delta,
});
const added = (output_index: number, item: object) => ({
  type: "response.output_item.added",
  output_index,
  item,
});
const done = (output_index: number, item: object) => ({
  type: "response.output_item.done",
  output_index,
  item,
});
const completed = (more: object = {}) => ({
  type: "response.completed",
  response: {
    id: "resp_1",
    object: "response",
    status: "completed",
    error: null,
    incomplete_details: null,
    output: [],
    usage: USAGE,
    ...more,
  },
});
const created = {
  type: "response.created",
  response: { id: "resp_1", object: "response", status: "in_progress", error: null, output: [] },
};

/** A call as it is streamed. */
function call(place: number, id: string, json: string) {
  const item = { id: `fc_${id}`, type: "function_call", call_id: id, name: "search_history", arguments: "" };
  return [
    added(place, item),
    ...(json.match(/.{1,7}/g)?.map((delta) => ({
      type: "response.function_call_arguments.delta",
      item_id: `fc_${id}`,
      output_index: place,
      delta,
    })) ?? []),
    {
      type: "response.function_call_arguments.done",
      item_id: `fc_${id}`,
      output_index: place,
      arguments: notStreamed,
    },
    done(place, { ...item, arguments: notStreamed, status: "completed" }),
  ];
}

test("Responses is what OpenAI's newest models are asked by: with reasoning, stored nowhere, the system apart", async () => {
  await using server = await startWireServer({
    [PATH]: () =>
      events(
        created,
        added(0, { ...REASONING, encrypted_content: null }),
        done(0, REASONING),
        text("Hel", 1),
        text("lo", 1),
        completed(),
      ),
  });
  const { answer, shown, records } = await ask(modelOf(server), {
    model: "gpt-6-luna",
    messages: [
      { role: "system", text: "You are Weir." },
      { role: "user", text: "hi", images: [{ type: "image/png", base64: "AAAA" }] },
    ],
    tools: [SEARCH_HISTORY],
    temperature: 0.5,
    cacheKey: "k1",
  });
  assert.deepEqual([answer?.text, answer?.finish, shown], ["Hello", "stop", "Hello"]);
  assert.equal(answer?.thoughts, undefined);
  assert.deepEqual(
    [
      records.length,
      records[0]?.usage?.promptTokens,
      records[0]?.usage?.cachedTokens,
      records[0]?.usage?.writtenTokens,
      records[0]?.usage?.completionTokens,
    ],
    [1, 1200, 1024, 100, 30],
  );
  const { body, headers } = server.requests[0] ?? {};
  assert.equal(headers?.authorization, "Bearer sk-key-0123");
  const { instructions, input, store, include, reasoning, temperature, max_output_tokens, prompt_cache_key } =
    body ?? {};
  assert.deepEqual(
    { instructions, store, include, reasoning, temperature, max_output_tokens, prompt_cache_key },
    {
      instructions: "You are Weir.",
      store: false,
      include: ["reasoning.encrypted_content"],
      reasoning: { effort: "low" },
      temperature: undefined,
      max_output_tokens: 1000,
      prompt_cache_key: "k1",
    },
  );
  assert.deepEqual(input, [
    {
      role: "user",
      content: [
        { type: "input_text", text: "hi" },
        { type: "input_image", detail: "auto", image_url: "data:image/png;base64,AAAA" },
      ],
    },
  ]);
});

test("Responses makes two parallel calls, and gets what it thought before them back with their results", async () => {
  await using server = await startWireServer({
    [PATH]: (_, index) =>
      index === 0
        ? events(
            created,
            done(0, REASONING),
            ...call(1, "call_a", '{"query":"x"}'),
            ...call(2, "call_b", '{"query":"y"}'),
            completed(),
          )
        : events(created, text("found"), completed()),
  });
  const model = modelOf(server);
  const request = { model: "gpt-6-luna", tools: [SEARCH_HISTORY] };
  const first = await ask(model, request);
  const { calls = [], thoughts, finish } = first.answer ?? {};
  assert.equal(finish, "tool_calls");
  assert.deepEqual(
    calls.map(({ id, arguments: given }) => [id, given]),
    [
      ["call_a", '{"query":"x"}'],
      ["call_b", '{"query":"y"}'],
    ],
  );
  assert.ok(thoughts !== undefined);
  const messages = [
    { role: "user" as const, text: "look" },
    { role: "assistant" as const, text: "", calls },
    { role: "tool" as const, callId: "call_a", text: "one" },
    { role: "tool" as const, callId: "call_b", text: "two" },
  ];
  assert.equal((await ask(model, { ...request, messages, thoughts: [thoughts] })).answer?.text, "found");
  assert.deepEqual(server.requests[1]?.body["input"], [
    { role: "user", content: "look" },
    REASONING,
    { type: "function_call", call_id: "call_a", name: "search_history", arguments: '{"query":"x"}' },
    { type: "function_call", call_id: "call_b", name: "search_history", arguments: '{"query":"y"}' },
    { type: "function_call_output", call_id: "call_a", output: "one" },
    { type: "function_call_output", call_id: "call_b", output: "two" },
  ]);
  // The calls have left the view, or another model is asked.
  for (const other of [{ messages: messages.slice(0, 1) }, { messages, model: "gpt-6-astra" }]) {
    await ask(model, { ...request, ...other, thoughts: [thoughts] });
    assert.doesNotMatch(JSON.stringify(server.requests.at(-1)?.body), /gAAAA/);
  }
});

test("Responses ends: cut by its limit, filtered, refused in words", async () => {
  const incomplete = (reason: string) => ({
    ...completed({ status: "incomplete", incomplete_details: { reason } }),
    type: "response.incomplete",
  });
  const answers = [
    [[text("half"), incomplete("max_output_tokens")], "half", "length"],
    [[text("well"), incomplete("content_filter")], "well", "filtered"],
    [
      [{ type: "response.refusal.delta", output_index: 0, delta: "I can't." }, completed()],
      "I can't.",
      "stop",
    ],
  ] as const;
  for (const [sent, said, finish] of answers) {
    await using server = await startWireServer({ [PATH]: () => events(created, ...sent) });
    const { answer } = await ask(modelOf(server), { model: "gpt-6-luna" });
    assert.deepEqual([answer?.text, answer?.finish], [said, finish]);
  }
});

test("Responses is read also where a server does not stream, or streams only the end", async () => {
  const output = [
    { id: "m", type: "message", role: "assistant", content: [{ type: "output_text", text: "at once" }] },
    { id: "f", type: "function_call", call_id: "c", name: "search_history", arguments: "{}" },
  ];
  const whole = completed({ output });
  for (const answering of [notStreamed(whole.response), events(whole)]) {
    await using server = await startWireServer({ [PATH]: () => answering });
    const { answer } = await ask(modelOf(server), { model: "gpt-6-luna", tools: [SEARCH_HISTORY] });
    assert.deepEqual([answer?.text, answer?.calls.length, answer?.usage?.promptTokens], ["at once", 1, 1200]);
  }
});

test("Responses fails as any API does: an error in mid-stream, a connection that breaks off, a wrong key", async () => {
  const failed = {
    ...completed({ status: "failed", error: { code: "server_error", message: "oops" } }),
    type: "response.failed",
  };
  for (const [answering, kind] of [
    [events(created, text("ha"), failed), "unavailable"],
    [
      events({ type: "error", code: "rate_limit_exceeded", message: "slow down", param: null }),
      "rate_limited",
    ],
    [brokenOff(created, text("half an ans")), "unavailable"],
    [
      refusal(401, { message: "Incorrect API key provided: sk-key-0123", code: "invalid_api_key" }),
      "unauthorized",
    ],
  ] as const) {
    await using server = await startWireServer({ [PATH]: () => answering });
    const { failure, records } = await ask(modelOf(server), { model: "gpt-6-luna" });
    assert.equal(failure?.kind, kind);
    assert.doesNotMatch(failure.message, /sk-key-0123/);
    assert.equal(records.length, 1);
  }
});

describe("a server that names Responses", () => {
  test("is asked by it from then on, with reasoning (M13)", async () => {
    await using server = await startWireServer({
      "/v1/chat/completions": () =>
        refusal(400, {
          message:
            "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
          type: "invalid_request_error",
          param: "reasoning_effort",
          code: null,
        }),
      [PATH]: () => events(created, text("by Responses"), completed()),
    });
    const model = modelOf(server, { isOpenAi: false });
    const request = { model: "deployment-of-mine", tools: [SEARCH_HISTORY], temperature: 0.5 };
    for (let turn = 0; turn < 2; turn++)
      assert.equal((await ask(model, request)).answer?.text, "by Responses");
    assert.deepEqual(
      server.requests.map(({ path }) => path),
      ["/v1/chat/completions", PATH, PATH],
    );
  });

  test("that refuses what it does not take is corrected there, once each", async () => {
    const error = (param: string, message: string) =>
      refusal(400, { message, param, code: "unsupported_value", type: "invalid_request_error" });
    await using server = await startWireServer({
      [PATH]: ({ body }) => {
        if (body["temperature"] !== undefined)
          return error(
            "temperature",
            "Unsupported parameter: 'temperature' is not supported with this model.",
          );
        if (JSON.stringify(body["reasoning"])?.includes("low"))
          return error(
            "reasoning.effort",
            "Unsupported value: 'low' is not supported with this model. Supported values are: 'high'.",
          );
        if (body["include"] !== undefined)
          return error("include", "Encrypted content is not supported with this model.");
        return events(created, text("ok"), completed());
      },
    });
    const model = modelOf(server, { api: "responses" });
    const { answer, records } = await ask(model, { model: "gpt-5-pro", temperature: 0.5 });
    assert.equal(answer?.text, "ok");
    assert.equal(records.length, 3);
    assert.equal((await ask(model, { model: "gpt-5-pro", temperature: 0.5 })).records.length, 1);
  });
});

test("Responses marks what stays with breakpoints: its system text is a message then, for the field takes none", async () => {
  await using server = await startWireServer({ [PATH]: () => events(created, text("ok"), completed()) });
  const cacheRule = (model: string, api: Api) => ({
    ...cacheRuleOf({ hostname: "api.openai.com", model, said: "auto", api }),
    least: 0,
  });
  const request = {
    model: "gpt-6-luna",
    messages: [
      { role: "system", text: "You are Weir." },
      { role: "user", text: "one\nnow" },
    ] as const,
    stableEnds: [
      { message: 0, length: 13 },
      { message: 1, length: 3 },
    ],
    cacheKey: "k1",
  };
  const model = modelOf(server, { cacheRule });
  await ask(model, request);
  await ask(model, { ...request, waits: Array.from({ length: 6 }, () => 3 * 3_600_000) });
  const mark = { mode: "explicit" };
  const [once, slow] = server.requests.map(({ body }) => body);
  assert.equal(once?.["instructions"], undefined);
  assert.deepEqual(once?.["prompt_cache_options"], mark);
  assert.deepEqual(once?.["input"], [
    {
      role: "system",
      content: [{ type: "input_text", text: "You are Weir.", prompt_cache_breakpoint: mark }],
    },
    {
      role: "user",
      content: [
        { type: "input_text", text: "one", prompt_cache_breakpoint: mark },
        { type: "input_text", text: "\nnow" },
      ],
    },
  ]);
  assert.match(
    JSON.stringify(slow?.["input"]),
    /"prompt_cache_breakpoint":\{"mode":"explicit","ttl":"12h"\}/,
  );
});
