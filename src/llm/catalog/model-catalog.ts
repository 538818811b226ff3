import type { ModelPrice } from "../../core/cost.ts";

/** The assumed window, in tokens, if a model's is unknown. */
export const UNKNOWN_WINDOW = 32_768;

/**
 * The largest prompt that a model takes, in tokens, by the prefix of its name; the first match counts. The
 * numbers exclude the part of a window that a provider reserves for the answer (OpenAI since gpt-5).
 *
 * The rows of OpenAI and Anthropic were looked up in November 2026 on their model pages; rows with a comment on
 * 2026-11-24, where the comment says; the others are the commonly known windows at publication. A server's listing or
 * refusal overrides a wrong row.
 */
const WINDOWS: readonly (readonly [prefix: string, tokens: number])[] = [
  // OpenAI
  ["gpt-6", 922_000],
  ["gpt-5.6", 922_000],
  ["gpt-5.5", 922_000],
  ["gpt-5-chat", 111_000],
  ["gpt-5.1-chat", 111_000],
  ["gpt-5.2-chat", 111_000],
  ["gpt-5.3-chat", 111_000],
  ["gpt-5", 272_000],
  ["gpt-4.1", 1_047_576],
  ["gpt-4o", 128_000],
  ["chatgpt-4o", 128_000],
  ["gpt-4-turbo", 128_000],
  ["gpt-4-32k", 32_768],
  ["gpt-4", 8192],
  ["gpt-3.5-turbo", 16_385],
  ["gpt-oss", 131_072],
  ["o1-mini", 128_000],
  ["o1-preview", 128_000],
  ["o1", 200_000],
  ["o3", 200_000],
  ["o4-mini", 200_000],
  // Anthropic, by way of gateways
  ["claude-fable-5", 1_000_000],
  ["claude-opus-5", 1_000_000],
  ["claude-sonnet-5", 1_000_000],
  ["claude-haiku-5-5", 1_000_000],
  ["claude-opus-4-6", 1_000_000],
  ["claude-opus-4-7", 1_000_000],
  ["claude-opus-4-8", 1_000_000],
  ["claude-sonnet-4-6", 1_000_000],
  ["claude-opus-4", 200_000],
  ["claude-sonnet-4", 200_000],
  ["claude-haiku-4", 200_000],
  ["claude-3", 200_000],
  // Google
  ["gemini-1.5-pro", 2_097_152],
  ["gemini-1.5-flash", 1_048_576],
  ["gemini-2.0-flash", 1_048_576],
  ["gemini-2.5-pro", 1_048_576],
  ["gemini-2.5-flash", 1_048_576],
  ["gemini-3-pro-preview", 1_048_576],
  ["gemini-3-flash", 1_048_576],
  ["gemini-3.8-flash", 1_048_576], // docs.apiyi.com, after ai.google.dev's page of the model
  ["gemma-3-1b", 32_768],
  ["gemma-3", 131_072],
  ["gemma-2", 8192],
  // Meta
  ["llama-3.1", 131_072],
  ["llama-3.2", 131_072],
  ["llama-3.3", 131_072],
  ["llama-3", 8192],
  ["llama-2", 4096],
  // Alibaba
  // The window that this program was first run with; huggingface.co/Qwen names 262,144, which not every server gives.
  ["qwen3-coder-next", 131_072],
  ["qwen3-coder", 262_144],
  ["qwen3-next", 262_144],
  ["qwen3-", 32_768],
  ["qwen2.5", 32_768],
  // Mistral
  ["mistral-large-3", 262_144], // vercel.com/ai-gateway/models/mistral-large-3
  ["mistral-large", 131_072],
  ["mistral-medium-3.5", 262_144], // openrouter.ai/mistralai/mistral-medium-3-5
  ["mistral-medium-3-5", 262_144],
  ["mistral-medium", 131_072],
  ["mistral-nemo", 131_072],
  ["mistral-small", 32_768],
  ["mistral-7b", 32_768],
  ["ministral", 131_072],
  ["mixtral-8x22b", 65_536],
  ["mixtral-8x7b", 32_768],
  // Others
  ["deepseek-chat", 128_000],
  ["deepseek-reasoner", 128_000],
  ["deepseek-v3", 128_000],
  ["deepseek-r1", 128_000],
  ["deepseek-v4-pro", 1_000_000], // docs.venice.ai/models/deepseek-v4-pro
  ["kimi-k2.6", 262_144], // docs.openclaw.ai/providers/moonshot; so are the two others
  ["kimi-k2.7", 262_144],
  ["kimi-k2.5", 262_144],
  ["kimi-k2", 131_072],
  ["glm-4.5", 131_072],
  ["glm-4.6", 200_000],
  // The window that this program was first run with; hosts name up to 202,752 (DeepInfra's listing).
  ["glm-4.7", 131_072],
  ["glm-5.1", 200_000], // runware.ai/models/zai-glm-5-1
  ["glm-5.2", 1_048_576], // wavespeed.ai/llm/z-ai/glm-5.2
  ["glm-5.3", 1_048_576], // openrouter.ai/~z-ai/glm-latest, which it is
  ["grok-3", 131_072],
  ["grok-4.3", 1_000_000], // vercel.com/ai-gateway/models/grok-4.3
  ["grok-4", 256_000],
  ["command-r", 128_000],
  ["phi-4", 16_384],
];

/**
 * Tokens of the largest prompt that a model takes.
 * @param model as the server names it, a gateway's prefix and suffix included (`openai/gpt-4o`,
 * `llama3.1:8b`)
 * @returns undefined if no row matches
 */
export function knownWindow(model: string): number | undefined {
  const name = plainName(model);
  return WINDOWS.find(([prefix]) => name.startsWith(prefix))?.[1];
}

/**
 * List prices in dollars for a million tokens, by the whole name, dated or not: input, cached input, output. From the
 * providers' own pages, read on 2026-11-24: developers.openai.com/api/docs/models/NAME,
 * platform.claude.com/docs/en/about-claude/pricing and …/models/NAME/overview. A model whose price another page
 * contradicts is left out. For requests of more than 272,000 tokens, OpenAI charges twice as much for the input, and
 * half as much again for the output; the table has the prices of shorter ones.
 */
const PRICES: readonly (readonly [name: string, input: number, cached: number, output: number])[] = [
  ["gpt-6.2-sol", 2, 0.1, 10],
  ["gpt-6.1-sol", 2, 0.1, 10],
  ["gpt-6-luna", 0.1, 0.01, 0.5],
  ["gpt-5.6-luna", 0.2, 0.02, 1.2],
  ["claude-fable-5-1", 10, 0.25, 50],
  ["claude-fable-5", 10, 1, 50],
  ["claude-opus-5-5", 4, 0.2, 20],
  ["claude-opus-5", 5, 0.5, 25],
  ["claude-opus-4-8", 5, 0.5, 25],
  ["claude-opus-4-7", 5, 0.5, 25],
  ["claude-opus-4-6", 5, 0.5, 25],
  ["claude-opus-4-5", 5, 0.5, 25],
  ["claude-sonnet-5", 2, 0.2, 10],
];

/** The price of a token written to the cache, relative to input; Anthropic charges 2 for a life of an hour. */
const WRITE_RATE = 1.25;

/** Servers with these prices: the providers, and OpenRouter, which passes them on (its FAQ, read on 2026-11-24). */
const PRICED_HOSTS = /(?:^|\.)(?:api\.openai\.com|api\.anthropic\.com|openrouter\.ai)$/;

/**
 * The list price of a model at a server.
 * @param model as {@link knownWindow} takes it
 * @returns undefined if no row matches: other servers may charge any price
 */
export function knownPrice(hostname: string, model: string): ModelPrice | undefined {
  if (!PRICED_HOSTS.test(hostname)) return undefined;
  const name = plainName(model).replace(/-(?:\d{8}|\d{4}-\d\d-\d\d)$/, "");
  const row = PRICES.find(([known]) => known === name);
  if (row === undefined) return undefined;
  const [, input, cached, output] = row;
  return { input, cached, write: input * WRITE_RATE, output };
}

/**
 * Normal form: no vendor before the name, `llama-3.1` for `llama3.1`, `claude-opus-4-6` for
 * `claude-opus-4.6`.
 */
function plainName(model: string): string {
  const last = model.toLowerCase().split("/").at(-1) ?? "";
  const name = last
    .replace(/^(?:[a-z]+\.)?(?:anthropic|openai|meta|mistral|google|deepseek)\./, "")
    .replace(/^meta-/, "")
    .replace(/^(llama|gemma|phi)(\d)/, "$1-$2")
    .replace(/^qwen-?(\d)/, "qwen$1")
    .replace(/^(qwen3):/, "$1-")
    .replace(/:/, "-");
  return name.startsWith("claude-") ? name.replaceAll(".", "-") : name;
}
