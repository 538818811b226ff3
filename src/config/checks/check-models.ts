import type { CheckedFile, ProblemAt } from "./check-file.ts";
import type { ConfigProblem } from "../config-error.ts";
import type { Config } from "../config.ts";

/** A server has to be known for an embedding model. */
export function checkEmbeddings(
  { llm: { embeddings } }: Pick<Config, "llm">,
  problemAt: ProblemAt,
): ConfigProblem[] {
  if (embeddings === null || embeddings.baseUrl !== null || embeddings.apiKey !== null) return [];
  const fields = {
    message: "no server is known for this embedding model",
    expected: "base_url or api_key beside it, or those of [llm]",
  };
  return [problemAt(["llm", "embeddings", "model"], fields)];
}

/** What no single key of `[models]` can get wrong: half a price is none. */
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
