import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import type { Model } from "../../../src/llm/model.ts";
import { status, text } from "../../support/model-behaviours.ts";
import { ask, SEARCH_HISTORY } from "../../support/model-calls.ts";
import { startModelServer, type ModelServer } from "../../support/model-server.ts";

function modelOf(server: ModelServer, isOpenAi = false): Model {
  const timeouts = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
  return createChatModel({
    baseUrl: server.url,
    apiKey: undefined,
    isOpenAi,
    api: "chat",
    takesCacheKey: isOpenAi,
    timeouts,
  });
}

describe("what is sent", () => {
  test("is the request in the words of Chat Completions", async () => {
    await using server = await startModelServer();
    server.reply(text("ok"));
    await ask(modelOf(server), {
      messages: [
        { role: "system", text: "You are Weir." },
        { role: "user", text: "hi" },
        {
          role: "assistant",
          text: "",
          calls: [{ id: "c1", name: "search_history", arguments: '{"query":"x"}' }],
        },
        { role: "tool", callId: "c1", text: "nothing" },
        {
          role: "assistant",
          text: "broken",
          calls: [{ id: "c2", name: "search_history", arguments: '{"que' }],
        },
        { role: "tool", callId: "c2", text: "bad" },
      ],
      tools: [SEARCH_HISTORY],
      temperature: 0.5,
    });
    const body = server.requests[0]?.body;
    assert.equal(body?.max_tokens, 1000);
    assert.equal(body?.max_completion_tokens, undefined);
    assert.equal(body?.temperature, 0.5);
    assert.equal(body?.tool_choice, "auto");
    assert.deepEqual(body?.stream_options, { include_usage: true });
    assert.deepEqual(
      body?.messages.map(({ role, content }) => [role, content]),
      [
        ["system", "You are Weir."],
        ["user", "hi"],
        ["assistant", null],
        ["tool", "nothing"],
        ["assistant", "broken"],
        ["tool", "bad"],
      ],
    );
    // Arguments that are no JSON would make strict servers refuse this request and all later ones.
    assert.deepEqual(JSON.parse(body?.messages[4]?.tool_calls?.[0]?.function.arguments ?? ""), {
      invalid_arguments: '{"que',
    });
  });

  test("to OpenAI's own server has max_completion_tokens, and no thinking with current models", async () => {
    await using server = await startModelServer();
    server.respond(() => text("ok"));
    const model = modelOf(server, true);
    await ask(model, { model: "gpt-6-luna" });
    await ask(model, { model: "gpt-4o" });
    assert.equal(server.requests[0]?.body.max_completion_tokens, 1000);
    assert.equal(server.requests[0]?.body.max_tokens, undefined);
    assert.equal(server.requests[0]?.body.reasoning_effort, "none");
    assert.equal(server.requests[1]?.body.reasoning_effort, undefined);
  });
});

describe("a field that a server does not know", () => {
  const refusals = [
    [
      "stream_options",
      { detail: [{ loc: ["body", "stream_options"], msg: "Extra inputs are not permitted" }] },
      422,
    ],
    [
      "temperature",
      { error: { message: "Unsupported value: 'temperature' does not support 0.5", param: "temperature" } },
      400,
    ],
    ["tools", { error: { message: "registry.ollama.ai/library/gemma:2b does not support tools" } }, 400],
    [
      "max_tokens",
      { error: { message: "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead." } },
      400,
    ],
  ] as const;
  for (const [field, body, code] of refusals) {
    test(`is corrected once when a server refuses ${field}, and remembered for that model`, async () => {
      await using server = await startModelServer();
      server.reply(status(code, body));
      server.respond(() => text("ok"));
      const model = modelOf(server);
      const request = { temperature: 0.5, tools: [SEARCH_HISTORY] };
      const { answer, records } = await ask(model, request);
      assert.equal(answer?.text, "ok");
      assert.deepEqual(
        records.map(({ outcome }) => outcome),
        ["rejected", "answered"],
      );
      await ask(model, request);
      await ask(model, { ...request, model: "another" });
      assert.deepEqual(
        server.requests.map(({ body: sent }) => sent[field] === undefined),
        [false, true, true, false],
      );
    });
  }

  test("has a smaller limit when the server names its largest", async () => {
    await using server = await startModelServer();
    server.reply(
      status(400, {
        error: {
          message: "max_tokens is too large: 1000. This model supports at most 512 completion tokens",
        },
      }),
      text("ok"),
    );
    await ask(modelOf(server));
    assert.deepEqual(
      server.requests.map(({ body }) => body.max_tokens),
      [1000, 512],
    );
  });
});

describe("the key of a conversation's cache", () => {
  test("is sent to servers that take one, and no more where one refuses it", async () => {
    await using server = await startModelServer();
    server.respond(() => text("ok"));
    await ask(modelOf(server), { cacheKey: "k1" });
    assert.equal(server.requests.at(-1)?.body.prompt_cache_key, undefined);
    const model = modelOf(server, true);
    await ask(model, { cacheKey: "k1" });
    assert.equal(server.requests.at(-1)?.body.prompt_cache_key, "k1");
    server.reply(
      status(400, { error: { message: "Unrecognized request argument supplied: prompt_cache_key" } }),
    );
    assert.equal((await ask(model, { cacheKey: "k1" })).answer?.text, "ok");
    assert.equal(server.requests.at(-1)?.body.prompt_cache_key, undefined);
  });
});

describe("a field that a server refuses all the same", () => {
  test("stays as it was: the server may have repeated what a person wrote", async () => {
    await using server = await startModelServer();
    const message = 'Not allowed: "at most 1 output tokens, and it does not support tools or temperature"';
    server.respond(({ messages }) =>
      messages.some(({ content }) => content?.includes("at most 1") === true)
        ? status(400, { error: { message } })
        : text("ok"),
    );
    const model = modelOf(server);
    const request = { temperature: 0.5, tools: [SEARCH_HISTORY] };
    const { failure } = await ask(model, { ...request, messages: [{ role: "user", text: message }] });
    assert.equal(failure?.kind, "rejected");
    assert.equal((await ask(model, request)).answer?.text, "ok");
    const body = server.requests.at(-1)?.body;
    assert.deepEqual([body?.max_tokens, body?.temperature, body?.tools?.length], [1000, 0.5, 1]);
  });
});

describe("the order of roles", () => {
  test("a user's message behind results is parted from them where a server wants that", async () => {
    await using server = await startModelServer();
    const message = "Unexpected role 'user' after role 'tool'";
    server.reply(
      status(400, { object: "error", message, type: "invalid_request_message_order", code: "3230" }),
    );
    server.respond(() => text("ok"));
    const { answer } = await ask(modelOf(server), {
      messages: [
        { role: "user", text: "look" },
        { role: "assistant", text: "", calls: [{ id: "c1", name: "look", arguments: "{}" }] },
        { role: "tool", callId: "c1", text: "a picture" },
        { role: "user", text: "here it is", images: [{ type: "image/png", base64: "AAAA" }] },
        { role: "user", text: "and more" },
      ],
    });
    assert.equal(answer?.text, "ok");
    assert.deepEqual(
      server.requests.map(({ body }) => body.messages.map(({ role }) => role).join(" ")),
      ["user assistant tool user user", "user assistant tool assistant user user"],
    );
  });
});
