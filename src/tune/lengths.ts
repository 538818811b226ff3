import type { JobPlan } from "../core/compaction.ts";
import type { SummaryLengths } from "../store/turns/past.ts";
import { beginningWithin } from "../text/tokens.ts";

/** Longest summary as a share of its source: a longer one would be refused. */
const LONGEST_SHARE = 0.7;

/**
 * Expected length of summaries of this kind and level, by the channel's own: model summaries of that level, else of
 * that kind, else extracts. Pure.
 * @returns a summary's tokens relative to its sources', and the summaries that it is measured on; null: none
 */
export function expectedLength(
  lengths: readonly SummaryLengths[],
  { kind, level }: Pick<JobPlan, "kind" | "level">,
): { readonly share: number | null; readonly from: "models" | "extracts" | null } {
  const ofKind = lengths.filter((one) => one.kind === kind);
  for (const madeBy of ["model", "digest"] as const) {
    const made = ofKind.filter((one) => one.madeBy === madeBy);
    const atLevel = made.filter((one) => one.level === level);
    const known = atLevel.length > 0 ? atLevel : made;
    const source = known.reduce((sum, { sourceTokens }) => sum + sourceTokens, 0);
    if (source > 0) {
      const told = known.reduce((sum, { tokens }) => sum + tokens, 0);
      return { share: told / source, from: madeBy === "model" ? "models" : "extracts" };
    }
  }
  return { share: null, from: null };
}

/**
 * Estimated tokens of a summary that does not exist. Without a measurement, its limit. Pure.
 * @param cap its limit
 */
export function summaryTokens(
  lengths: readonly SummaryLengths[],
  plan: Pick<JobPlan, "kind" | "level" | "sourceTokens">,
  cap: number,
): number {
  const { share } = expectedLength(lengths, plan);
  const most = Math.min(cap, Math.floor(plan.sourceTokens * LONGEST_SHARE));
  return Math.max(1, Math.min(most, Math.round(plan.sourceTokens * (share ?? LONGEST_SHARE))));
}

/** A text of about this many estimated tokens, never more, in place of a summary. Pure. */
export function fillerText(tokens: number): string {
  return beginningWithin("word ".repeat(Math.ceil(tokens)), tokens);
}
