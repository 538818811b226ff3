/** Dollars for a million tokens. */
export interface ModelPrice {
  readonly input: number;
  /** Input tokens that the provider read from its cache. */
  readonly cached: number;
  /** Input tokens that the provider wrote to its cache. */
  readonly write: number;
  readonly output: number;
}

/** The cost of calls of one model: in tokens as its provider reported them, or as they are estimated. */
export interface ModelSpending {
  readonly model: string;
  readonly calls: number;
  /** Calls with estimated tokens: the provider reported no counts. */
  readonly uncounted: number;
  readonly promptTokens: number;
  /** Parts of `promptTokens`: read from a cache, and written to it. */
  readonly cachedTokens: number;
  readonly writtenTokens: number;
  readonly completionTokens: number;
}

export interface Cost {
  /** Null: no price is known for any of the tokens. */
  readonly dollars: number | null;
  /** Models that have counted tokens and no known price. */
  readonly unpriced: readonly string[];
  /** Calls with estimated tokens. */
  readonly uncounted: number;
}

const MILLION = 1_000_000;

/** Computes the cost of calls by their models' prices. */
export function costOf(
  spendings: readonly ModelSpending[],
  priceOf: (model: string) => ModelPrice | undefined,
): Cost {
  let dollars: number | null = null;
  const unpriced = new Set<string>();
  let uncounted = 0;
  for (const one of spendings) {
    uncounted += one.uncounted;
    if (one.promptTokens === 0 && one.completionTokens === 0) continue;
    const price = priceOf(one.model);
    if (price === undefined) unpriced.add(one.model);
    else dollars = (dollars ?? 0) + dollarsOf(one, price);
  }
  return { dollars, unpriced: [...unpriced], uncounted };
}

function dollarsOf(
  { promptTokens, cachedTokens, writtenTokens, completionTokens }: ModelSpending,
  { input, cached, write, output }: ModelPrice,
): number {
  // More cannot come from the cache than was sent.
  const fromCache = Math.min(cachedTokens, promptTokens);
  const written = Math.min(writtenTokens, promptTokens - fromCache);
  const plain = promptTokens - fromCache - written;
  return (plain * input + fromCache * cached + written * write + completionTokens * output) / MILLION;
}

export function totalSpending(spendings: readonly ModelSpending[]): Omit<ModelSpending, "model"> {
  const sum = (of: (one: ModelSpending) => number): number =>
    spendings.reduce((total, one) => total + of(one), 0);
  return {
    calls: sum(({ calls }) => calls),
    uncounted: sum(({ uncounted }) => uncounted),
    promptTokens: sum(({ promptTokens }) => promptTokens),
    cachedTokens: sum(({ cachedTokens }) => cachedTokens),
    writtenTokens: sum(({ writtenTokens }) => writtenTokens),
    completionTokens: sum(({ completionTokens }) => completionTokens),
  };
}
