import type { CheckedFile, ProblemAt } from "./check-file.ts";
import type { ConfigProblem } from "../config-error.ts";
import { nearestName } from "../nearest-name.ts";
import { type Config, serverOf } from "../config.ts";

/** A model with a server of its own needs a known one. */
export function checkRoles({ llm }: Pick<Config, "llm">, problemAt: ProblemAt): ConfigProblem[] {
  return (["embeddings", "transcription"] as const).flatMap((role) => {
    const named = llm[role];
    if (named === null || named.baseUrl !== null || named.apiKey !== null) return [];
    const fields = {
      message:
        role === "embeddings"
          ? "no server is known for this embedding model"
          : "no server is known for this model that transcribes",
      expected: "base_url or api_key beside it, or those of [llm]",
    };
    return [problemAt(["llm", role, "model"], fields)];
  });
}

/** Problems between the keys of `[models]`, such as a price for only one direction. */
export function checkModels(
  { llm }: Pick<Config, "llm">,
  file: CheckedFile,
  problemAt: ProblemAt,
): ConfigProblem[] {
  return llm.models.flatMap(({ name, priceIn, priceOut, priceCached, writePrice }) => {
    const isOf = { price_in: priceIn !== "unknown", price_out: priceOut !== "unknown" };
    const isCached = priceCached !== "price_in" || writePrice !== "price_in";
    if (isOf.price_in === isOf.price_out && (isOf.price_in || !isCached)) return [];
    const missing = (["price_in", "price_out"] as const).filter((key) => !isOf[key]);
    if (missing.some((key) => file.isBroken(["models", name, key]))) return [];
    const fields = {
      message: `the price of this model is not whole: ${missing.join(" and ")} is missing`,
      expected: "price_in and price_out, and price_cached and write_price where they differ from price_in",
    };
    return [problemAt(["models", name], fields)];
  });
}

/** Vendors that gateways (OpenRouter, LiteLLM, hosts of open models) put before model names. */
const VENDORS: ReadonlySet<string> = new Set(
  "ai21 anthropic cohere deepseek deepseek-ai google meta meta-llama microsoft minimax mistral mistralai moonshotai nvidia openai perplexity qwen x-ai xai z-ai zai-org".split(
    " ",
  ),
);

/**
 * Warnings of `weir config check` about ambiguous model names. Pure.
 * @returns a sentence for each; none if `[llm]` names no server, or OpenAI's or Anthropic's, whose model names have no
 *   vendor
 */
export function warnOfModelNames({ llm, agents }: Pick<Config, "llm" | "agents">): string[] {
  const isGateway = llm.baseUrl !== null && !/api\.(?:openai|anthropic)\.com(?:$|[/:])/.test(llm.baseUrl);
  const named = [
    ...agents.flatMap(({ model, compactorModel, fallbacks }) => [model, compactorModel, ...fallbacks]),
    ...llm.models.map(({ name }) => name),
  ];
  return [...new Set(named)].flatMap((model) => {
    const server = serverOf(model, llm.servers);
    if (server !== undefined)
      return isGateway && VENDORS.has(server.name.toLowerCase())
        ? [
            `model ${model}: taken for a model of [llm.servers.${server.name}]. If the model of this name at the server of [llm] is meant, give [llm.servers.${server.name}] another name.`,
          ]
        : [];
    const [head = "", ...rest] = model.split("/");
    const names = llm.servers.map(({ name }) => name);
    const near = rest.length === 0 || VENDORS.has(head) ? null : nearestName(head, names);
    return near === null
      ? []
      : [
          `model ${model}: no server of [llm.servers] is called ${head}. Did you mean ${near}/${rest.join("/")}?`,
        ];
  });
}
