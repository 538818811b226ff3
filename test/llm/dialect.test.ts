import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { initialDialect } from "../../src/llm/chat/chat-request.ts";
import { createChatModel } from "../../src/llm/chat/chat-model.ts";
import { RefusedFields } from "../../src/llm/catalog/refused-fields.ts";
import { type Dialect, dialectFor, lessonsOf, type Refusal, type Refused } from "../../src/llm/dialect.ts";
import { reasonOf } from "../../src/llm/http/reasons.ts";
import type { Model } from "../../src/llm/model.ts";
import { status, text } from "../support/model-behaviours.ts";
import { ask, SEARCH_HISTORY } from "../support/model-calls.ts";
import { type ChatRequest, startModelServer, type ModelServer } from "../support/model-server.ts";

const BASE: Dialect = initialDialect("some-model", { isOpenAi: false, takesCacheKey: true });
const FIELDS = [
  "model",
  "messages",
  "stream",
  "max_tokens",
  "stream_options",
  "temperature",
  "prompt_cache_key",
  "tools",
  "tool_choice",
  "safety_level",
];

function refusal(words: string, more: Partial<Refusal> = {}): Refusal {
  const { reason } = reasonOf({ status: 400, codes: [more.code ?? ""], message: words }, false) ?? {};
  return { reason, status: 400, code: "", type: "", param: "", words, ...more };
}

function learn(told: Refusal, known: readonly Refused[] = [], base = BASE): readonly Refused[] {
  return lessonsOf(told, { base, known, fields: FIELDS, limit: 9000, hasResults: true, mayChangeApi: true });
}

const lessons = (...told: Parameters<typeof learn>): string[] =>
  learn(...told).map(({ field, value }) => (value === "" ? field : `${field}=${value}`));

const REFUSALS = [
  ["a field in its parameter", refusal("no", { param: "safety_level" }), ["safety_level"]],
  ["a field inside of one", refusal("no", { param: "stream_options.include_usage" }), ["stream_options"]],
  ["a field in its words", refusal("Unrecognized request argument supplied: safety_level"), ["safety_level"]],
  [
    "a field of pydantic",
    refusal('[{"type":"extra_forbidden","loc":["body","tool_choice"]}]'),
    ["tool_choice"],
  ],
  ["no field of ours", refusal("top_p is out of range", { param: "top_p" }), []],
  ["a field that is needed", refusal("Invalid 'messages'", { param: "messages[3].content" }), []],
  [
    "tools, which it does not know",
    refusal("Unsupported parameter: 'tools' is not supported with this model.", {
      param: "tools",
      code: "unsupported_parameter",
    }),
    ["tools"],
  ],
  [
    "a schema of a tool",
    refusal("Invalid schema for function 'x'", { param: "tools[0].function.parameters" }),
    [],
  ],
  [
    "a field inside of a tool, in words (Gemini)",
    refusal(
      "Invalid JSON payload received. Unknown name \"additionalProperties\" at 'tools[0].function_declarations[0].parameters': Cannot find field.",
    ),
    [],
  ],
  [
    "the other limit, behind a gateway that repeats the status",
    refusal(
      "Error code: 400 - {'error': {'message': \"Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.\"}}",
    ),
    ["max_tokens"],
  ],
  ["that there are no tools", refusal("llama2 does not support tools"), ["tools"]],
  [
    "roles that do not take turns",
    refusal(
      "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...",
    ),
    ["tool_role"],
  ],
  ["the role of results", refusal("Unexpected role 'tool' after role 'user'"), ["tool_role"]],
  [
    "an assistant without a text",
    refusal("Error in applying chat template: Invalid content type"),
    ["tool_role"],
  ],
  ["the role of a system", refusal("System role not supported"), ["system_role"]],
  [
    "ids of another model's calls",
    refusal("Tool call id was call_0_abc but must be a-z, A-Z, 0-9, with a length of 9."),
    ["call_id"],
  ],
  [
    "the same, by a template",
    refusal("Tool call IDs should be alphanumeric strings with length 9!"),
    ["call_id"],
  ],
  [
    "calls without what was thought before them",
    refusal("The `reasoning_content` in the thinking mode must be passed back to the API."),
    ["bare_call"],
  ],
  [
    "the role of a system among those that it has",
    refusal("Only user, assistant and tool roles are supported, got system."),
    ["system_role"],
  ],
  ["a part of a longer name", refusal("my_temperature_file is missing"), []],
  [
    "OpenAI's cap",
    refusal(
      "max_tokens is too large: 9000. This model supports at most 4096 completion tokens, whereas you provided 9000.",
    ),
    ["output_cap=4096"],
  ],
  [
    "Groq's cap",
    refusal(
      "`max_tokens` must be less than or equal to `8192`, the maximum value for `max_tokens` is less than the `context_window` for this model",
    ),
    ["output_cap=8192"],
  ],
  [
    "DeepSeek's cap",
    refusal("Invalid max_tokens value, the valid range of max_tokens is [1, 8192]"),
    ["output_cap=8192"],
  ],
  [
    "the other limit",
    refusal(
      "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
      { param: "max_tokens" },
    ),
    ["max_tokens"],
  ],
  [
    "another API",
    refusal("This model is only supported in v1/responses and not in v1/chat/completions."),
    ["api=chat", "api=messages"],
  ],
  ["nothing of the kind", refusal("The content was flagged."), []],
  ["what no other form helps", refusal("Your input was flagged: temperature", { param: "temperature" }), []],
] as const;

describe("a refusal", () => {
  for (const [what, told, expected] of REFUSALS) {
    test(`names ${what}`, () => {
      assert.deepEqual(lessons(told), expected);
    });
  }
});

describe("what was refused", () => {
  test("lists what it takes: the rest is refused at once", () => {
    const told = refusal(
      "Unsupported value: 'none' is not supported with the 'gpt-6-astra' model. Supported values are: 'low', 'medium', 'high', and 'xhigh'.",
      { param: "reasoning_effort", code: "unsupported_value" },
    );
    const base: Dialect = { ...BASE, reasoning: "none" };
    const learned = learn(told, [], base);
    assert.equal(dialectFor(base, learned).reasoning, undefined);
    // Without the field it is refused as well.
    const next = learn(refusal("reasoning_effort is required"), learned, base);
    assert.equal(dialectFor(base, [...learned, ...next]).reasoning, "low");
  });

  test("never brings back what was refused before, in whatever order refusals come", () => {
    const words = fc.constantFrom(
      "reasoning_effort 'none' is not supported. Supported values are: 'low'",
      "set reasoning_effort to 'none'",
      "max_tokens is not supported, use max_completion_tokens",
      "max_completion_tokens is not supported, use max_tokens",
      "temperature",
      "safety_level",
      "use /v1/responses",
      "use /v1/chat/completions",
      "does not support tools",
      "reasoning_effort 'none' is not supported",
      "max_tokens at most 4000",
    );
    fc.assert(
      fc.property(fc.array(words, { minLength: 1, maxLength: 30 }), (all) => {
        const known: Refused[] = [];
        const sent = [JSON.stringify(dialectFor(BASE, known))];
        for (const one of all) {
          const fresh = learn(refusal(one), known);
          if (fresh.length === 0) continue;
          known.push(...fresh);
          sent.push(JSON.stringify(dialectFor(BASE, known)));
        }
        assert.equal(new Set(sent).size, sent.length, "a form was sent twice");
        assert.deepEqual(dialectFor(BASE, known.toReversed()), dialectFor(BASE, known));
      }),
    );
  });
});

function modelOf(server: ModelServer, refused?: RefusedFields, isOpenAi = true): Model {
  const timeouts = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
  const of = {
    baseUrl: server.url,
    apiKey: undefined,
    isOpenAi,
    api: "chat" as const,
    takesCacheKey: true,
    timeouts,
  };
  return createChatModel(of, refused);
}

/** Refuses one value of reasoning_effort in the words that ask for another, and each other in turn. */
function contrary({ reasoning_effort: effort }: ChatRequest) {
  const [message, param] =
    effort === undefined
      ? ["Function tools need reasoning_effort 'none'.", "reasoning_effort"]
      : [`Unsupported value: '${effort}' is not supported with this model.`, "reasoning_effort"];
  return status(400, { error: { message, param, type: "invalid_request_error", code: "unsupported_value" } });
}

describe("corrections", () => {
  test("that a server refuses all the same do not undo one another, and are not made again", async () => {
    await using server = await startModelServer();
    server.respond((request) => contrary(request));
    const model = modelOf(server);
    const request = { model: "gpt-6-luna", tools: [SEARCH_HISTORY] };
    const { failure } = await ask(model, request);
    const efforts = server.requests.map(({ body }) => body.reasoning_effort ?? "absent");
    assert.equal(new Set(efforts).size, efforts.length);
    assert.equal(failure?.kind, "rejected");
    assert.match(
      failure.brief ?? "",
      /^HTTP 400, invalid_request_error, unsupported_value, field reasoning_effort; tried: without reasoning none/,
    );
    assert.ok(failure.message.length < 1000);
    assert.deepEqual(efforts, ["none", "absent"]);
    await ask(model, request);
    assert.equal(server.requests.length, 3, "only the last form is asked again");
  });

  test("are kept with their reason for the next run, by the name that the server has for the model", async () => {
    await using server = await startModelServer();
    server.reply(
      status(400, { error: { message: "no temperature", param: "temperature", code: "unsupported_value" } }),
    );
    server.respond(() => text("ok"));
    const kept: [string, Refused][] = [];
    const request = { model: "gpt-4o", temperature: 0.5 };
    await ask(modelOf(server, new RefusedFields((model, one) => kept.push([model, one]))), request);
    assert.deepEqual(kept, [
      ["gpt-4o", { field: "temperature", value: "", status: 400, code: "unsupported_value" }],
    ]);
    const next = new RefusedFields();
    for (const [model, one] of kept) next.recall(model, one);
    await ask(modelOf(server, next), request);
    assert.deepEqual(
      server.requests.map(({ body }) => body.temperature),
      [0.5, undefined, undefined],
    );
  });

  test("by a server's words alone are believed once an answer has come", async () => {
    await using server = await startModelServer();
    const kept: string[] = [];
    const refused = new RefusedFields((_, { field }) => kept.push(field));
    server.reply(
      status(400, { error: { message: "I know no temperature" } }),
      status(400, { error: { message: "I want none" } }),
    );
    await ask(modelOf(server, refused, false), { temperature: 0.5 });
    assert.deepEqual(kept, []);
    server.reply(status(400, { error: { message: "I know no temperature" } }), text("ok"));
    await ask(modelOf(server, refused, false), { temperature: 0.5 });
    assert.deepEqual(kept, ["temperature"]);
  });

  test("of a server without a template for tools come of a failure, too", async () => {
    await using server = await startModelServer();
    server.reply(
      status(500, {
        error: { message: "tools param requires --jinja flag", type: "server_error", code: 500 },
      }),
    );
    server.respond(() => text("ok"));
    const { answer } = await ask(modelOf(server, undefined, false), { tools: [SEARCH_HISTORY] });
    assert.equal(answer?.text, "ok");
    assert.equal(server.requests[1]?.body.tools, undefined);
  });
});
