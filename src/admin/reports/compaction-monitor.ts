import { decide, type Decision } from "../../compactor/policy/policy.ts";
import { keepTokens } from "../../context/keep.ts";
import { type Budget, leastOfLeaf, stretchTokens, tokenBudgetAt, usableTokens } from "../../context/usage.ts";
import { summarySizes } from "../../context/summary-room.ts";
import type { JobKind, Tier } from "../../core/compaction.ts";
import { dueMessages, type History, type Stretch } from "../../core/history.ts";
import type { Seq } from "../../core/ids.ts";
import type { Agent } from "../../turn/agent.ts";

/** The compactor's view of a channel, in tokens by the model's own count if it is known. */
export interface CompactionMonitor {
  /** Its next work, if it is not under way; null: no work. */
  readonly due: DueWork | null;
  readonly tiers: Readonly<Record<"background" | "aggressive" | "emergency", number>>;
  /** The tier that comes next, and how far it is; null: emergency is reached. */
  readonly next: {
    readonly tier: "background" | "aggressive" | "emergency";
    readonly at: number;
    readonly left: number;
  } | null;
  /** Summaries that are written ahead, and wait. */
  readonly ahead: readonly Stretch[];
}

export interface DueWork {
  /** `land`: a summary written ahead is to be committed; `blocked`: work is due, and cannot be done. */
  readonly what: JobKind | "land" | "blocked";
  readonly tier: Tier | null;
  readonly fromSeq: Seq | null;
  readonly toSeq: Seq | null;
  /** Its summary would be written ahead. */
  readonly isAhead: boolean;
  readonly reason: string | null;
}

const TIERS = ["background", "aggressive", "emergency"] as const;

/**
 * How the compactor sees a channel. It decides as the compactor does, but for what only the running one knows: its failures and rests.
 * Pure.
 * @param estimated tokens of the request before anything is trimmed
 * @param usage of the usable window
 * @param fixed estimated tokens of the part that all requests share
 */
export function monitorCompaction(
  agent: Agent,
  history: History,
  budget: Budget,
  { estimated, usage, fixed }: { readonly estimated: number; readonly usage: number; readonly fixed: number },
): CompactionMonitor {
  const decision = decide({
    history,
    tokens: estimated + (history.omission?.tokens ?? 0),
    tokenBudgetAt: (share) => tokenBudgetAt(budget, share),
    keepTokens: keepTokens(budget),
    ...summarySizes(budget, fixed),
    stretchTokens: stretchTokens(budget),
    leastOfLeaf: leastOfLeaf(budget),
    leadTokens: 0,
    rules: agent.config.compaction,
    firstKept: dueMessages(history)[0]?.seq ?? history.lastSeq + 1,
    tokensOf: agent.renderer.stubTokens(history.entries),
    isForced: false,
    redoOf: null,
    isResting: false,
    cutShort: null,
  });
  const usable = usableTokens(budget);
  const shares = {
    background: budget.backgroundThreshold,
    aggressive: budget.aggressiveThreshold,
    emergency: budget.emergencyThreshold,
  };
  const at = (tier: (typeof TIERS)[number]): number => Math.floor(shares[tier] * usable);
  const next = TIERS.find((tier) => usage < shares[tier]);
  return {
    due: dueWork(decision),
    tiers: { background: at("background"), aggressive: at("aggressive"), emergency: at("emergency") },
    next:
      next === undefined
        ? null
        : { tier: next, at: at(next), left: Math.max(0, at(next) - Math.round(usage * usable)) },
    ahead: history.ahead,
  };
}

function dueWork(decision: Decision): DueWork | null {
  const nothing = { tier: null, fromSeq: null, toSeq: null, isAhead: false, reason: null };
  switch (decision.kind) {
    case "idle":
      return null;
    case "land":
      return { ...nothing, what: "land" };
    case "blocked":
      return { ...nothing, what: "blocked", tier: decision.tier, reason: decision.reason };
    case "job": {
      const { kind: what, tier, fromSeq, toSeq, isAhead = false } = decision.plan;
      return { ...nothing, what, tier, fromSeq, toSeq, isAhead };
    }
  }
}
