import { placeOf } from "../channel/actor-turn-channel.ts";
import { fitContext } from "../context/emergency.ts";
import { usableTokens, usageOf } from "../context/usage.ts";
import { dueMessages } from "../core/history.ts";
import { formatAddress, turnId } from "../core/ids.ts";
import type { ChannelSnapshot } from "../store/history.ts";
import type { ModelCallTotals } from "../store/model-calls.ts";
import { type Agent, budgetOf } from "../turn/agent.ts";
import { contextSources } from "../turn/context-sources.ts";

/** What the next model call of a channel would be sent, as numbers and texts. */
export interface ContextReport {
  readonly channel: string;
  readonly agent: string;
  readonly model: string;
  readonly window: number;
  readonly reserve: number;
  readonly usable: number;
  /** Estimated tokens of the request that would be sent. */
  readonly tokens: number;
  /** Tokens of the whole request, omitted entries included, over the usable window. */
  readonly usage: number;
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
  readonly log: {
    readonly entries: number;
    readonly coveredTo: number;
    readonly omittedTo: number;
    readonly due: number;
  };
  readonly omission: {
    readonly count: number;
    readonly tokens: number;
    readonly firstAt: Date;
    readonly lastAt: Date;
  } | null;
  readonly spent: ModelCallTotals;
}

/** Puts the report together. Pure: it looks at a snapshot and changes nothing. */
export function reportContext(
  agent: Agent,
  snapshot: Pick<ChannelSnapshot, "channel" | "history">,
  situation: { model: string; spent: ModelCallTotals; now: Date },
): ContextReport {
  const { channel, history } = snapshot;
  const budget = budgetOf(agent, situation.model);
  const next = history.lastSeq + 1;
  const first = dueMessages(history)[0]?.seq ?? next;
  const turn = { id: turnId(-1), fromSeq: first, toSeq: next };
  const title = formatAddress(channel.address);
  const sources = contextSources(agent, {
    history,
    turn,
    recalled: [],
    now: situation.now,
    place: placeOf(channel.address, channel.kind),
  });
  const { context } = fitContext(sources, budget);
  const { omission } = history;
  return {
    channel: title,
    agent: agent.config.id,
    model: situation.model,
    window: budget.window,
    reserve: budget.reserve,
    usable: usableTokens(budget),
    tokens: context.tokens,
    usage: usageOf(context, history, budget),
    thresholds: {
      background: budget.backgroundThreshold,
      aggressive: budget.aggressiveThreshold,
      emergency: budget.emergencyThreshold,
    },
    segments: context.segments.map(({ key, label, tokens, count }) => ({ key, label, tokens, count })),
    log: {
      entries: history.lastSeq,
      coveredTo: history.coveredTo,
      omittedTo: history.omittedTo,
      due: dueMessages(history).length,
    },
    omission: omission && {
      count: omission.count,
      tokens: omission.tokens,
      firstAt: omission.firstAt,
      lastAt: omission.lastAt,
    },
    spent: situation.spent,
  };
}
