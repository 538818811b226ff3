/** Providers on the internet. */
import {
  callsNeed,
  lists,
  listsNames,
  openAiError,
  pairsCalls,
  PLAIN_FORM,
  type Refusal,
  refusesBehind,
  refusesField,
  type Rule,
  type Species,
  type Window,
} from "../species.ts";
import { BLOCK_CACHE, BREAKPOINT_CACHE, PREFIX_CACHE } from "../../support/provider-caches.ts";

const unsupported = (field: string, instead = ""): Rule =>
  refusesField(field, () =>
    openAiError(400, `Unsupported parameter: '${field}' is not supported with this model.${instead}`, {
      param: field,
      code: "unsupported_parameter",
    }),
  );
const unknownField = (field: string): Rule =>
  refusesField(field, () =>
    openAiError(400, `Unknown parameter: '${field}'.`, { param: field, code: "unknown_parameter" }),
  );
const noMaxTokens = unsupported("max_tokens", " Use 'max_completion_tokens' instead.");
const noTemperature = unsupported("temperature");

/** Tools beside reasoning on Chat Completions; reasoning is on where a request says nothing of it. */
const toolsWantResponses: Rule = ({ api, tools, body, model }) =>
  api === "chat" && tools.length > 0 && body["reasoning_effort"] !== "none"
    ? openAiError(
        400,
        `Function tools with reasoning_effort are not supported for ${model} in /v1/chat/completions. To use function tools, use /v1/responses or set reasoning_effort to 'none'.`,
        { param: "reasoning_effort" },
      )
    : null;
const neverWithoutReasoning: Rule = ({ body }) =>
  /"none"/.test(JSON.stringify([body["reasoning_effort"], body["reasoning"]]))
    ? openAiError(
        400,
        "Unsupported value: 'reasoning_effort' does not support 'none' with this model. Supported values are: 'low', 'medium', 'high', and 'xhigh'.",
        { param: "reasoning_effort", code: "unsupported_value" },
      )
    : null;
const openAiPairs = pairsCalls((id) =>
  openAiError(
    400,
    `An assistant message with 'tool_calls' must be followed by tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: ${id}`,
    { param: "messages" },
  ),
);
const tooLongForOpenAi = (): Refusal =>
  openAiError(
    400,
    "Your input exceeds the context window of this model. Please adjust your input and try again.",
    {
      param: "input",
      code: "context_length_exceeded",
    },
  );
const maximumLength = (prompt: number, window: number): Refusal =>
  openAiError(
    400,
    `This model's maximum context length is ${window} tokens. However, your messages resulted in ${prompt} tokens. Please reduce the length of the messages.`,
    { param: "messages", code: "context_length_exceeded" },
  );
const refusing = (tokens: number, refusal: Window["refusal"], countsOutput = false): Window => {
  return { tokens, countsOutput, over: "refuses", refusal };
};

const openAi: Species = {
  name: "OpenAI to 5.5",
  sources: [
    "https://developers.openai.com/api/docs/guides/prompt-caching",
    "https://github.com/openai/openai-openapi/issues/541",
    "https://github.com/fish2018/YPrompt/issues/26",
  ],
  host: "api.openai.com",
  path: "/v1",
  apis: ["chat", "responses"],
  model: "gpt-5.5",
  narrow: "gpt-5.5-narrow",
  rules: [
    noMaxTokens,
    noTemperature,
    unknownField("cache_control"),
    unknownField("prompt_cache_options"),
    unknownField("prompt_cache_breakpoint"),
    toolsWantResponses,
    openAiPairs,
  ],
  form: PLAIN_FORM,
  window: refusing(8192, maximumLength),
  cache: PREFIX_CACHE,
  side: listsNames,
};

const openAiNew: Species = {
  ...openAi,
  name: "OpenAI from 5.6",
  sources: [
    "https://developers.openai.com/api/docs/guides/prompt-caching#prompt-cache-breakpoints",
    "https://github.com/danny-avila/LibreChat/issues/14231",
    "https://github.com/ax-llm/ax/pull/573",
  ],
  model: "gpt-5.6-terra",
  narrow: "gpt-5.6-terra-narrow",
  rules: [noMaxTokens, noTemperature, unknownField("cache_control"), toolsWantResponses, openAiPairs],
  window: refusing(8192, tooLongForOpenAi),
  cache: BREAKPOINT_CACHE,
};

const responses: Species = {
  ...openAiNew,
  name: "Responses",
  sources: [
    "https://github.com/decolua/9router/issues/4031",
    "https://github.com/dyad-sh/dyad/issues/1672",
    "https://github.com/Wei-Shaw/sub2api/issues/6740",
  ],
  model: "gpt-6-astra",
  narrow: "gpt-6-astra-narrow",
  rules: [...openAiNew.rules, neverWithoutReasoning],
};

const azure: Species = {
  ...openAi,
  name: "Azure",
  sources: [
    "https://learn.microsoft.com/en-us/azure/ai-foundry/openai/api-version-lifecycle",
    "https://github.com/anomalyco/opencode/issues/37964",
    "https://github.com/compl-ai/compl-ai/issues/20",
  ],
  host: "weir.openai.azure.com",
  path: "/openai/v1",
  model: "our-deployment",
  narrow: "our-narrow-deployment",
  rules: [noMaxTokens, noTemperature, unknownField("cache_control"), openAiPairs],
  form: {
    ...PLAIN_FORM,
    // What the filter of prompts says comes first, without a choice.
    opening: [
      'data: {"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[]}\n\n',
    ],
  },
};

const anthropic: Species = {
  ...openAi,
  isStrict: true,
  name: "Anthropic",
  sources: [
    "https://platform.claude.com/docs/en/build-with-claude/prompt-caching",
    "https://github.com/anthropics/claude-code/issues/8612",
    "https://github.com/boldsoftware/exe.dev/issues/62",
    "https://github.com/openshift/lightspeed-service/pull/3036",
  ],
  host: "api.anthropic.com",
  path: "",
  apis: ["messages"],
  model: "claude-opus-4-8",
  narrow: "claude-opus-4-8-narrow",
  rules: [
    refusesField("temperature", () => anthropicError("`temperature` is deprecated for this model.")),
    refusesField("stream_options", () => anthropicError("stream_options: Extra inputs are not permitted")),
    pairsCalls((id) =>
      anthropicError(
        `messages.2: \`tool_use\` ids were found without \`tool_result\` blocks immediately after: ${id}. Each \`tool_use\` block must have a corresponding \`tool_result\` block in the next message.`,
      ),
    ),
    ({ body }) => (body["max_tokens"] === undefined ? anthropicError("max_tokens: Field required") : null),
    ({ turns }) =>
      turns.some(({ pieces }) => pieces.some(({ text }) => text.trim() === ""))
        ? anthropicError("messages: text content blocks must contain non-whitespace text")
        : null,
  ],
  window: refusing(8192, (prompt, window) =>
    anthropicError(`prompt is too long: ${prompt} tokens > ${window} maximum`),
  ),
  cache: BLOCK_CACHE,
};

function anthropicError(message: string): Refusal {
  return { status: 400, body: { type: "error", error: { type: "invalid_request_error", message } } };
}

const openRouter: Species = {
  ...openAi,
  name: "OpenRouter",
  sources: [
    "https://openrouter.ai/docs/api-reference/streaming",
    "https://openrouter.ai/docs/api/reference/errors-and-debugging",
    "https://github.com/refly-ai/refly/issues/1177",
  ],
  host: "openrouter.ai",
  path: "/api/v1",
  apis: ["chat"],
  model: "anthropic/claude-opus-4.8",
  narrow: "anthropic/claude-opus-4.8-narrow",
  rules: [],
  form: {
    ...PLAIN_FORM,
    thoughts: "reasoning",
    opening: [": OPENROUTER PROCESSING\n\n", ": OPENROUTER PROCESSING\n\n"],
  },
  window: refusing(8192, (prompt, window) => ({
    status: 400,
    body: {
      error: {
        message: `This endpoint's maximum context length is ${window} tokens. However, you requested about ${prompt} tokens (${prompt} of text input). Please reduce the length of either one, or use the "middle-out" transform to compress your prompt automatically.`,
        code: 400,
      },
    },
  })),
  cache: BLOCK_CACHE,
  side: lists((id, window) => ({
    id,
    context_length: window === null ? 200_000 : 128_000,
    pricing: { prompt: "0.000005", completion: "0.000025", input_cache_read: "0.0000005" },
  })),
};

const gemini: Species = {
  ...openAi,
  name: "Gemini's OpenAI form",
  sources: [
    "https://ai.google.dev/gemini-api/docs/openai",
    "https://github.com/google-gemini/gemini-cli/issues/4692",
    "https://github.com/QuantumNous/new-api/pull/672",
    "https://github.com/ogx-ai/ogx/issues/5122",
  ],
  host: "generativelanguage.googleapis.com",
  path: "/v1beta/openai",
  apis: ["chat"],
  model: "gemini-3.1-pro",
  narrow: "gemini-3.1-narrow",
  rules: [
    refusesField("prompt_cache_key", () =>
      googleError('Invalid JSON payload received. Unknown name "prompt_cache_key": Cannot find field.'),
    ),
    refusesField("cache_control", () =>
      googleError('Invalid JSON payload received. Unknown name "cache_control": Cannot find field.'),
    ),
  ],
  form: { ...PLAIN_FORM, calls: "no_index", usage: "each" },
  window: refusing(8192, (prompt, window) =>
    googleError(
      `The input token count (${prompt}) exceeds the maximum number of tokens allowed (${window}).`,
    ),
  ),
  cache: PREFIX_CACHE,
};

function googleError(message: string): Refusal {
  return { status: 400, body: [{ error: { code: 400, message, status: "INVALID_ARGUMENT" } }] };
}

const mistral: Species = {
  ...openAi,
  isStrict: true,
  name: "Mistral",
  sources: [
    "https://docs.mistral.ai/capabilities/function_calling",
    "https://github.com/datapizza-labs/datapizza-ai/issues/98",
    "https://github.com/charmbracelet/crush/issues/279",
    "https://github.com/anomalyco/opencode/issues/1680",
  ],
  host: "api.mistral.ai",
  path: "/v1",
  apis: ["chat"],
  model: "magistral-medium-latest",
  narrow: "magistral-narrow-latest",
  rules: [
    refusesBehind("user", "tool", () => mistralOrder("Unexpected role 'user' after role 'tool'")),
    refusesBehind("tool", "user", () => mistralOrder("Unexpected role 'tool' after role 'user'")),
    refusesField("stream_options", () => mistralExtra("stream_options")),
    refusesField("max_completion_tokens", () => mistralExtra("max_completion_tokens")),
    ({ turns }) =>
      turns.some(({ callId }) => callId !== null && !/^[A-Za-z0-9]{9}$/.test(callId))
        ? mistralError(
            400,
            "Tool call id was call_0 but must be a-z, A-Z, 0-9, with a length of 9.",
            "invalid_function_call",
            "3280",
          )
        : null,
  ],
  form: { ...PLAIN_FORM, thoughts: "parts", calls: "whole", ids: "short", usage: "last" },
  window: refusing(8192, (prompt, window) =>
    mistralError(
      400,
      `Prompt contains ${prompt} tokens and 0 draft tokens, too large for model with ${window} maximum context length`,
      "invalid_request_prompt",
      "3051",
    ),
  ),
};

function mistralError(status: number, message: string, type: string, code: string | null): Refusal {
  return { status, body: { object: "error", message, type, param: null, code } };
}

function mistralOrder(message: string): Refusal {
  return mistralError(400, message, "invalid_request_message_order", "3230");
}

function mistralExtra(field: string): Refusal {
  const detail = [{ type: "extra_forbidden", loc: ["body", field], msg: "Extra inputs are not permitted" }];
  return { status: 422, body: { object: "error", message: { detail }, type: "invalid_request_error" } };
}

const groq: Species = {
  ...openAi,
  name: "Groq",
  sources: [
    "https://console.groq.com/docs/errors",
    "https://github.com/groq/groq-typescript/issues/28",
    "https://github.com/anomalyco/opencode/issues/1018",
  ],
  host: "api.groq.com",
  path: "/openai/v1",
  apis: ["chat"],
  model: "openai/gpt-oss-120b",
  narrow: "openai/gpt-oss-narrow",
  rules: [
    unknownField("prompt_cache_key"),
    unknownField("cache_control"),
    refusesField("reasoning_content", () =>
      openAiError(
        400,
        "'messages.2' : for 'role:assistant' the following must be satisfied[('messages.2' : property 'reasoning_content' is unsupported)]",
      ),
    ),
  ],
  form: { ...PLAIN_FORM, thoughts: "reasoning", calls: "whole" },
  window: refusing(8192, () =>
    openAiError(400, "Please reduce the length of the messages or completion.", {
      param: "messages",
      code: "context_length_exceeded",
    }),
  ),
  // The model's call was no JSON: the same request works the next time.
  once: ({ mayCall, turns }) =>
    mayCall && turns.some(({ pieces }) => pieces.some(({ text }) => /look up \w+/.test(text)))
      ? {
          status: 400,
          body: {
            error: {
              message:
                "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
              type: "invalid_request_error",
              code: "tool_use_failed",
              failed_generation: '<function=search_history{"query": "alpha"}</function>',
            },
          },
        }
      : null,
  side: lists((id) => ({ id, context_window: 131_072, active: true })),
};

const deepSeek: Species = {
  ...openAi,
  isStrict: true,
  name: "DeepSeek",
  sources: [
    "https://api-docs.deepseek.com/guides/kv_cache",
    "https://github.com/deepseek-ai/DeepSeek-R1/issues/21",
    "https://github.com/esengine/DeepSeek-Reasonix/pull/4022",
  ],
  host: "api.deepseek.com",
  path: "",
  apis: ["chat"],
  model: "deepseek-v4-pro",
  narrow: "deepseek-v4-narrow",
  rules: [
    ({ turns, model }) => {
      const place = turns.findIndex(
        ({ role }, index) => (role === "user" || role === "assistant") && role === turns[index + 1]?.role,
      );
      return place < 0
        ? null
        : openAiError(
            400,
            `${model} does not support successive user or assistant messages (messages[${place}] and messages[${place + 1}] in your input). You should interleave the user/assistant messages in the message sequence.`,
            { code: "invalid_request_error" },
          );
    },
    callsNeed("reasoning_content", () =>
      openAiError(400, "The `reasoning_content` in the thinking mode must be passed back to the API.", {
        code: "invalid_request_error",
      }),
    ),
    refusesField("cache_control", () =>
      openAiError(400, "Failed to deserialize the JSON body: unknown field `cache_control`"),
    ),
  ],
  form: { ...PLAIN_FORM, thoughts: "reasoning_content" },
  window: refusing(
    8192,
    (prompt, window, output) =>
      openAiError(
        400,
        `This model's maximum context length is ${window} tokens. However, you requested ${prompt + output} tokens (${prompt} in the messages, ${output} in the completion). Please reduce the length of the messages or completion.`,
        { code: "invalid_request_error" },
      ),
    true,
  ),
  cache: { ...PREFIX_CACHE, least: 64, step: 64 },
};

/** A gateway that knows the other API alone for its newest models, and says so. */
const copilot: Species = {
  ...openAi,
  name: "Copilot",
  sources: [
    "https://github.com/caozhiyuan/copilot-api/issues/164",
    "https://github.com/github/app/issues/2133",
  ],
  host: null,
  path: "/v1",
  apis: ["chat", "responses"],
  model: "gpt-5.6-sol",
  narrow: "gpt-5.6-sol-narrow",
  rules: [...openAiNew.rules, neverWithoutReasoning],
  window: refusing(8192, (prompt, window) => ({
    status: 400,
    body: {
      error: {
        message: `prompt token count of ${prompt} exceeds the limit of ${window}`,
        code: "model_max_prompt_tokens_exceeded",
      },
    },
  })),
  // Requests are paid, and not tokens.
  cache: null,
};

export const HOSTED: readonly Species[] = [
  openAi,
  openAiNew,
  responses,
  azure,
  anthropic,
  openRouter,
  gemini,
  mistral,
  groq,
  deepSeek,
  copilot,
];
