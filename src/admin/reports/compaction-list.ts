import { type Cost, costOf, type ModelPrice, type ModelSpending } from "../../core/cost.ts";
import type { ChannelId, JobId } from "../../core/ids.ts";
import type { Models } from "../../llm/models.ts";
import type { CompactionRecord } from "../../store/compaction/compactions.ts";
import type { Store } from "../../store/store.ts";

/** A compaction with what its model calls have cost. */
export interface PricedCompaction extends CompactionRecord {
  readonly spent: readonly ModelSpending[];
  readonly cost: Cost;
}

export type SpentOnJobs = ReadonlyMap<JobId, readonly ModelSpending[]>;
export type PriceOf = (model: string) => ModelPrice | undefined;

/** Longest wait for a server to list its prices, ms. */
const LISTED_WITHIN_MS = 3000;

/** A channel's newest compactions, the newest last, and the cost of all of them by today's prices. */
export async function readCompactions(
  { store, models }: { readonly store: Store; readonly models: Models },
  channel: ChannelId,
  limit: number,
): Promise<{ readonly jobs: PricedCompaction[]; readonly spent: SpentOnJobs; readonly priceOf: PriceOf }> {
  const records = await store.compactions.list(channel, limit);
  const spent = await store.modelCalls.ofJobs(channel);
  const priceOf = await pricesOf(models, spent);
  const jobs = records.map((record) => {
    const calls = spent.get(record.id) ?? [];
    return { ...record, spent: calls, cost: costOf(calls, priceOf) };
  });
  return { jobs, spent, priceOf };
}

/** Asks the server for its prices where a model has no other. */
async function pricesOf(models: Models, spent: SpentOnJobs): Promise<PriceOf> {
  const isPriced = [...spent.values()].flat().every(({ model }) => models.priceOf(model) !== undefined);
  if (!isPriced) await models.askPrices(AbortSignal.timeout(LISTED_WITHIN_MS)).catch(() => undefined);
  return (model) => models.priceOf(model);
}
