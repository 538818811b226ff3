/** Gateways that break things on the way: one fault each, over a server that is right. */
import { type ChatForm, lists, openAiError, PLAIN_FORM, type Refusal, type Species } from "../species.ts";

const right: Species = {
  name: "a gateway",
  sources: ["https://developers.openai.com/api/docs/api-reference/chat"],
  host: null,
  path: "/v1",
  apis: ["chat"],
  model: "house-model",
  narrow: "house-narrow",
  rules: [],
  form: PLAIN_FORM,
  window: {
    tokens: 8192,
    countsOutput: false,
    over: "refuses",
    // Nobody knows these words.
    refusal: () => openAiError(400, "Entrada demasiado grande."),
  },
  cache: null,
  side: lists((id) => ({ id })),
};

/** What a fault in the form of answers can touch. */
const TOUCHED = [
  "first turn",
  "two parallel calls",
  "thinking",
  "a summary with memories",
  "a stop in the middle",
];

function bent(name: string, source: string, form: Partial<ChatForm>): Species {
  return { ...right, name, sources: [source], scenes: TOUCHED, form: { ...PLAIN_FORM, ...form } };
}

function once(name: string, source: string, refusal: Refusal): Species {
  return { ...right, name, sources: [source], scenes: TOUCHED, once: () => refusal };
}

/** Nothing helps but what a person does. */
function never(
  name: string,
  source: string,
  refusal: Refusal,
  fails: NonNullable<Species["fails"]>,
): Species {
  return { ...right, name, sources: [source], rules: [() => refusal], scenes: ["first turn"], fails };
}

export const CARELESS: readonly Species[] = [
  { ...right, name: "refusals that nobody knows" },
  bent("[DONE] without a finish reason", "https://github.com/anomalyco/opencode/issues/43882", {
    end: "done",
  }),
  bent("a finish reason without [DONE]", "https://github.com/ikawrakow/ik_llama.cpp/issues/467", {
    end: "finish",
    usage: "last",
  }),
  bent("ids as numbers", "https://github.com/anomalyco/opencode/issues/19947", { ids: "number" }),
  bent("pieces under a wrong index", "https://github.com/agno-agi/agno/issues/8879", { calls: "misplaced" }),
  bent("a closing think mark alone", "https://github.com/sgl-project/sglang/issues/26873", {
    thoughts: "closing_tag",
  }),
  bent("the whole text once more at the end", "https://github.com/infiniflow/ragflow/pull/15443", {
    repeats: true,
  }),
  bent("gzip that nobody asked for", "https://github.com/Anionex/agent-vision-toolkit/pull/36", {
    bytes: "gzip",
  }),
  bent("a byte order mark", "https://github.com/openai/openai-python/pull/3819", { bytes: "bom" }),
  once("HTML 502 once", "https://openrouter.ai/docs/api/reference/errors-and-debugging", {
    status: 502,
    body: "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
  }),
  once("a model that is being loaded", "https://github.com/ggml-org/llama.cpp/pull/15780", {
    status: 503,
    body: { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
  }),
  once(
    "a call that was no JSON, told inside the stream",
    "https://github.com/anomalyco/opencode/issues/1018",
    {
      status: 200,
      headers: { "content-type": "text/event-stream" },
      body: `event: error\ndata: ${JSON.stringify({
        error: {
          message:
            "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details.",
          type: "invalid_request_error",
          code: "tool_use_failed",
          failed_generation: "Tool use failed: JSON does not match the expected schema for tool calls",
          status_code: 400,
        },
      })}\n\n`,
    },
  ),
  never(
    "an account without money",
    "https://developers.openai.com/api/docs/guides/error-codes",
    openAiError(
      429,
      "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
      { type: "insufficient_quota", code: "insufficient_quota" },
    ),
    { person: /used up/, operator: /quota is spent/, calls: 1 },
  ),
  never(
    "a filter of prompts",
    "https://github.com/compl-ai/compl-ai/issues/20",
    {
      status: 400,
      body: {
        error: {
          message:
            "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766",
          type: null,
          param: "prompt",
          code: "content_filter",
          status: 400,
          innererror: { code: "ResponsibleAIPolicyViolation" },
        },
      },
    },
    { person: /declines this/, operator: /declines what was said/, calls: 1 },
  ),
  never(
    "a model that is withdrawn",
    "https://developers.openai.com/api/docs/deprecations",
    openAiError(
      404,
      "The model `house-model` has been deprecated, learn more here: https://platform.openai.com/docs/deprecations",
      {
        code: "model_not_found",
      },
    ),
    { person: /not set up correctly/, operator: /does not offer the model any more/, calls: 1 },
  ),
];
