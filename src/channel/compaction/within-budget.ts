import type { Circuit } from "../../compactor/breaker.ts";
import type { ActorParts } from "../channel-context.ts";

/**
 * The circuit of a channel's compactions: while what may be spent today is spent, no model is asked, as if all were away. What has to
 * leave the view leaves it without one, and is summarised once there is a budget again.
 */
export function withinBudget(
  { budgets, agent, owner }: Pick<ActorParts, "budgets" | "agent" | "owner">,
  breaker: Circuit,
): Circuit {
  if (budgets === undefined) return breaker;
  const isSpent = (): boolean =>
    budgets.spent({ agent: agent.config.id, channel: owner.channel, person: null }) !== null;
  return {
    mayTry: (model) => !isSpent() && breaker.mayTry(model),
    admit: (model) => !isSpent() && breaker.admit(model),
    succeeded: (model) => breaker.succeeded(model),
    failed: (model) => breaker.failed(model),
    whyNot: () => (isSpent() ? "what may be spent today is spent" : null),
  };
}
