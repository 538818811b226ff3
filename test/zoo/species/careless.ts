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
    tokens: 8000,
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

const quota: Species = {
  ...right,
  name: "an account without money",
  sources: ["https://developers.openai.com/api/docs/guides/error-codes"],
  rules: [
    () =>
      openAiError(
        429,
        "You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors.",
        { type: "insufficient_quota", code: "insufficient_quota" },
      ),
  ],
  scenes: ["first turn"],
  fails: { person: /quota|credit|account/i, operator: /quota is spent/i, calls: 1 },
};

export const CARELESS: readonly Species[] = [
  { ...right, name: "refusals that nobody knows" },
  bent("[DONE] without a finish reason", "https://github.com/anomalyco/opencode/issues/43882", {
    end: "done",
  }),
  bent("a finish reason without [DONE]", "https://github.com/anomalyco/opencode/issues/43882", {
    end: "finish",
    usage: "last",
  }),
  bent("ids as numbers", "https://github.com/anomalyco/opencode/issues/19947", { ids: "number" }),
  bent("pieces under a wrong index", "https://github.com/agno-agi/agno/issues/8879", { calls: "misplaced" }),
  bent("a closing think mark alone", "https://github.com/sgl-project/sglang/issues/26873", {
    thoughts: "closing_tag",
  }),
  bent("the whole text once more at the end", "https://github.com/infiniflow/ragflow/issues/15443", {
    repeats: true,
  }),
  bent("gzip that nobody asked for", "https://github.com/anomalyco/opencode/issues/43882", { bytes: "gzip" }),
  bent("a byte order mark", "https://github.com/anomalyco/opencode/issues/43882", { bytes: "bom" }),
  once("HTML 502 once", "https://openrouter.ai/docs/api/reference/errors-and-debugging", {
    status: 502,
    body: "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
  }),
  once("a model that is being loaded", "https://github.com/ggml-org/llama.cpp/pull/15780", {
    status: 503,
    body: { error: { code: 503, message: "Loading model", type: "unavailable_error" } },
  }),
  quota,
];
