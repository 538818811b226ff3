/** Refusals of requests that exceed the model's window, in the wording of several servers. */
import { status } from "./model-behaviours.ts";
import type { Behaviour } from "./model-server.ts";

export type RefusalDialect =
  | "openai"
  | "vllm"
  | "llama.cpp"
  | "ollama"
  | "openrouter"
  | "anthropic"
  | "gemini"
  | "mistral"
  | "sglang";

/** Answers 400 in that server's wording. @param window tokens; only Ollama does not state it */
export function contextLengthError(dialect: RefusalDialect, window = 4096): Behaviour {
  return status(400, BODIES[dialect](window, window + 1000));
}

const BODIES: Record<RefusalDialect, (window: number, asked: number) => unknown> = {
  openai: (window, asked) => ({
    error: {
      message: `This model's maximum context length is ${window} tokens. However, your messages resulted in ${asked} tokens. Please reduce the length of the messages.`,
      type: "invalid_request_error",
      param: "messages",
      code: "context_length_exceeded",
    },
  }),
  // vLLM's error is not wrapped in `error`.
  vllm: (window, asked) => ({
    object: "error",
    message: `This model's maximum context length is ${window} tokens. However, you requested ${asked} tokens (${asked - 100} in the messages, 100 in the completion). Please reduce the length of the messages or completion.`,
    type: "BadRequestError",
    param: null,
    code: 400,
  }),
  "llama.cpp": (window, asked) => ({
    error: {
      code: 400,
      message:
        "the request exceeds the available context size. try increasing the context size or enable context shift",
      type: "exceed_context_size_error",
      n_prompt_tokens: asked,
      n_ctx: window,
    },
  }),
  ollama: () => ({ error: { message: "the input length exceeds the context length", type: "api_error" } }),
  openrouter: (window, asked) => ({
    error: {
      message: `This endpoint's maximum context length is ${window} tokens. However, you requested about ${asked} tokens (${asked} of text input). Please reduce the length of either one.`,
      code: 400,
    },
  }),
  anthropic: (window, asked) => ({
    error: {
      message: `prompt is too long: ${asked} tokens > ${window} maximum`,
      type: "invalid_request_error",
    },
  }),
  gemini: (window, asked) => [
    {
      error: {
        code: 400,
        message: `The input token count (${asked}) exceeds the maximum number of tokens allowed (${window}).`,
        status: "INVALID_ARGUMENT",
      },
    },
  ],
  mistral: (window, asked) => ({
    object: "error",
    message: `Prompt contains ${asked} tokens and 0 draft tokens, too large for model with ${window} maximum context length`,
    type: "invalid_request_prompt",
    code: "3051",
  }),
  sglang: (window, asked) => ({
    object: "error",
    message: `The input (${asked} tokens) is longer than the model's context length (${window} tokens).`,
    type: "BadRequestError",
    code: 400,
  }),
};
