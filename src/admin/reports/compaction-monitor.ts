import { type BackgroundRoom, backgroundRoom, decide, type Decision } from "../../compactor/policy/policy.ts";
import type { CompactionConfig } from "../../config/config.ts";
import { measureHistory } from "../../channel/compaction/compaction-target.ts";
import { type Budget, keptForRecall, usableTokens } from "../../context/usage.ts";
import type { JobKind, Tier } from "../../core/compaction.ts";
import type { History, Stretch } from "../../core/history.ts";
import type { Seq } from "../../core/ids.ts";
import type { Agent } from "../../turn/agent.ts";

/** The compactor's view of a channel, in tokens by the model's own count if it is known. */
export interface CompactionMonitor {
  /** Its next work, if it is not under way; null: no work. */
  readonly due: DueWork | null;
  readonly tiers: Readonly<Record<MarkedTier, number>>;
  /** Kept free for what recall will add to the next request: the background tier is reached by as much earlier. */
  readonly keptForRecall: number;
  /** Null: emergency is reached. */
  readonly next: NextMark | null;
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
type MarkedTier = (typeof TIERS)[number];

/** Shares of the usable window. */
export function thresholdsOf(budget: Budget): CompactionMonitor["tiers"] {
  const { backgroundThreshold: background, aggressiveThreshold: aggressive } = budget;
  return { background, aggressive, emergency: budget.emergencyThreshold };
}

/** The mark that the channel reaches first if it goes on as it has. */
export interface NextMark {
  readonly tier: MarkedTier;
  /** Tokens of the request at which it is reached. */
  readonly at: number;
  readonly left: number;
  /** The limit: a share of the usable window, or an option. By messages, `at` and `left` go by their mean length so far. */
  readonly by: "window" | "max_raw_tokens" | "max_raw_messages";
}

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
  const recallTokens = keptForRecall(agent.config.memory, history, () => budget);
  const tokens = estimated + recallTokens;
  const now = { limits: budget, tokens, recallTokens, running: null, fixed, cache: undefined };
  const state = {
    ...measureHistory(agent, history, now),
    history,
    leadTokens: 0,
    isForced: false,
    redoOf: null,
    isResting: false,
    cutShort: null,
  };
  const usable = usableTokens(budget);
  const shares = thresholdsOf(budget);
  const at = (tier: MarkedTier): number => Math.floor(shares[tier] * usable);
  const tiers = { background: at("background"), aggressive: at("aggressive"), emergency: at("emergency") };
  const { factor } = budget.calibration;
  const kept = Math.round(recallTokens * factor);
  const reached = { ...tiers, background: tiers.background - kept };
  return {
    due: dueWork(decide(state)),
    tiers,
    keptForRecall: kept,
    next: nextMark(Math.round(usage * usable), reached, {
      room: backgroundRoom(state),
      rules: state.rules,
      factor,
    }),
    ahead: history.ahead,
  };
}

/** @param used tokens of the whole request @param limits.factor tokens of the report for each estimated one */
function nextMark(
  used: number,
  tiers: CompactionMonitor["tiers"],
  limits: {
    readonly room: BackgroundRoom;
    readonly rules: Pick<CompactionConfig, "maxRawMessages" | "maxRawTokens">;
    readonly factor: number;
  },
): NextMark | null {
  const { room, rules, factor } = limits;
  const atWindow = (tier: MarkedTier): NextMark => {
    return { tier, at: tiers[tier], left: tiers[tier] - used, by: "window" };
  };
  const atLimit = (by: NextMark["by"], tokens: number): NextMark => {
    const left = Math.round(tokens * factor);
    return { tier: "background", at: used + left, left, by };
  };
  const background = [atWindow("background"), atLimit("max_raw_tokens", room.rawTokens)];
  const messages = rules.maxRawMessages - room.rawMessages;
  const meanTokens = (rules.maxRawTokens - room.rawTokens) / messages;
  if (messages > 0) background.push(atLimit("max_raw_messages", room.rawMessages * meanTokens));
  const nearest = background.reduce((near, mark) => (mark.left < near.left ? mark : near));
  return [nearest, atWindow("aggressive"), atWindow("emergency")].find(({ left }) => left > 0) ?? null;
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
