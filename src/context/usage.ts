import { type Calibration, estimatedRoom, realTokens } from "../core/calibration.ts";
import type { Context, Pressure, Section } from "../core/context.ts";
import { afterReset, type History, rawFrom } from "../core/history.ts";
import type { AgentConfig } from "../config/config.ts";

/** The room for a request in a model's window, and the tiers' thresholds. */
export interface Budget {
  readonly window: number;
  /** Tokens kept free for the answer, see `reserveIn`. */
  readonly reserve: number;
  readonly backgroundThreshold: number;
  readonly aggressiveThreshold: number;
  readonly emergencyThreshold: number;
  /** Usage at which a cut or an omission stops. */
  readonly target: number;
  /** Newest messages that an omission leaves, if there is room for them. */
  readonly keepMessages: number;
  /** Converts the estimates of this channel's requests into the model's own tokens. */
  readonly calibration: Calibration;
}

/** Tokens of the window that a request may use, in the model's count. */
export function usableTokens(budget: Budget): number {
  return Math.max(1, budget.window - budget.reserve);
}

/** Estimated tokens at which a whole request takes this share of the usable window. */
export function tokenBudgetAt(budget: Budget, share: number): number {
  return estimatedRoom(share * usableTokens(budget), budget.calibration);
}

/** Estimated tokens of a part of a request that takes this share of the usable window. */
export function partAt(budget: Budget, share: number): number {
  return (share * usableTokens(budget)) / budget.calibration.factor;
}

/** Raw text for which a summary is written ahead: a share of the usable window, up to the length that one summary covers well. */
const STRETCH_SHARE = 0.2;
const LONGEST_STRETCH = 6000;
/** The smallest part of a stretch that is worth a summary of its own: 15 % of the usable window. */
const LEAST_OF_STRETCH = 0.75;

/** Estimated tokens of raw text for which a summary is written ahead. */
export function stretchTokens(budget: Budget): number {
  return Math.min(partAt(budget, STRETCH_SHARE), LONGEST_STRETCH);
}

/** Fewest estimated tokens of raw text for an optional summary. */
export function leastOfLeaf(budget: Budget): number {
  return stretchTokens(budget) * LEAST_OF_STRETCH;
}

/** Length of an extract of the omitted range: a share of the usable window, within bounds. */
const EXTRACT_SHARE = 0.05;
const EXTRACT_TOKENS = { least: 100, most: 1500 } as const;

/** Estimated tokens of the extract that stands in for an omitted range. */
export function extractTokens(budget: Budget): number {
  const tokens = Math.floor(partAt(budget, EXTRACT_SHARE));
  return Math.min(Math.max(tokens, EXTRACT_TOKENS.least), EXTRACT_TOKENS.most);
}

/** Estimated tokens of recalled passages that give way to nothing but an emergency: about 650 of a tokenizer, a tenth of a small window. */
const LEAST_RECALLED = { tokens: 740, share: 0.1 } as const;
/** Most estimated tokens of all recalled passages, whatever the window. */
export const MOST_RECALLED = 4000;
/** @param usable estimated tokens of the usable window */
export function leastRecalled(usable: number): number {
  return Math.min(LEAST_RECALLED.tokens, Math.floor(LEAST_RECALLED.share * usable));
}

/** Share of the usable window that the conversation leaves at least for what recall adds, memories included. */
const KEPT_SHARE = 0.15;

/**
 * Estimated tokens that a landing in the background keeps free for what recall adds to the next request. What it finds is not known
 * between turns, and has only the room that the conversation leaves: a full channel would find least, though it has most to find.
 * @param budget called only if there is something to recall
 */
export function keptForRecall(
  { recall }: Pick<AgentConfig["memory"], "recall">,
  history: Pick<History, "coveredTo" | "omittedTo" | "summaries">,
  budget: () => Budget,
): number {
  if (recall === "off" || recall === "memories" || rawFrom(history) <= afterReset(history)) return 0;
  return Math.min(MOST_RECALLED, Math.floor(partAt(budget(), KEPT_SHARE)));
}

export function recalledTokens({
  sections,
}: {
  readonly sections: readonly Pick<Section, "kind" | "tokens">[];
}): number {
  return sections.find(({ kind }) => kind === "recalled")?.tokens.after ?? 0;
}

/** Estimated tokens of the part made for each turn, without recalled passages: these give way to the conversation. */
export function lastingDynamicTokens(context: {
  readonly segments: readonly { readonly key: string; readonly tokens: number }[];
  readonly sections: readonly Pick<Section, "kind" | "tokens">[];
}): number {
  const tokens = context.segments.find(({ key }) => key === "dynamic")?.tokens ?? 0;
  return tokens - recalledTokens(context);
}

/**
 * Share of the usable window that the whole request would take without an omission. Measured with it, an omission would
 * hide its own cause, and the range would never be summarised.
 */
export function usageOf(context: Context, history: History, budget: Budget): number {
  const estimated = context.tokens + (history.omission?.tokens ?? 0);
  return realTokens(estimated, budget.calibration) / usableTokens(budget);
}

/** The nearness of the next tier, as a word. */
export function pressureOf(usage: number, budget: Budget): Pressure {
  if (usage >= budget.emergencyThreshold) return "critical";
  if (usage >= budget.backgroundThreshold) return "high";
  return usage >= budget.target ? "medium" : "low";
}
