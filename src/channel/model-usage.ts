import type { SpentCall } from "../budget/budgets.ts";
import { lastingDynamicTokens } from "../context/usage.ts";
import { type Anchor, isTelling, type ReportedUsage } from "../core/calibration.ts";
import type { ModelCallRecord } from "../llm/model.ts";
import type { Context } from "../core/context.ts";
import { Pace, type TurnTime } from "../core/pace.ts";
import { errorMessage } from "../core/errors.ts";
import { formatAddress, type JobId, type TurnId } from "../core/ids.ts";
import type { FeatureCallPurpose } from "../features/declarations.ts";
import type { ModelCallRow } from "../store/turns/model-calls.ts";
import type { ActorParts } from "./channel-context.ts";

/** The last request of a channel with tokens reported by the provider. Only later content must be estimated. */
export class UsageAnchor {
  #last: ReportedUsage | null;

  /** @param last from the log of an earlier run */
  constructor(last: ReportedUsage | null) {
    this.#last = last !== null && isTelling(last) ? last : null;
  }

  /** The anchor for requests to this model; null if another model was counted last: its tokens are not comparable. */
  of(model: string): Anchor | null {
    return this.#last?.model === model ? this.#last : null;
  }

  /** Notes a call. @param estimated tokens estimated for its request */
  note({ model, outcome, usage }: ModelCallRecord, estimated: number): void {
    // A request that was estimated to fit was too long: the anchor is wrong.
    if (outcome === "context_length" && this.#last?.model === model) this.#last = null;
    if (outcome !== "answered" || usage === undefined) return;
    const report = { model, estimated, reported: usage.promptTokens };
    if (isTelling(report)) this.#last = report;
  }
}

/** Measures of a channel's last model request, to estimate the next one between turns. */
export class LastRequest {
  /** The server's name of the agent's model, as far as it is known. */
  model: string;
  /** Tokens of its dynamic part: what will be recalled is not known between turns. */
  dynamicTokens = 0;

  /** How often the channel's agent is asked. */
  readonly pace: Pace;

  /** @param model the configured name @param turns from the log of an earlier run */
  constructor(model: string, turns: readonly TurnTime[] = []) {
    this.model = model;
    this.pace = new Pace(turns);
  }

  note(model: string, context: Context, turn: TurnTime): void {
    this.model = model;
    this.pace.note(turn.id, turn.at);
    this.dynamicTokens = lastingDynamicTokens(context);
  }
}

/** The purpose of a model call: a turn, a feature's work that a turn has begun, or a compaction's job; null: the memories of several. */
export type CallPurpose =
  | { readonly turn: TurnId; readonly feature?: FeatureCallPurpose }
  | { readonly job: JobId | null };

type MeterParts = Pick<ActorParts, "owner" | "address" | "events" | "agent" | "budgets">;

/** Counts consecutive attempts of model calls, each exactly once, whatever its outcome. */
export class CallMeter {
  readonly #parts: MeterParts;
  /** Releases the budgets' reservation for the running attempt. */
  #release: () => void = () => undefined;

  constructor(parts: MeterParts) {
    this.#parts = parts;
  }

  /** An attempt begins: until it has ended, the budgets count its request. */
  begun(purpose: CallPurpose, model: string, estimatedTokens: number): void {
    const promptTokens = realRequest(this.#parts, model, estimatedTokens);
    this.#release();
    this.#release =
      this.#parts.budgets?.reserve({
        ...spenderOf(this.#parts, purpose),
        model,
        promptTokens,
        cachedTokens: 0,
        writtenTokens: 0,
        completionTokens: 0,
      }) ?? this.#release;
  }

  /**
   * An attempt has ended: emits `model_call`, counts it for the budgets, and makes its row.
   * @param estimatedTokens estimate for the whole request
   */
  ended(purpose: CallPurpose, record: ModelCallRecord, estimatedTokens: number): ModelCallRow {
    const { owner, address, events, budgets } = this.#parts;
    const channel = formatAddress(address);
    const { model, outcome, totalMs, usage, firstTokenMs = null } = record;
    const turn = "turn" in purpose ? purpose.turn : null;
    const job = "job" in purpose ? purpose.job : null;
    const tokens = {
      promptTokens: usage?.promptTokens ?? null,
      cachedTokens: usage?.cachedTokens ?? null,
      writtenTokens: usage?.writtenTokens ?? null,
      completionTokens: usage?.completionTokens ?? null,
      ...assumedTokens(record, realRequest(this.#parts, model, estimatedTokens)),
    };
    const row = {
      turn,
      job,
      purpose: purposeKind(purpose),
      model,
      outcome,
      ...tokens,
      firstTokenMs,
      totalMs,
    };
    const { reason } = record;
    events.emit({ type: "model_call", channel, ...row, ...(reason !== undefined && { reason }) });
    budgets?.count({
      ...spenderOf(this.#parts, purpose),
      model,
      promptTokens: (tokens.promptTokens ?? 0) + tokens.assumedPromptTokens,
      cachedTokens: tokens.cachedTokens ?? 0,
      writtenTokens: tokens.writtenTokens ?? 0,
      completionTokens: (tokens.completionTokens ?? 0) + tokens.assumedCompletionTokens,
    });
    this.#release();
    return { channel: owner.channel, estimatedTokens, ...row };
  }
}

function purposeKind(purpose: CallPurpose): "turn" | "compaction" | FeatureCallPurpose {
  return "job" in purpose ? "compaction" : (purpose.feature ?? "turn");
}

function spenderOf(
  { agent, owner, address }: MeterParts,
  purpose: CallPurpose,
): Pick<SpentCall, "agent" | "channel" | "address" | "turn"> {
  return {
    agent: agent.config.id,
    channel: owner.channel,
    address: formatAddress(address),
    turn: "turn" in purpose ? purpose.turn : null,
  };
}

function realRequest({ agent }: Pick<MeterParts, "agent">, model: string, estimatedTokens: number): number {
  return Math.round(estimatedTokens * agent.models.factorOf(model));
}

/**
 * Estimates the usage of an attempt whose server reported none. A report in mid-stream does not cover the rest of the
 * stream. Pure.
 * @param requestTokens tokens of its request
 */
function assumedTokens(
  { outcome, usage, isPaid, receivedTokens }: ModelCallRecord,
  requestTokens: number,
): { readonly assumedPromptTokens: number; readonly assumedCompletionTokens: number } {
  if (!isPaid) return { assumedPromptTokens: 0, assumedCompletionTokens: 0 };
  if (usage === undefined)
    return { assumedPromptTokens: requestTokens, assumedCompletionTokens: receivedTokens };
  const missing = outcome === "answered" ? 0 : receivedTokens - usage.completionTokens;
  return { assumedPromptTokens: 0, assumedCompletionTokens: Math.max(0, missing) };
}

/** Tokens of a call, estimates included. Pure. */
export function usedBy(row: ModelCallRow): { readonly tokensIn: number; readonly tokensOut: number } {
  return {
    tokensIn: (row.promptTokens ?? 0) + (row.assumedPromptTokens ?? 0),
    tokensOut: (row.completionTokens ?? 0) + (row.assumedCompletionTokens ?? 0),
  };
}

/** Tokens of a turn's calls, as far as their server reported them. */
interface SpentTokens {
  readonly tokensIn?: number;
  readonly tokensOut?: number;
}

/** Empty: the server has reported nothing. Pure. */
export function spentOn(
  calls: readonly Pick<ModelCallRow, "promptTokens" | "completionTokens">[],
): SpentTokens {
  const told = calls.filter(({ promptTokens }) => promptTokens !== null);
  if (told.length === 0) return {};
  const sum = (of: (call: (typeof told)[number]) => number | null): number =>
    told.reduce((all, call) => all + (of(call) ?? 0), 0);
  return { tokensIn: sum((call) => call.promptTokens), tokensOut: sum((call) => call.completionTokens) };
}

/** Stores rows of model calls without waiting. A failure is logged, and the rows are lost. */
export function storeCalls(
  { store, address, log }: Pick<ActorParts, "store" | "address" | "log">,
  calls: readonly ModelCallRow[],
): void {
  if (calls.length === 0) return;
  store.modelCalls.add(calls).catch((error: unknown) => {
    log.warn({ channel: formatAddress(address), why: errorMessage(error) }, "model_call_not_stored");
  });
}
