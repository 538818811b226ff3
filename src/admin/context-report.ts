import { sceneOf } from "../channel/turns/turn-channel.ts";
import { UsageAnchor } from "../channel/model-usage.ts";
import { fitContext } from "../context/emergency.ts";
import { type Budget, usableTokens, usageOf } from "../context/usage.ts";
import { type Calibration, realTokens } from "../core/calibration.ts";
import { type Cost, costOf, type ModelSpending, totalSpending } from "../core/cost.ts";
import type { Context, Section } from "../core/context.ts";
import { dueMessages, writtenTo } from "../core/history.ts";
import { formatAddress } from "../core/ids.ts";
import type { ChannelSnapshot } from "../store/channels/snapshot.ts";
import type { CompactionTotals } from "../store/compaction/compactions.ts";
import type { ModelCallTotals } from "../store/turns/model-calls.ts";
import { type Agent, budgetOf } from "../turn/agent.ts";
import { nextSources } from "../turn/context-sources.ts";

/** The next model request of a channel, in numbers and texts. */
export interface ContextReport {
  readonly channel: string;
  readonly agent: string;
  readonly model: string;
  readonly window: number;
  readonly reserve: number;
  readonly usable: number;
  /** Tokens of the next request, as far as the model's own count is known. */
  readonly tokens: number;
  /** Tokens of the whole request, omitted entries included, over the usable window. */
  readonly usage: number;
  /** How near the next tier is, in a word. */
  readonly pressure: Pressure;
  /** Turned the estimates into these tokens: the provider's last count here, and the model's rate. */
  readonly calibration: Calibration;
  readonly thresholds: {
    readonly background: number;
    readonly aggressive: number;
    readonly emergency: number;
  };
  readonly segments: readonly {
    readonly key: string;
    readonly label: string;
    readonly tokens: number;
    readonly count: number;
  }[];
  /** What of the segments comes from the agent's folder, the most important first. */
  readonly sections: readonly SectionReport[];
  readonly log: {
    readonly entries: number;
    readonly coveredTo: number;
    /** Up to here entries are covered, or their summary is written and waits. */
    readonly writtenTo: number;
    readonly omittedTo: number;
    readonly due: number;
  };
  readonly omission: {
    readonly count: number;
    readonly tokens: number;
    readonly firstAt: Date;
    readonly lastAt: Date;
  } | null;
  readonly spent: SpentReport;
  readonly compactions: CompactionTotals;
}

/** What a channel's model calls have cost, by what their providers reported and by the prices of today. */
export interface SpentReport extends ModelCallTotals {
  readonly cost: Cost;
  /** Part of it. */
  readonly compactions: Omit<ModelSpending, "model"> & { readonly cost: Cost };
}

/** `low`: far from a compaction; `medium`: one may be written ahead; `high`: one is due; `critical`: messages are left out. */
export type Pressure = "low" | "medium" | "high" | "critical";

/** A section without its text. */
export type SectionReport = Omit<Section, "text">;

export interface ReportSituation extends Pick<ContextReport, "model" | "compactions"> {
  readonly spent: ModelCallTotals;
  readonly now: Date;
}

type Looked = Pick<ChannelSnapshot, "channel" | "history" | "lastUsage">;

/** The next model call of a channel, without recalled texts. Pure. */
export function nextRequest(
  agent: Agent,
  { channel, history, lastUsage }: Looked,
  { model, now }: { model: string; now: Date },
): { readonly context: Context; readonly budget: Budget } {
  const budget = budgetOf(agent, model, new UsageAnchor(lastUsage).of(model));
  const situation = { running: null, now, scene: sceneOf(channel), usable: usableTokens(budget) };
  const sources = nextSources(agent, history, situation);
  return { context: fitContext(sources, budget).context, budget };
}

/** Builds the report from a snapshot. Pure. */
export function reportContext(agent: Agent, snapshot: Looked, situation: ReportSituation): ContextReport {
  const { channel, history } = snapshot;
  const { context, budget } = nextRequest(agent, snapshot, situation);
  const { omission } = history;
  const usage = usageOf(context, history, budget);
  const tokensOf = inRealTokens(context.tokens, budget.calibration);
  const segments = context.segments.map(({ key, label, tokens, count }) => {
    return { key, label, tokens: tokensOf(tokens), count };
  });
  return {
    channel: formatAddress(channel.address),
    agent: agent.config.id,
    model: situation.model,
    window: budget.window,
    reserve: budget.reserve,
    usable: usableTokens(budget),
    tokens: segments.reduce((sum, { tokens }) => sum + tokens, 0),
    usage,
    pressure: pressureOf(usage, budget),
    calibration: budget.calibration,
    thresholds: {
      background: budget.backgroundThreshold,
      aggressive: budget.aggressiveThreshold,
      emergency: budget.emergencyThreshold,
    },
    segments,
    sections: context.sections.map(({ text: _text, ...section }) => section),
    log: {
      entries: history.lastSeq,
      coveredTo: history.coveredTo,
      writtenTo: writtenTo(history),
      omittedTo: history.omittedTo,
      due: dueMessages(history).length,
    },
    omission: omission && {
      count: omission.count,
      tokens: Math.round(omission.tokens * budget.calibration.factor),
      firstAt: omission.firstAt,
      lastAt: omission.lastAt,
    },
    spent: reportSpent(agent, situation.spent),
    compactions: situation.compactions,
  };
}

function reportSpent({ models: { priceOf } }: Agent, spent: ModelCallTotals): SpentReport {
  const ofCompactions = spent.models.filter(({ purpose }) => purpose === "compaction");
  return {
    ...spent,
    cost: costOf(spent.models, priceOf),
    compactions: { ...totalSpending(ofCompactions), cost: costOf(ofCompactions, priceOf) },
  };
}

function pressureOf(usage: number, budget: Budget): Pressure {
  if (usage >= budget.emergencyThreshold) return "critical";
  if (usage >= budget.backgroundThreshold) return "high";
  return usage >= budget.target ? "medium" : "low";
}

/** The provider counts only whole requests, so each part has the same rate. */
function inRealTokens(total: number, calibration: Calibration): (estimated: number) => number {
  const rate = total === 0 ? 1 : realTokens(total, calibration) / total;
  return (estimated) => Math.round(estimated * rate);
}
