import { SUMMARY_LABEL_TOKENS } from "../../../src/context/render.ts";
import type { CompactionState, Decision } from "../../../src/compactor/policy/policy.ts";
import type { Entry } from "../../../src/core/entry.ts";
import { isCounted, legalCuts, writtenTo } from "../../../src/core/history.ts";

/** Reasons that are about something else than what may leave. */
const OTHER_REASON = /too little|too many/;

/** A leaf gets the context to its target, or takes all that may leave; and where it is said that nothing may, nothing may. */
export function checkI14(state: CompactionState, decision: Decision): string[] {
  const last = lastToLeave(state);
  if (decision.kind === "blocked") {
    if (OTHER_REASON.test(decision.reason)) return [];
    return last === null ? [] : [`blocked (${decision.reason}), and all up to ${last} may leave`];
  }
  // What is written ahead changes no view; of what lands, the next leaf is judged.
  if (decision.kind !== "job" || decision.plan.kind !== "leaf" || decision.plan.isAhead === true) return [];
  const { plan } = decision;
  const { history, rules, tokenBudgetAt } = state;
  // That it covers all that is omitted is asked elsewhere (I15).
  if (plan.toSeq < history.omittedTo) return [];
  const left = tokensBehind(state, plan.toSeq);
  const target = tokenBudgetAt(rules.target);
  if (left <= target || last === null || last <= plan.toSeq) return [];
  // What heals an omission need not cover more than that where it makes the context no fuller than it may be.
  const isHealing = plan.tier === "emergency" && plan.toSeq === history.omittedTo;
  if (isHealing && left < tokenBudgetAt(rules.backgroundThreshold)) return [];
  return [
    `a leaf up to ${plan.toSeq} leaves ${Math.ceil(left)} tokens of ${Math.floor(target)} at the target, ` +
      `and all up to ${last} may leave`,
  ];
}

/** A landing that costs less later is one that waits: but only as long as requests find the cache. */
export function isLandingPutOff({ history, cache }: CompactionState, decision: Decision): boolean {
  const isWaiting = decision.kind === "idle" && writtenTo(history) > history.coveredTo;
  return isWaiting && cache !== undefined && !cache.terms.isCold;
}

/** Estimated tokens of the request when a summary of all up to `toSeq` has taken its place. */
function tokensBehind({ history, tokens, summaryCap, tokensOf }: CompactionState, toSeq: number): number {
  const omitted = history.omittedTo > history.coveredTo ? (history.omission?.tokens ?? 0) : 0;
  const covered = history.entries.filter(({ seq }) => seq <= toSeq);
  return covered.reduce(
    (sum, entry) => sum - tokensOf(entry),
    tokens - omitted + summaryCap + SUMMARY_LABEL_TOKENS,
  );
}

/** The last seq behind which the raw view may begin; null: nothing may leave. */
function lastToLeave(state: CompactionState): number | null {
  const kept = keptEntries(state);
  const cuts = legalCuts(state.history.entries);
  return (
    state.history.entries.findLast(
      (entry) => entry.seq < state.firstKept && !kept.has(entry) && cuts.has(entry.seq),
    )?.seq ?? null
  );
}

/** The newest messages, so many and so much of them as may stay. */
function keptEntries({ history, firstKept, keepTokens, rules, tokensOf }: CompactionState): Set<Entry> {
  const kept = new Set<Entry>();
  let [messages, tokens] = [0, 0];
  for (const entry of history.entries.filter(({ seq }) => seq < firstKept).toReversed()) {
    messages += Number(isCounted(entry));
    tokens += tokensOf(entry);
    if (messages > rules.keepMessages || tokens > keepTokens) break;
    kept.add(entry);
  }
  return kept;
}
