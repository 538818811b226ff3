import type { AgentConfig } from "../config/config.ts";
import { formatDollars, formatNumber } from "../text/format.ts";

/**
 * Budgets: limits of a day's spending, and what of them is spent. This file is pure; `budgets.ts` reads spendings from
 * the store.
 */

export const SCOPES = ["agent", "channel", "person"] as const;
/** Whose spending a budget limits: the agent's over all channels, or its share of one channel or one person. */
export type BudgetScope = (typeof SCOPES)[number];

export interface Amount {
  readonly tokens: number;
  readonly dollars: number;
}

export interface Purse {
  readonly scope: BudgetScope;
  /** 0: no limit. */
  readonly limits: Amount;
  readonly spent: Amount;
}

export type BudgetRules = AgentConfig["budget"];

export function limitsOf(rules: BudgetRules, scope: BudgetScope): Amount {
  switch (scope) {
    case "agent":
      return { tokens: rules.tokens, dollars: rules.dollars };
    case "channel":
      return { tokens: rules.channelTokens, dollars: rules.channelDollars };
    case "person":
      return { tokens: rules.personTokens, dollars: rules.personDollars };
  }
}

export function boundedScopes(rules: BudgetRules): BudgetScope[] {
  return SCOPES.filter((scope) => Object.values(limitsOf(rules, scope)).some((limit) => limit > 0));
}

/** The larger spent share of the existing limits; from 1 on, the budget is spent. */
export function shareSpent({ limits, spent }: Pick<Purse, "limits" | "spent">): number {
  const share = (amount: number, limit: number): number => (limit > 0 ? amount / limit : 0);
  return Math.max(share(spent.tokens, limits.tokens), share(spent.dollars, limits.dollars));
}

/** The first spent purse, the widest scope first; null: none is spent. */
export function emptyPurse<One extends Purse>(purses: readonly One[]): One | null {
  const ranked = purses.toSorted((a, b) => SCOPES.indexOf(a.scope) - SCOPES.indexOf(b.scope));
  return ranked.find((purse) => shareSpent(purse) >= 1) ?? null;
}

export function crosses(before: Purse, after: Purse, warnAt: number): boolean {
  return shareSpent(before) < warnAt && shareSpent(after) >= warnAt;
}

/** `82,000 of 100,000 tokens, $0.82 of $1.00`, for the existing limits. */
export function describePurse({ limits, spent }: Pick<Purse, "limits" | "spent">): string {
  const parts = [
    ...(limits.tokens > 0 ? [`${formatNumber(spent.tokens)} of ${formatNumber(limits.tokens)} tokens`] : []),
    ...(limits.dollars > 0 ? [`${formatDollars(spent.dollars)} of ${formatDollars(limits.dollars)}`] : []),
  ];
  return parts.join(", ");
}

export function added(one: Amount, other: Amount): Amount {
  return { tokens: one.tokens + other.tokens, dollars: one.dollars + other.dollars };
}

/** The difference, at least zero. */
export function less(one: Amount, other: Amount): Amount {
  return {
    tokens: Math.max(0, one.tokens - other.tokens),
    dollars: Math.max(0, one.dollars - other.dollars),
  };
}

export function larger(one: Amount, other: Amount): Amount {
  return { tokens: Math.max(one.tokens, other.tokens), dollars: Math.max(one.dollars, other.dollars) };
}
