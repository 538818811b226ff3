import type { JobPlan } from "../core/compaction.ts";
import type { SummaryLengths } from "../store/turns/past.ts";
import { estimateTokens } from "../text/tokens.ts";

/** A summary's tokens for each of its source's, by whose summaries that was learned; null: from none. */
export interface ExpectedLength {
  readonly share: number | null;
  readonly from: "models" | "extracts" | null;
}

/** No summary is longer than this share of its source: it would be refused. */
const LONGEST_SHARE = 0.7;

/**
 * How long summaries of this kind and level are expected to be, by the channel's own: those of models at that level, else of that
 * kind; without any of a model, its extracts. Pure.
 */
export function expectedLength(
  lengths: readonly SummaryLengths[],
  { kind, level }: Pick<JobPlan, "kind" | "level">,
): ExpectedLength {
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
 * Estimated tokens of a summary that nobody has written. Where nothing is known, it fills what it may take. Pure.
 * @param cap the longest that it may be
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

const WORD = "word ";

/** A text of about so many estimated tokens, never more: it stands in for one that nobody has written. Pure. */
export function fillerText(tokens: number): string {
  const text = WORD.repeat(Math.ceil(tokens));
  let [low, high] = [0, text.length];
  while (low < high) {
    const middle = Math.ceil((low + high) / 2);
    if (estimateTokens(text.slice(0, middle), tokens) <= tokens) low = middle;
    else high = middle - 1;
  }
  return text.slice(0, low);
}
