import { type Anchor, isTelling, type ReportedUsage } from "../core/calibration.ts";
import type { ModelCallRecord } from "../llm/model.ts";
import type { Context } from "../core/context.ts";
import { errorMessage } from "../core/errors.ts";
import { formatAddress, type JobId, type TurnId } from "../core/ids.ts";
import type { ModelCallRow } from "../store/turns/model-calls.ts";
import type { ActorParts } from "./channel-context.ts";

/** The last request of a channel whose tokens a provider has reported. Only what came after it has to be estimated. */
export class UsageAnchor {
  #last: ReportedUsage | null;

  /** @param last what the log knows of an earlier run */
  constructor(last: ReportedUsage | null) {
    this.#last = last !== null && isTelling(last) ? last : null;
  }

  /** The anchor for requests to this model; null if another model was counted last: its tokens are not comparable. */
  of(model: string): Anchor | null {
    return this.#last?.model === model ? this.#last : null;
  }

  /** Takes note of a call whose request was estimated so. */
  note({ model, outcome, usage }: ModelCallRecord, estimated: number): void {
    // A request that was estimated to fit was too long: the anchor is wrong.
    if (outcome === "context_length") this.#last = null;
    if (outcome !== "answered" || usage === undefined) return;
    const report = { model, estimated, reported: usage.promptTokens };
    if (isTelling(report)) this.#last = report;
  }
}

/** What a channel's last model request was like, for an estimate of the next one between turns. */
export class LastRequest {
  /** The server's name of the agent's model, as far as it is known. */
  model: string;
  /** Tokens of its dynamic part: what will be recalled is not known between turns. */
  dynamicTokens = 0;

  /** @param model as it is configured */
  constructor(model: string) {
    this.model = model;
  }

  note(model: string, context: Context): void {
    this.model = model;
    this.dynamicTokens = context.segments.find(({ key }) => key === "dynamic")?.tokens ?? 0;
  }
}

/**
 * Emits `model_call`, counts it for the budgets, and makes the call's row.
 * @param purpose the turn, itself or by a subagent, or the compaction's job that it was for
 * @param estimatedTokens what we had estimated for the whole request
 */
export function billLine(
  {
    owner,
    address,
    events,
    agent,
    budgets,
  }: Pick<ActorParts, "owner" | "address" | "events" | "agent" | "budgets">,
  purpose: { readonly turn: TurnId; readonly isSubagent?: boolean } | { readonly job: JobId },
  record: ModelCallRecord,
  estimatedTokens: number,
): ModelCallRow {
  const channel = formatAddress(address);
  const { model, outcome, totalMs, usage } = record;
  const tokens = {
    promptTokens: usage?.promptTokens ?? null,
    cachedTokens: usage?.cachedTokens ?? null,
    completionTokens: usage?.completionTokens ?? null,
  };
  const whose =
    "turn" in purpose ? ({ turn: purpose.turn, job: null } as const) : ({ ...purpose, turn: null } as const);
  const ofTurn = "turn" in purpose && purpose.isSubagent === true ? "subagent" : "turn";
  const kind = whose.job === null ? ofTurn : "compaction";
  events.emit({
    type: "model_call",
    channel,
    purpose: kind,
    turn: whose.turn,
    job: whose.job,
    model,
    outcome,
    ...tokens,
    firstTokenMs: record.firstTokenMs ?? null,
    totalMs,
  });
  budgets?.count({
    agent: agent.config.id,
    channel: owner.channel,
    address: channel,
    turn: whose.turn,
    model,
    // A provider that reports nothing is paid all the same.
    promptTokens: tokens.promptTokens ?? (outcome === "answered" ? estimatedTokens : 0),
    cachedTokens: tokens.cachedTokens ?? 0,
    completionTokens: tokens.completionTokens ?? 0,
  });
  return {
    channel: owner.channel,
    ...whose,
    purpose: kind,
    model,
    outcome,
    estimatedTokens,
    ...tokens,
    firstTokenMs: record.firstTokenMs ?? null,
    totalMs,
  };
}

/** What a turn's calls have taken, as far as their server has told. */
interface SpentTokens {
  readonly tokensIn?: number;
  readonly tokensOut?: number;
}

/** Empty: the server has told nothing. Pure. */
export function spentOn(
  calls: readonly Pick<ModelCallRow, "promptTokens" | "completionTokens">[],
): SpentTokens {
  const told = calls.filter(({ promptTokens }) => promptTokens !== null);
  if (told.length === 0) return {};
  const sum = (of: (call: (typeof told)[number]) => number | null): number =>
    told.reduce((all, call) => all + (of(call) ?? 0), 0);
  return { tokensIn: sum((call) => call.promptTokens), tokensOut: sum((call) => call.completionTokens) };
}

/** Stores a model call's row without waiting for it. A row that cannot be stored is logged and lost. */
export function storeBillLine(
  { store, address, log }: Pick<ActorParts, "store" | "address" | "log">,
  line: ModelCallRow,
): void {
  store.modelCalls.add([line]).catch((error: unknown) => {
    log.warn({ channel: formatAddress(address), why: errorMessage(error) }, "model_call_not_stored");
  });
}
