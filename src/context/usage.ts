import type { Context } from "../core/context.ts";
import type { History } from "../core/history.ts";

/** What a model's window leaves for a request, and where the tiers begin. */
export interface Budget {
  /** Tokens that the model's window holds. */
  readonly window: number;
  /** Tokens kept free for the answer: max_output_tokens + generation_reserve. */
  readonly reserve: number;
  readonly backgroundThreshold: number;
  readonly aggressiveThreshold: number;
  readonly emergencyThreshold: number;
  /** Usage at which a cut or an omission stops. */
  readonly target: number;
  /** Newest messages that an omission leaves, where they take no more than 40 % of the usable window. */
  readonly keepMessages: number;
}

/** Tokens of the window that a request may use. */
export function usableTokens(budget: Budget): number {
  return Math.max(1, budget.window - budget.reserve);
}

/**
 * Tokens of the whole request over the usable window, as it would be without any omission: judged after it, an
 * omission would hide its own cause, and nothing would ever be summarised.
 */
export function usageOf(context: Context, history: History, budget: Budget): number {
  return (context.tokens + (history.omission?.tokens ?? 0)) / usableTokens(budget);
}
