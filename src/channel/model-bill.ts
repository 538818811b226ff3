import { errorMessage } from "../core/errors.ts";
import { formatAddress, type TurnId } from "../core/ids.ts";
import type { ModelCallRecord } from "../llm/model.ts";
import type { ModelCallRow } from "../store/turns/model-calls.ts";
import type { ActorParts } from "./channel-context.ts";

/**
 * Tells of a model call, and makes the line of it on the channel's bill.
 * @param turn null: it was for a compaction
 * @param estimatedTokens what we had estimated for the whole request
 */
export function billLine(
  { owner, address, events }: Pick<ActorParts, "owner" | "address" | "events">,
  turn: TurnId | null,
  record: ModelCallRecord,
  estimatedTokens: number,
): ModelCallRow {
  const channel = formatAddress(address);
  const { model, outcome, totalMs, usage } = record;
  const promptTokens = usage?.promptTokens ?? null;
  const purpose = turn === null ? "compaction" : "turn";
  events.emit({ type: "model_call", channel, purpose, model, outcome, promptTokens, totalMs });
  return {
    channel: owner.channel,
    turn,
    purpose,
    model,
    outcome,
    estimatedTokens,
    promptTokens,
    cachedTokens: usage?.cachedTokens ?? null,
    completionTokens: usage?.completionTokens ?? null,
    firstTokenMs: record.firstTokenMs ?? null,
    totalMs,
  };
}

/** Stores a line by itself, off the reply path: a lost one is no reason for a person to wait. */
export function storeBillLine({ store, address, log }: ActorParts, line: ModelCallRow): void {
  store.modelCalls.add(line).catch((error: unknown) => {
    log.warn({ channel: formatAddress(address), why: errorMessage(error) }, "model_call_not_stored");
  });
}
