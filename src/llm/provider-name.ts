import { type LlmConfig, serverOf } from "../config/config.ts";
import type { ServerOf } from "../telemetry/otlp/turn-spans.ts";
import { isOllamaAt, OLLAMA_ORIGIN } from "./catalog/ollama.ts";
import { OPENAI_URL } from "./model-provider.ts";

/**
 * Well-known names of `gen_ai.provider.name` in OpenTelemetry's conventions (their registry, read in November 2026), by
 * the end of a server's name.
 */
const PROVIDERS: readonly (readonly [host: string, provider: string])[] = [
  ["openai.azure.com", "azure.ai.openai"],
  ["services.ai.azure.com", "azure.ai.inference"],
  ["amazonaws.com", "aws.bedrock"],
  ["generativelanguage.googleapis.com", "gcp.gemini"],
  ["aiplatform.googleapis.com", "gcp.vertex_ai"],
  ["anthropic.com", "anthropic"],
  ["cohere.com", "cohere"],
  ["cohere.ai", "cohere"],
  ["deepseek.com", "deepseek"],
  ["groq.com", "groq"],
  ["mistral.ai", "mistral_ai"],
  ["moonshot.ai", "moonshot_ai"],
  ["moonshot.cn", "moonshot_ai"],
  ["perplexity.ai", "perplexity"],
  ["x.ai", "x_ai"],
];

/**
 * The attributes of a model's server in spans. An unknown server is `openai`, whose protocol it speaks: its address
 * identifies it. Pure.
 * @param isOffline the built-in model answers for names without a server
 * @param model null: the default server's
 * @returns a well-known provider, or one of ours; an address of null: no network is used
 */
export function modelServerOf(
  parts: Pick<LlmConfig, "baseUrl" | "apiKey"> & Partial<Pick<LlmConfig, "servers">>,
  isOffline: boolean,
  model: string | null = null,
): ReturnType<ServerOf> {
  const { baseUrl, apiKey, servers = [] } = parts;
  const named = model === null ? undefined : serverOf(model, servers);
  if (named !== undefined) return modelServerOf(named, false);
  const [first] = servers;
  if (baseUrl === null && apiKey === null && first !== undefined) return modelServerOf(first, false);
  if (isOffline) return { provider: "weir", address: null, port: null };
  const url = new URL(baseUrl ?? (apiKey === null ? OLLAMA_ORIGIN : OPENAI_URL));
  const { hostname, port, protocol } = url;
  const known = PROVIDERS.find(([host]) => hostname === host || hostname.endsWith(`.${host}`));
  const provider = isOllamaAt(url) ? "ollama" : (known?.[1] ?? "openai");
  return {
    provider,
    address: hostname,
    port: port === "" ? (protocol === "https:" ? 443 : 80) : Number(port),
  };
}
