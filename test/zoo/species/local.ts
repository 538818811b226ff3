/** Servers on a machine of one's own. */
import {
  alternates,
  lists,
  openAiError,
  PLAIN_FORM,
  type Refusal,
  refusesField,
  type Rule,
  type SideApi,
  type Species,
} from "../species.ts";
import { PREFIX_CACHE } from "../../support/provider-caches.ts";

const TOKENS = 8192;

function vllmError(message: string): Refusal {
  return openAiError(400, message, { type: "BadRequestError", code: 400 });
}

const vllm: Species = {
  name: "vLLM",
  sources: [
    "https://docs.vllm.ai/en/latest/serving/openai_compatible_server.html",
    "https://github.com/vllm-project/vllm/issues/33418",
    "https://github.com/suitenumerique/conversations/issues/197",
  ],
  host: null,
  path: "/v1",
  apis: ["chat"],
  model: "Qwen/Qwen3-32B",
  narrow: "Qwen/Qwen3-narrow",
  rules: [],
  form: { ...PLAIN_FORM, thoughts: "reasoning_content", calls: "whole" },
  window: {
    tokens: TOKENS,
    countsOutput: true,
    over: "refuses",
    refusal: (prompt, window, output) =>
      vllmError(
        `You passed ${prompt} input tokens and requested ${output} output tokens. However, the model's context length is only ${window} tokens, resulting in a maximum input length of ${window - output} tokens. Please reduce the length of the input prompt.`,
      ),
  },
  cache: { ...PREFIX_CACHE, least: 16, step: 16 },
  // It serves one model, whose window stands in the listing; the narrow one is behind a router that names no windows.
  side: lists((id, window) => ({ id, object: "model", ...(window === null && { max_model_len: 40_960 }) })),
};

const ALTERNATE = "Conversation roles must alternate user/assistant/user/assistant/...";

/** Gemma's template knows no role `tool`, and takes the system's text into the first message. */
const vllmGemma: Species = {
  ...vllm,
  isStrict: true,
  name: "vLLM, a template like Gemma's",
  sources: [
    "https://github.com/google/adk-python/issues/1373",
    "https://github.com/suitenumerique/conversations/issues/197",
  ],
  model: "google/gemma-3-27b-it",
  narrow: "google/gemma-3-narrow",
  rules: [
    alternates({
      system: "first",
      hasToolRole: false,
      words: `${ALTERNATE} ${ALTERNATE}`,
      refusal: vllmError,
    }),
  ],
  form: { ...PLAIN_FORM, calls: "whole" },
};

const AFTER_SYSTEM =
  "After the optional system message, conversation roles must alternate user/assistant/user/assistant/...";

const vllmMistral: Species = {
  ...vllmGemma,
  isStrict: true,
  name: "vLLM, a template like Mistral's",
  sources: [
    "https://github.com/vllm-project/vllm/issues/6862",
    "https://github.com/ml-explore/mlx-lm/issues/1375",
    "https://github.com/charmbracelet/crush/issues/279",
  ],
  model: "mistralai/Mistral-Small-3.2-24B-Instruct",
  narrow: "mistralai/Mistral-Small-narrow",
  rules: [
    alternates({ system: "first", hasToolRole: true, words: AFTER_SYSTEM, refusal: vllmError }),
    ({ turns }) =>
      turns.some(({ callId }) => callId !== null && !/^[A-Za-z0-9]{9}$/.test(callId))
        ? vllmError("Tool call IDs should be alphanumeric strings with length 9!")
        : null,
  ],
  form: { ...PLAIN_FORM, calls: "whole", ids: "short" },
};

/** As those of Gemma 2 and of the first Mistral: the system's text is the template's own business. */
const vllmNoSystem: Species = {
  ...vllmGemma,
  name: "vLLM, a template without a system's message",
  sources: [
    "https://github.com/vllm-project/vllm/issues/2080",
    "https://github.com/EricLBuehler/mistral.rs/issues/45",
  ],
  model: "google/gemma-2-27b-it",
  narrow: "google/gemma-2-narrow",
  rules: [alternates({ system: "refused", hasToolRole: false, words: ALTERNATE, refusal: vllmError })],
};

/** No tool parser was named when the server was started. */
const vllmPlain: Species = {
  ...vllm,
  tools: false,
  name: "vLLM without tools",
  sources: ["https://docs.vllm.ai/en/latest/features/tool_calling.html"],
  rules: [
    ({ mayCall }) =>
      mayCall
        ? vllmError('"auto" tool choice requires --enable-auto-tool-choice and --tool-call-parser to be set')
        : null,
  ],
};

function llamaError(code: number, message: string, type = "server_error", more: object = {}): Refusal {
  return { status: code, body: { error: { code, message, type, ...more } } };
}

const llamaProps: SideApi = (line, _, { model, window }) => {
  if (line.endsWith("/props")) return { default_generation_settings: { n_ctx: window.tokens } };
  return line.endsWith("/models") ? { data: [{ id: model, meta: { n_ctx_train: 131_072 } }] } : null;
};

const llamaJinja: Species = {
  ...vllm,
  isStrict: true,
  name: "llama.cpp with --jinja",
  sources: [
    "https://github.com/ggml-org/llama.cpp/pull/15780",
    "https://github.com/ggml-org/llama.cpp/issues/19774",
    "https://github.com/ggml-org/llama.cpp/pull/11016",
  ],
  model: "gemma-3-12b-it-Q4_K_M.gguf",
  narrow: "narrow-Q4_K_M.gguf",
  rules: [
    alternates({
      system: "first",
      hasToolRole: false,
      words: `${ALTERNATE} at row 15, column 28`,
      refusal: (words) => llamaError(500, words),
    }),
  ],
  form: { ...PLAIN_FORM, thoughts: "reasoning_content" },
  window: {
    tokens: TOKENS,
    countsOutput: false,
    over: "refuses",
    refusal: (prompt, window) =>
      llamaError(
        400,
        `request (${prompt} tokens) exceeds the available context size (${window} tokens), try increasing it`,
        "exceed_context_size_error",
        { n_prompt_tokens: prompt, n_ctx: window },
      ),
  },
  side: llamaProps,
};

const llamaPlain: Species = {
  ...llamaJinja,
  tools: false,
  name: "llama.cpp without --jinja",
  sources: [
    "https://github.com/defilantech/LLMKube/issues/126",
    "https://github.com/containers/ramalama/issues/988",
    "https://github.com/ggml-org/llama.cpp/issues/19774",
  ],
  model: "qwen2.5-7b-instruct-q4_k_m.gguf",
  rules: [({ tools }) => (tools.length > 0 ? llamaError(500, "tools param requires --jinja flag") : null)],
  form: { ...PLAIN_FORM, thoughts: "closing_tag" },
  window: {
    ...llamaJinja.window,
    refusal: () => llamaError(500, "Context size has been exceeded."),
  },
};

/** The side API by which Ollama is known, whatever its port. `num_ctx` is the window that it has given the narrow model. */
const ollamaSide: SideApi = (line, body, { model, narrow, window }) => {
  const rows = [model, narrow].map((name) => ({ name, model: name }));
  if (line === "GET /api/version") return { version: "0.40.12" };
  if (line === "GET /api/tags") return { models: rows };
  if (line === "POST /api/show") {
    const isNarrow = body.includes(narrow);
    return {
      parameters: isNarrow ? `num_ctx ${window.tokens}` : "num_ctx 32768",
      model_info: { "general.architecture": "qwen3", "qwen3.context_length": 131_072 },
      capabilities: ["completion", "tools"],
    };
  }
  if (line === "GET /api/ps")
    return {
      models: rows.map((row) => ({ ...row, context_length: row.name === narrow ? window.tokens : 32_768 })),
    };
  if (line === "POST /api/generate") return { done: true };
  return line.endsWith("/models") ? { data: [{ id: model }, { id: narrow }] } : null;
};

const ollama: Species = {
  ...vllm,
  name: "Ollama on another port",
  sources: [
    "https://docs.ollama.com/context-length",
    "https://docs.ollama.com/api/openai-compatibility",
    "https://github.com/Stirling-Tools/Stirling-PDF/pull/7770",
  ],
  model: "qwen3:32b",
  narrow: "qwen3:8b",
  rules: [],
  form: { ...PLAIN_FORM, thoughts: "reasoning", calls: "whole" },
  window: { tokens: TOKENS, countsOutput: false, over: "cuts", refusal: () => ollamaError("unreachable") },
  cache: null,
  side: ollamaSide,
};

/** Behind a gateway, which hides by what it would be known: its window shows in what it counts alone. */
const ollamaHidden: Species = {
  ...ollama,
  name: "Ollama behind a gateway",
  sources: [
    "https://github.com/Stirling-Tools/Stirling-PDF/pull/7770",
    "https://github.com/ollama/ollama/issues/11172",
  ],
  side: lists((id) => ({ id })),
};

const ollamaRefusing: Species = {
  ...ollamaHidden,
  name: "Ollama that refuses",
  sources: ["https://docs.ollama.com/context-length", "https://github.com/ollama/ollama/issues/11172"],
  window: {
    ...ollama.window,
    over: "refuses",
    refusal: (prompt, window) =>
      ollamaError(`prompt too long; exceeded max context length by ${prompt - window} tokens`),
  },
};

function ollamaError(message: string): Refusal {
  return openAiError(400, message, { type: "api_error" });
}

const ollamaNoTools: Rule = ({ tools, model }) =>
  tools.length > 0 ? ollamaError(`registry.ollama.ai/library/${model} does not support tools`) : null;

const ollamaPlain: Species = {
  ...ollama,
  tools: false,
  name: "Ollama, a model without tools",
  sources: ["https://docs.ollama.com/capabilities/tool-calling"],
  model: "gemma3:27b",
  narrow: "gemma3:4b",
  rules: [ollamaNoTools],
  form: { ...PLAIN_FORM, thoughts: "think_tags" },
};

const lmStudio: Species = {
  ...vllm,
  name: "LM Studio",
  sources: [
    "https://lmstudio.ai/docs/developer/openai-compat",
    "https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/546",
    "https://github.com/Gitlawb/openclaude/issues/353",
  ],
  model: "qwen2.5-coder-7b-instruct",
  narrow: "qwen2.5-narrow",
  rules: [
    refusesField("cache_control", () => ({
      status: 400,
      body: { error: "Invalid 'content': content objects must have only known fields." },
    })),
  ],
  form: { ...PLAIN_FORM, thoughts: "think_tags", ids: "text" },
  window: {
    tokens: TOKENS,
    countsOutput: false,
    over: "refuses",
    refusal: (prompt, window) => ({
      status: 400,
      body: {
        error: `The number of tokens to keep from the initial prompt is greater than the context length (n_keep: ${prompt}>= n_ctx: ${window}). Try to load the model with a larger context length, or provide a shorter input.`,
      },
    }),
  },
  side: lists((id) => ({ id, object: "model" })),
};

/** What LM Studio and others do where the prompt leaves no room: an answer that is no answer. */
const noRoom: Species = {
  ...lmStudio,
  name: "LM Studio that answers with nothing",
  sources: ["https://github.com/lmstudio-ai/lmstudio-bug-tracker/issues/1806"],
  window: { ...lmStudio.window, over: "empty" },
};

export const LOCAL: readonly Species[] = [
  vllm,
  vllmGemma,
  vllmMistral,
  vllmNoSystem,
  vllmPlain,
  llamaJinja,
  llamaPlain,
  ollama,
  ollamaHidden,
  ollamaRefusing,
  ollamaPlain,
  lmStudio,
  noRoom,
];
