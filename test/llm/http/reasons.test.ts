import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { createChatModel } from "../../../src/llm/chat/chat-model.ts";
import { isPaidFailure } from "../../../src/llm/http/model-failure.ts";
import { reasonOf } from "../../../src/llm/http/reasons.ts";
import type { FailureReason, ModelError } from "../../../src/llm/model.ts";
import { createRetryingModel } from "../../../src/llm/retrying-model.ts";
import { rawStream, status, text } from "../../support/model-behaviours.ts";
import { ask, SEARCH_HISTORY } from "../../support/model-calls.ts";
import { type Behaviour, startModelServer } from "../../support/model-server.ts";

const KEY = "sk-a-secret-key";

function modelAt(baseUrl: string) {
  const timeouts = { firstTokenMs: 30_000, idleMs: 30_000, totalMs: 60_000 };
  return createChatModel({
    baseUrl,
    api: "chat",
    apiKey: KEY,
    isOpenAi: false,
    takesCacheKey: false,
    timeouts,
  });
}

async function failureOf(behaviour: Behaviour): Promise<ModelError> {
  await using server = await startModelServer();
  // Also to each correction.
  server.respond(() => behaviour);
  const { failure } = await ask(modelAt(server.url));
  assert.ok(failure !== undefined);
  return failure;
}

type Case = readonly [where: string, code: number, body: unknown];

/** An error of OpenAI's form. */
const error = (message: string, more: object = {}): object => ({ error: { message, ...more } });
const INVALID = { type: "invalid_request_error" };

/** What servers have really said, each with where it is reported. */
const SAID: Partial<Record<FailureReason, readonly Case[]>> = {
  quota: [
    [
      "OpenAI",
      429,
      error(
        "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        { type: "insufficient_quota", param: null, code: "insufficient_quota" },
      ),
    ],
    [
      "OpenAI behind a gateway that drops the code",
      429,
      error("You exceeded your current quota, please check your plan and billing details."),
    ],
    [
      "openclaude 1125: OpenRouter",
      402,
      error(
        "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 27342. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account",
        { code: 402, metadata: { provider_name: null } },
      ),
    ],
    [
      "open-assistant 80: OpenRouter",
      402,
      error("Insufficient credits. Add more using https://openrouter.ai/settings/credits", { code: 402 }),
    ],
    [
      "opencode 12219: OpenRouter, a limit of tokens for money",
      402,
      error(
        "Prompt tokens limit exceeded: 230799 > 91442. To increase, visit https://openrouter.ai/settings/keys and create a key with a higher monthly limit",
        { code: 402 },
      ),
    ],
    [
      "OpenRouter's keys",
      403,
      error("Key limit exceeded (monthly limit). Manage it using https://openrouter.ai/settings/keys", {
        code: 403,
      }),
    ],
    [
      "claude-code 66314: Anthropic",
      400,
      {
        type: "error",
        error: {
          type: "invalid_request_error",
          message:
            "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
        },
      },
    ],
    [
      "Anthropic's limits of a workspace",
      400,
      error(
        "You have reached your specified API usage limits. You will regain access on 2026-12-01 at 00:00 UTC.",
        INVALID,
      ),
    ],
    [
      "aider 4851: DeepSeek",
      400,
      error("Insufficient Balance", { type: "unknown_error", param: null, code: "invalid_request_error" }),
    ],
    ["DeepSeek", 402, error("Insufficient Balance")],
    [
      "Moonshot",
      429,
      error("Your account is suspended, please check your plan and billing details", {
        type: "exceeded_current_quota_error",
      }),
    ],
    ["Z.ai", 429, error("余额不足或无可用资源包,请充值。", { code: "1113" })],
    [
      "Model Studio",
      400,
      error("Access denied, please make sure your account is in good standing.", {
        code: "Arrearage",
        type: "Arrearage",
      }),
    ],
    [
      "xAI",
      403,
      {
        code: "The caller does not have permission to execute the specified operation",
        error: "Your team has either used all available credits or reached its monthly spending limit.",
      },
    ],
    [
      "LiteLLM",
      400,
      error("Budget has been exceeded! Current cost: 10.1, Max budget: 10.0", {
        type: "budget_exceeded",
        code: "400",
      }),
    ],
    [
      "continue 10062: Gemini's free tier does not have the model",
      429,
      [
        error(
          "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits. To monitor your current usage, head to: https://ai.dev/rate-limit. \n* Quota exceeded for metric: generativelanguage.googleapis.com/generate_content_free_tier_input_token_count, limit: 0, model: gemini-2.5-pro\nPlease retry in 20.04466179s.",
          { code: 429, status: "RESOURCE_EXHAUSTED" },
        ),
      ],
    ],
  ],
  moderation: [
    [
      "alpaca_eval 430: Azure",
      400,
      error(
        "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766",
        {
          type: null,
          param: "prompt",
          code: "content_filter",
          status: 400,
          innererror: { code: "ResponsibleAIPolicyViolation" },
        },
      ),
    ],
    [
      "litellm 16231: Azure behind LiteLLM",
      400,
      error(
        "litellm.BadRequestError: litellm.ContentPolicyViolationError: litellm.ContentPolicyViolationError: AzureException - The response was filtered due to the prompt",
        { code: "400" },
      ),
    ],
    [
      "OpenAI",
      400,
      error(
        "Invalid prompt: your prompt was flagged as potentially violating our usage policy. Please try again with a different prompt",
        { ...INVALID, code: "invalid_prompt" },
      ),
    ],
    [
      "OpenAI's pictures",
      400,
      error("Your request was rejected as a result of our safety system.", {
        code: "content_policy_violation",
      }),
    ],
    [
      "OpenRouter's documentation",
      403,
      error('Your chosen model requires moderation and your input was flagged for "violence"', {
        code: 403,
        metadata: { reasons: ["violence"], flagged_input: "…", provider_name: "OpenAI" },
      }),
    ],
    [
      "BettaFish 108: DeepSeek",
      400,
      error("Content Exists Risk", {
        type: "invalid_request_error",
        param: null,
        code: "invalid_request_error",
      }),
    ],
    ["DeepSeek-V2 30: an older form", 400, { detail: "Content Exists Risk" }],
    [
      "qwen-code 3145: Model Studio",
      400,
      error(
        "<400> InternalError.Algo.DataInspectionFailed: Input text data may contain inappropriate content.",
        { code: "data_inspection_failed" },
      ),
    ],
    ["Z.ai", 400, error("系统检测到输入或生成内容可能包含不安全或敏感内容", { code: "1301" })],
    ["Anthropic", 400, error("Output blocked by content filtering policy", INVALID)],
  ],
  rate: [
    [
      "OpenAI",
      429,
      error(
        "Rate limit reached for gpt-x in organization o on requests per min (RPM): Limit 3, Used 3, Requested 1. Please try again in 20s.",
        { type: "requests", code: "rate_limit_exceeded" },
      ),
    ],
    [
      "gemini-cli 8437: Gemini, each minute",
      429,
      [
        error(
          "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits.",
          { code: 429, status: "RESOURCE_EXHAUSTED" },
        ),
      ],
    ],
    [
      "gemini-cli 1609: Gemini",
      429,
      error("Resource has been exhausted (e.g. check quota).", { code: 429, status: "RESOURCE_EXHAUSTED" }),
    ],
    [
      "Anthropic",
      429,
      error("This request would exceed your account's rate limit. Please try again later.", {
        type: "rate_limit_error",
      }),
    ],
  ],
  loading: [
    ["llama.cpp", 503, error("Loading model", { code: 503, type: "unavailable_error" })],
    [
      "openinterpreter 540: Hugging Face",
      503,
      { error: "Model meta-llama/Llama-2-7b is currently loading", estimated_time: 20 },
    ],
    ["Ollama", 500, error("llm server loading model", { type: "api_error", param: null, code: null })],
    ["lmstudio 1492: LM Studio", 400, error("Model is unloaded.")],
    [
      "Bedrock",
      429,
      error("Model is not ready for inference. Wait and try your request again.", {
        type: "ModelNotReadyException",
      }),
    ],
  ],
  overloaded: [
    ["Anthropic", 529, error("Overloaded", { type: "overloaded_error" })],
    [
      "Gemini",
      503,
      [error("The model is overloaded. Please try again later.", { code: 503, status: "UNAVAILABLE" })],
    ],
    [
      "OpenAI",
      503,
      error("The engine is currently overloaded, please try again later", { type: "server_error" }),
    ],
    [
      "Moonshot",
      429,
      error("The engine is currently overloaded, please try again later", {
        type: "engine_overloaded_error",
      }),
    ],
    ["Ollama", 503, error("server busy, please try again.  maximum pending requests exceeded")],
  ],
  deprecated: [
    [
      "Vane 771: Groq",
      400,
      error(
        "The model `llama-3.3-70b-specdec` has been decommissioned and is no longer supported. Please refer to https://console.groq.com/docs/deprecations for a recommendation on which model to use instead.",
        { ...INVALID, code: "model_decommissioned" },
      ),
    ],
    [
      "OpenAI",
      404,
      error(
        "The model `gpt-4-vision-preview` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations",
        { ...INVALID, code: "model_not_found" },
      ),
    ],
    [
      "Gemini",
      404,
      [
        error(
          "This model models/gemini-2.0-flash is no longer available to new users. Please update your code to use a newer model for the latest features and improvements.",
          { code: 404, status: "NOT_FOUND" },
        ),
      ],
    ],
  ],
  unknown_model: [
    [
      "OpenAI",
      404,
      error("The model `gpt-y` does not exist or you do not have access to it.", {
        ...INVALID,
        code: "model_not_found",
      }),
    ],
    [
      "QAnything 555: Ollama",
      404,
      error('model "ollama" not found, try pulling it first', { type: "api_error", param: null, code: null }),
    ],
    [
      "MemGPT with Ollama (ollama 2203)",
      404,
      { error: "model 'codellama:7b-instruct-q6_K' not found, try pulling it first" },
    ],
    [
      "vLLM",
      404,
      {
        object: "error",
        message: "The model `x` does not exist.",
        type: "NotFoundError",
        param: "model",
        code: 404,
      },
    ],
    ["DeepSeek", 400, error("Model Not Exist", { ...INVALID, code: "invalid_request_error" })],
    ["OpenRouter", 400, error("foo/bar is not a valid model ID", { code: 400 })],
    ["OpenRouter", 404, error("No endpoints found for foo/bar.", { code: 404 })],
    ["Anthropic", 404, error("model: claude-x", { type: "not_found_error" })],
    [
      "Mistral",
      400,
      {
        object: "error",
        message: "Invalid model: mistral-x",
        type: "invalid_model",
        param: null,
        code: "1500",
      },
    ],
    [
      "Azure",
      404,
      error(
        "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again.",
        { code: "DeploymentNotFound" },
      ),
    ],
    [
      "LM Studio",
      404,
      error("No models loaded. Please load a model in the developer page or use the `lms load` command.", {
        code: "model_not_found",
      }),
    ],
  ],
  cannot_load: [
    [
      "ollama-python 292",
      500,
      error("model requires more system memory (44.7 GiB) than is available (10.7 GiB)"),
    ],
    [
      "LM Studio",
      400,
      error(
        'Failed to load model "x". Error: Model loading was stopped due to insufficient system resources.',
      ),
    ],
  ],
  tool_attempt_failed: [
    [
      "groq-typescript 28",
      400,
      error(
        "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
        { ...INVALID, code: "tool_use_failed", failed_generation: "<tool-use>" },
      ),
    ],
    [
      "ha-groq-cloud-api 20",
      400,
      error(
        "tool call validation failed: parameters for tool HassTurnOff did not match schema: errors: [`/domain`: expected array, but got string]",
        { ...INVALID, code: "tool_use_failed" },
      ),
    ],
    [
      "Ollama",
      500,
      error("error parsing tool call: raw='{\"a\":', err=unexpected end of JSON input", {
        type: "api_error",
      }),
    ],
    [
      "llama.cpp",
      500,
      error("Failed to parse input at pos 12: <tool_call>", { code: 500, type: "server_error" }),
    ],
  ],
  no_tools: [
    [
      "llama.cpp's source",
      500,
      error("tools param requires --jinja flag", { code: 500, type: "server_error" }),
    ],
    [
      "Ollama",
      400,
      error("registry.ollama.ai/library/gemma3:latest does not support tools", { type: "api_error" }),
    ],
    [
      "vLLM",
      400,
      {
        object: "error",
        message: '"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set',
        type: "BadRequestError",
        code: 400,
      },
    ],
    [
      "OpenRouter",
      404,
      error(
        "No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/provider-routing",
        { code: 404 },
      ),
    ],
  ],
  other_api: [
    [
      "LibreChat 14231: OpenAI",
      400,
      error(
        "Function tools with reasoning_effort are not supported for gpt-5.6-sol in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.",
        { ...INVALID, param: "reasoning_effort" },
      ),
    ],
    [
      "OpenAI",
      404,
      error("This model is only supported in v1/responses and not in v1/chat/completions.", {
        ...INVALID,
        param: "model",
      }),
    ],
  ],
  field: [
    [
      "OpenAI",
      400,
      error(
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead.",
        { ...INVALID, param: "max_tokens", code: "unsupported_parameter" },
      ),
    ],
    [
      "OpenAI",
      400,
      error(
        "Unsupported value: 'temperature' does not support 0.2 with this model. Only the default (1) value is supported.",
        { ...INVALID, param: "temperature", code: "unsupported_value" },
      ),
    ],
    ["Groq", 400, error("property 'stream_options' is unsupported", INVALID)],
    [
      "Mistral",
      422,
      {
        detail: [
          {
            type: "extra_forbidden",
            loc: ["body", "prompt_cache_key"],
            msg: "Extra inputs are not permitted",
          },
        ],
      },
    ],
    ["Anthropic", 400, error("`temperature` is deprecated for this model.", INVALID)],
  ],
  roles: [
    [
      "openclaw 71697: a template",
      400,
      error("Conversation roles must alternate user/assistant/user/assistant/...", {
        type: "BadRequestError",
      }),
    ],
    [
      "llama.cpp",
      500,
      error("Conversation roles must alternate user/assistant/user/assistant/...", {
        code: 500,
        type: "server_error",
      }),
    ],
    [
      "Mistral",
      400,
      {
        object: "error",
        message: "Unexpected role 'user' after role 'tool'",
        type: "invalid_request_message_order",
        code: "3230",
      },
    ],
  ],
  key: [
    ["OpenAI", 401, error(`Incorrect API key provided: ${KEY}.`, { ...INVALID, code: "invalid_api_key" })],
    [
      "Gemini",
      400,
      [error("API key not valid. Please pass a valid API key.", { code: 400, status: "INVALID_ARGUMENT" })],
    ],
    [
      "xAI",
      400,
      { code: "Client specified an invalid argument", error: "Incorrect API key provided: xa***ey." },
    ],
  ],
  region: [
    [
      "one-api 1692: OpenAI",
      403,
      error("Country, region, or territory not supported", {
        type: "request_forbidden",
        param: "",
        code: "unsupported_country_region_territory",
      }),
    ],
    [
      "gemini-cli 24641: Gemini",
      400,
      error("User location is not supported for the API use.", { code: 400, status: "FAILED_PRECONDITION" }),
    ],
  ],
  permission: [
    [
      "Anthropic",
      403,
      error("Your API key does not have permission to use the specified resource.", {
        type: "permission_error",
      }),
    ],
    [
      "OpenRouter",
      404,
      error(
        "No endpoints found matching your data policy (Free model publication). Configure: https://openrouter.ai/settings/privacy",
        { code: 404 },
      ),
    ],
    [
      "OpenAI",
      400,
      error(
        "Your organization must be verified to stream this model. Please go to: https://platform.openai.com/settings/organization/general and click on Verify Organization.",
        { ...INVALID, param: "stream" },
      ),
    ],
  ],
  window: [
    [
      "OpenAI",
      400,
      error(
        "This model's maximum context length is 8192 tokens. However, your messages resulted in 9001 tokens.",
        { ...INVALID, code: "context_length_exceeded" },
      ),
    ],
    ["a proxy", 413, "Payload too large"],
  ],
};

const KINDS: Readonly<Record<FailureReason, string>> = {
  window: "context_length",
  quota: "rejected",
  moderation: "rejected",
  loading: "unavailable",
  overloaded: "unavailable",
  rate: "rate_limited",
  deprecated: "rejected",
  unknown_model: "rejected",
  cannot_load: "rejected",
  tool_attempt_failed: "unavailable",
  output_spent: "empty",
  no_tools: "rejected",
  other_api: "rejected",
  field: "rejected",
  roles: "rejected",
  key: "unauthorized",
  permission: "unauthorized",
  region: "unauthorized",
};

for (const [reason, cases] of Object.entries(SAID))
  describe(`the reason "${reason}"`, () => {
    for (const [where, code, body] of cases)
      test(`is read from ${code} of ${where}`, async () => {
        const failure = await failureOf(status(code, body));
        assert.equal(failure.reason, reason, failure.message);
        assert.equal(failure.kind, Object.entries(KINDS).find(([name]) => name === reason)?.[1]);
        assert.equal(failure.status, code);
        assert.ok(failure.brief?.startsWith(`HTTP ${code}`) === true, failure.brief);
        assert.ok(!failure.message.includes(KEY));
      });
  });

describe("an error inside of a stream has its reason", () => {
  const inStream = (told: object, name = ""): Behaviour =>
    rawStream(`${name}data: ${JSON.stringify(told)}\n\n`);
  const cases: readonly (readonly [string, Behaviour, FailureReason, string])[] = [
    // opencode's issue 1018.
    [
      "Groq",
      inStream(
        error("Failed to call a function.", { code: "tool_use_failed", status_code: 400 }),
        "event: error\n",
      ),
      "tool_attempt_failed",
      "HTTP 400, tool_use_failed",
    ],
    ["OpenRouter", inStream(error("Insufficient credits", { code: 402 })), "quota", "HTTP 402"],
    [
      "Anthropic",
      inStream(
        { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
        "event: error\n",
      ),
      "overloaded",
      "in its stream, overloaded_error",
    ],
    [
      "vLLM",
      inStream({
        object: "error",
        message: "This model's maximum context length is 8192 tokens.",
        type: "BadRequestError",
        code: 400,
      }),
      "window",
      "HTTP 400, BadRequestError",
    ],
    ["LM Studio", inStream({ error: "Model is unloaded." }), "loading", "in its stream"],
    [
      "Azure",
      inStream(error("filtered", { code: "content_filter" })),
      "moderation",
      "in its stream, content_filter",
    ],
  ];
  for (const [server, behaviour, reason, brief] of cases)
    test(server, async () => {
      const failure = await failureOf(behaviour);
      assert.deepEqual([failure.reason, failure.brief], [reason, brief]);
    });
});

test("more wordings of the same reasons are known", () => {
  const more: readonly (readonly [FailureReason, number, string, string?])[] = [
    ["quota", 403, "用户额度不足", "insufficient_user_quota"],
    ["quota", 412, "Account x is suspended, possibly due to reaching the monthly spending limit."],
    ["quota", 429, "Your prepayment credits are depleted. Please go to AI Studio to manage your project."],
    ["quota", 429, "Credit limit exceeded, please navigate to billing"],
    ["moderation", 400, "The request was blocked due to our content policy"],
    ["loading", 503, "The model is still being downloaded"],
    ["deprecated", 410, "This model has reached end-of-life"],
    ["unknown_model", 404, "Not found the model moonshot-x or Permission denied", "resource_not_found_error"],
    [
      "tool_attempt_failed",
      400,
      "Parsing failed. The model generated output that could not be parsed.",
      "output_parse_failed",
    ],
    [
      "tool_attempt_failed",
      500,
      "openai_harmony.HarmonyError: unexpected tokens remaining in message header",
    ],
    [
      "rate",
      429,
      "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",
    ],
  ];
  for (const [reason, code, message, told = ""] of more) {
    const verdict = reasonOf({ status: code, codes: [told], message }, false);
    assert.equal(verdict?.reason, reason, message);
  }
});

describe("what has no known reason", () => {
  const cases: readonly Case[] = [
    ["a page that is not there", 404, "404 page not found"],
    ["a bad request", 400, error("messages: bad", INVALID)],
    ["a broken server", 500, error("boom")],
    ["a gateway", 502, "<html>Bad gateway</html>"],
  ];
  for (const [name, code, body] of cases)
    test(`is said to have none: ${name}`, async () => {
      assert.equal((await failureOf(status(code, body))).reason, undefined);
    });

  test("is said to have none where the words may be about the request's size", () => {
    const words = [
      "Invalid value for field messages: 9000 tokens are not supported by this model",
      "The model house-model does not exist with a context window of 9001",
      "system prompt must be shorter: the prompt length is 9000",
      "Request over capacity: 9001 tokens",
      "Input for this model is too long, not valid",
    ];
    for (const message of words)
      for (const code of [400, 422, 500])
        assert.equal(reasonOf({ status: code, codes: [], message }, false), undefined, message);
  });

  test("words of a reason count with the statuses of refusals alone, and only where the server's own words stand", () => {
    const says = (code: number, message: string) => reasonOf({ status: code, codes: [], message }, false);
    assert.equal(says(500, "model x not found")?.reason, undefined);
    assert.equal(says(400, `bad request: ${"x".repeat(700)} insufficient balance`), undefined);
    assert.equal(says(400, "insufficient balance")?.reason, "quota");
  });
});

test("an answer that the provider's filter has ended before its first word is not asked for again", async () => {
  const failure = await failureOf(text("", { finish: "content_filter" }));
  assert.deepEqual([failure.kind, failure.reason, failure.retryable], ["rejected", "moderation", false]);
});

describe("what happens by reason", () => {
  const FAST = { firstDelayMs: 1, maxDelayMs: 2, maxAttempts: 3, budgetMs: 60_000 };

  async function askAll(behaviours: readonly Behaviour[], fallbacks: readonly string[] = []) {
    await using server = await startModelServer();
    server.reply(...behaviours);
    const passed: string[] = [];
    const onPassedOver = (by: string, first: ModelError): number => passed.push(`${by}: ${first.reason}`);
    const model = createRetryingModel(modelAt(server.url), { ...FAST, fallbacks, onPassedOver });
    const { answer, failure } = await ask(
      { answer: async (request, options) => model.answer(request, options) },
      { tools: [SEARCH_HISTORY] },
    );
    return { answer: answer?.text, failure, passed, models: server.requests.map(({ body }) => body) };
  }
  const said = (reason: FailureReason, at = 0): Behaviour => {
    const [, code, body] = SAID[reason]?.[at] ?? assert.fail(reason);
    return status(code, body);
  };

  test("a call of a tool that the server could not read is tried again, and paid for", async () => {
    const { answer, models } = await askAll([said("tool_attempt_failed"), text("hello")]);
    assert.deepEqual([answer, models.length], ["hello", 2]);
    assert.equal(
      isPaidFailure({ kind: "unavailable", status: 400, reason: "tool_attempt_failed" }, "sent"),
      true,
    );
  });

  test("a model that is being loaded is waited for, longer than other failures are, and costs nothing", async () => {
    const loading = Array.from({ length: 6 }, () => said("loading"));
    const { answer, models } = await askAll([...loading, text("hello")]);
    assert.deepEqual([answer, models.length], ["hello", 7]);
    assert.equal(
      isPaidFailure({ kind: "unavailable", status: undefined, reason: "loading" }, "accepted"),
      false,
    );
  });

  test("a spent quota is asked for once, and a fallback answers at once", async () => {
    const alone = await askAll([said("quota")]);
    assert.deepEqual([alone.failure?.reason, alone.models.length], ["quota", 1]);
    const { answer, passed, models } = await askAll([said("quota"), text("hello")], ["other"]);
    assert.deepEqual([answer, passed, models.length], ["hello", ["other: quota"], 2]);
  });

  test("tools that the server does not take are left out", async () => {
    for (const at of [0, 1, 2, 3]) {
      const { answer, models } = await askAll([said("no_tools", at), text("hello")]);
      assert.equal(answer, "hello");
      assert.deepEqual(
        models.map(({ tools }) => tools?.length ?? 0),
        [1, 0],
      );
    }
  });

  test("of two failures the operator is told both in short, and of no server's sentence", async () => {
    const { failure } = await askAll([said("quota"), said("unknown_model")], ["other"]);
    assert.equal(
      failure?.brief,
      "unknown_model, HTTP 404, invalid_request_error, model_not_found; before it, test-model: quota, HTTP 429, insufficient_quota",
    );
    assert.match(failure.message, /does not exist.*exceeded your current quota/s);
  });
});
