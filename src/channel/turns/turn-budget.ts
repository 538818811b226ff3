import { describePurse } from "../../budget/budget.ts";
import type { NamedPurse } from "../../budget/budgets.ts";
import { answeredMessages, type History, type TurnRange } from "../../core/history.ts";
import { OWN_AUTHOR } from "../../core/message.ts";
import type { TurnResult } from "../../turn/outcome.ts";
import type { ActorParts } from "../channel-context.ts";
import { sendNotice } from "../delivery/notice.ts";
import type { GuardedHistory } from "../guarded-history.ts";

type BudgetParts = Pick<ActorParts, "budgets" | "agent" | "owner" | "address"> & {
  readonly history: Pick<GuardedHistory, "current">;
};

/** The person who first asked for a turn, as `discord:1234`; null: nobody did. Pure. */
export function askerOf(history: History, turn: TurnRange, platform: string): string | null {
  const first = answeredMessages(history, turn).find(({ author }) => author.id !== OWN_AUTHOR);
  return first === undefined ? null : `${platform}:${first.author.id}`;
}

/** The spent budget that stops a turn; null: it may continue. It only reads memory. */
export function spentBudget(
  { budgets, agent, owner, address, history }: BudgetParts,
  turn: TurnRange,
): NamedPurse | null {
  if (budgets === undefined) return null;
  const person = askerOf(history.current, turn, address.platform);
  return budgets.spent({ agent: agent.config.id, channel: owner.channel, person });
}

/**
 * Refuses a new turn if a budget is spent. A turn that has begun before, or that goes on with calls that were held back, is not
 * refused.
 * @returns null: it may begin
 */
export function refusedForBudget(
  parts: BudgetParts,
  turn: TurnRange,
  isUnderWay: boolean,
): TurnResult | null {
  const { budgets, address } = parts;
  if (budgets === undefined) return null;
  budgets.begin(turn.id, askerOf(parts.history.current, turn, address.platform));
  const spent = isUnderWay ? null : spentBudget(parts, turn);
  if (spent === null) return null;
  const why = `the budget of the ${spent.scope} is spent for today`;
  return { outcome: { kind: "failed", failure: `spent_${spent.scope}`, why }, modelMs: 0 };
}

/** Warns people in the channel that a budget is nearly spent. */
export function tellBudgets(
  parts: Pick<ActorParts, "budgets" | "owner" | "address" | "platform" | "agent" | "log" | "now">,
): void {
  const { budgets, owner, agent, now } = parts;
  for (const purse of budgets?.takeWarnings(owner.channel) ?? []) {
    // One warning a day.
    const idempotencyKey = `budget-${purse.agent}-${purse.scope}-${purse.of}-${agent.time.day(now())}`;
    sendNotice(parts, { idempotencyKey, text: nearlySpent(purse) }, "budget_notice_not_sent");
  }
}

function nearlySpent(purse: NamedPurse): string {
  const whose = {
    agent: "of what I may spend today",
    channel: "of what I may spend here today",
    person: "of what I may spend on one person's questions today",
  }[purse.scope];
  return `Most ${whose} is spent: ${describePurse(purse)}. Once all of it is, I answer again tomorrow.`;
}
