import { sizeOfRequest } from "../../channel/compaction/compaction-target.ts";
import { sceneOf } from "../../channel/turns/turn-channel.ts";
import { UsageAnchor } from "../../channel/model-usage.ts";
import { type Fit, fitContext } from "../../context/emergency.ts";
import { focusOf } from "../../context/sections/focus.ts";
import { contextSections } from "../../context/sections/list.ts";
import { sectionLimits, type SectionLimits } from "../../context/sections/fit.ts";
import { type Budget, pressureOf, usableTokens, usageOf } from "../../context/usage.ts";
import { type Calibration, realTokens } from "../../core/calibration.ts";
import { type Cost, costOf, type ModelSpending, totalSpending } from "../../core/cost.ts";
import { contextCharacters, type Segment, type Section } from "../../core/context.ts";
import type { WindowSource } from "../../llm/catalog/known-windows.ts";
import { dueMessages, type Omission, writtenTo } from "../../core/history.ts";
import { formatAddress } from "../../core/ids.ts";
import type { ChannelSnapshot } from "../../store/channels/snapshot.ts";
import type { CompactionTotals } from "../../store/compaction/compactions.ts";
import type { ContextRecord } from "../../store/turns/context-records.ts";
import type { ModelCallTotals } from "../../store/turns/model-calls.ts";
import { type Agent, budgetOf } from "../../turn/agent.ts";
import { type CompactionMonitor, monitorCompaction, thresholdsOf } from "./compaction-monitor.ts";
import { type CostsByType, costsByType } from "./context-costs.ts";
import { type LookedUp, nextSources } from "../../turn/context-sources.ts";

/** The next model request of a channel, in numbers and texts. */
export interface ContextReport extends Pick<
  ContextRecord,
  "model" | "window" | "usable" | "characters" | "usage" | "pressure" | "focus"
> {
  readonly channel: string;
  readonly agent: string;
  /** The source of the window, and its expiry; null: it holds until it is replaced. */
  readonly windowSource: WindowSource;
  readonly windowUntil: Date | null;
  readonly reserve: number;
  /** Tokens of the next request, by the model's own count if it is known. */
  readonly tokens: number;
  /** The same by Weir's own estimate. */
  readonly estimatedTokens: number;
  /** The system prompt's share of those tokens. */
  readonly systemShare: number;
  /** Turned the estimates into these tokens: the provider's last count here, and the model's rate. */
  readonly calibration: Calibration;
  readonly thresholds: CompactionMonitor["tiers"];
  readonly segments: readonly (Omit<Segment, "key" | "messages"> & { readonly key: string })[];
  readonly types: CostsByType;
  /** All its parts, in the order of the request; estimated tokens. */
  readonly sections: readonly SectionReport[];
  /** Keys of the sections that the budget has cut. */
  readonly truncated: readonly string[];
  /** Limits of sections: one and all in characters, all and those after the messages in estimated tokens. */
  readonly budget: SectionLimits;
  readonly monitor: CompactionMonitor;
  readonly log: {
    readonly entries: number;
    readonly coveredTo: number;
    /** Up to here entries are covered, or their summary is written and waits. */
    readonly writtenTo: number;
    readonly omittedTo: number;
    readonly due: number;
  };
  readonly omission: Omit<Omission, "fromSeq" | "toSeq"> | null;
  readonly spent: SpentReport;
  readonly compactions: CompactionTotals;
}

/** The cost of a channel's model calls, by their providers' reports and today's prices. */
export interface SpentReport extends ModelCallTotals {
  readonly cost: Cost;
  /** Part of it. */
  readonly compactions: Omit<ModelSpending, "model"> & { readonly cost: Cost };
}

export type SectionReport = Omit<Section, "text">;

export interface ReportSituation
  extends
    Pick<ContextReport, "model" | "compactions">,
    Pick<LookedUp, "channelFiles" | "activeTexts" | "waitedFor"> {
  readonly spent: ModelCallTotals;
  readonly now: Date;
}

type Looked = Pick<ChannelSnapshot, "channel" | "history" | "lastUsage">;

/** The next model call of a channel, without recalled texts. Pure. */
export function nextRequest(
  agent: Agent,
  { channel, history, lastUsage }: Looked,
  parts: Pick<ReportSituation, "model" | "now" | "channelFiles" | "activeTexts" | "waitedFor">,
): Pick<Fit, "context" | "history" | "tokensBefore"> & { readonly budget: Budget } {
  const { model, now, channelFiles, activeTexts, waitedFor } = parts;
  const budget = budgetOf(agent, model, new UsageAnchor(lastUsage).of(model));
  const situation = {
    running: null,
    now,
    channelFiles,
    activeTexts,
    waitedFor,
    scene: sceneOf(channel),
    usable: usableTokens(budget),
  };
  const sources = nextSources(agent, history, situation);
  return { ...fitContext(sources, budget), budget };
}

export function reportContext(agent: Agent, snapshot: Looked, situation: ReportSituation): ContextReport {
  const { channel, history } = snapshot;
  const { context, budget, tokensBefore, history: shown } = nextRequest(agent, snapshot, situation);
  const { omission } = history;
  const known = agent.models.knownWindow(situation.model, agent.config.contextWindow);
  // Includes the entries that an emergency would leave out: without them it would hide its own cause.
  const usage = usageOf(context, shown, budget);
  const sections = contextSections(context);
  const tokensOf = inRealTokens(context.tokens, budget.calibration);
  const segments = context.segments.map(({ key, label, tokens, count }) => {
    return { key, label, tokens: tokensOf(tokens), count };
  });
  const tokens = segments.reduce((sum, segment) => sum + segment.tokens, 0);
  const system = segments.find(({ key }) => key === "system")?.tokens ?? 0;
  return {
    channel: formatAddress(channel.address),
    agent: agent.config.id,
    model: situation.model,
    window: budget.window,
    windowSource: known.source,
    windowUntil: known.until,
    reserve: budget.reserve,
    usable: usableTokens(budget),
    tokens,
    estimatedTokens: context.tokens,
    characters: contextCharacters(context),
    systemShare: tokens === 0 ? 0 : system / tokens,
    usage,
    pressure: pressureOf(usage, budget),
    calibration: budget.calibration,
    thresholds: thresholdsOf(budget),
    segments,
    types: costsByType(context, tokensOf),
    sections: sections.map(({ text: _text, ...section }) => section),
    truncated: sections.filter(({ state }) => state === "cut").map(({ key }) => key),
    focus: context.focus ?? focusOf(dueMessages(history).map(({ text }) => text)),
    budget: sectionLimits(usableTokens(budget)),
    monitor: monitorCompaction(agent, history, budget, {
      estimated: tokensBefore,
      usage,
      fixed: sizeOfRequest(context).fixed,
    }),
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

/** The provider counts only whole requests, so each part has the same rate. */
function inRealTokens(total: number, calibration: Calibration): (estimated: number) => number {
  const rate = total === 0 ? 1 : realTokens(total, calibration) / total;
  return (estimated) => Math.round(estimated * rate);
}
