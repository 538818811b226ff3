import { type Cost, costOf, type ModelPrice, type ModelSpending, totalSpending } from "../../core/cost.ts";
import { displayableLine } from "../../text/displayable.ts";
import { formatDollars, formatNumber } from "../../text/format.ts";
import { counted } from "../../text/text.ts";

/** `$0.0123`; `about $0.0123 (1 call estimated)`; `at least $0.0123 (no price is known of small)`; `cost unknown (…)`. Pure. */
export function describeCost({ dollars, unpriced, uncounted }: Cost): string {
  const gaps = [
    ...(unpriced.length === 0 ? [] : [`no price is known of ${unpriced.map(displayableLine).join(", ")}`]),
    ...(uncounted === 0 ? [] : [`${counted(uncounted, "call")} estimated`]),
  ];
  const why = gaps.length === 0 ? "" : ` (${gaps.join("; ")})`;
  if (dollars === null) return `cost unknown${why}`;
  const more = unpriced.length > 0 ? "at least " : about(uncounted);
  return `${more}${formatDollars(dollars)}${why}`;
}

/** Prefix of numbers that are partly estimated. */
export function about(uncounted: number): string {
  return uncounted === 0 ? "" : "about ";
}

/** `3 model calls, 12,345 tokens in (9,000 cached, 73 %), 678 out; $0.0123`. Pure. */
export function describeSpending(
  spendings: readonly ModelSpending[],
  priceOf: (model: string) => ModelPrice | undefined,
): string {
  const total = totalSpending(spendings);
  const { calls, uncounted, promptTokens, completionTokens } = total;
  const tokens = `${about(uncounted)}${formatNumber(promptTokens)} tokens in (${describeCached(total)}), ${formatNumber(completionTokens)} out`;
  return `${counted(calls, "model call")}, ${tokens}; ${describeCost(costOf(spendings, priceOf))}`;
}

/** `9,000 cached, 73 %`; `9,000 cached, 73 %; 800 written`, if the provider reports that. */
export function describeCached(
  spending: Pick<ModelSpending, "cachedTokens" | "writtenTokens" | "promptTokens">,
): string {
  const { cachedTokens, writtenTokens, promptTokens } = spending;
  const share = (cachedTokens / Math.max(1, promptTokens)) * 100;
  const written = writtenTokens === 0 ? "" : `; ${formatNumber(writtenTokens)} written`;
  return `${formatNumber(cachedTokens)} cached, ${share.toFixed(share < 10 ? 1 : 0)} %${written}`;
}
