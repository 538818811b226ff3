import { errorMessage } from "../core/errors.ts";
import { formatAddress, type TurnId } from "../core/ids.ts";
import type { ModelCallRecord } from "../llm/model.ts";
import type { ActorParts } from "./actor-parts.ts";

/**
 * Puts a model call on the channel's bill. Off the reply path: a lost line of it is no reason for a person to wait.
 * @param turn null: it was for a compaction
 * @param estimatedTokens what we had estimated for the whole request
 */
export function billModelCall(
  { store, owner, address, events, log }: ActorParts,
  turn: TurnId | null,
  record: ModelCallRecord,
  estimatedTokens: number,
): void {
  const channel = formatAddress(address);
  const { model, outcome, totalMs, usage } = record;
  const promptTokens = usage?.promptTokens ?? null;
  const purpose = turn === null ? "compaction" : "turn";
  events.emit({ type: "model_call", channel, purpose, model, outcome, promptTokens, totalMs });
  const row = {
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
  } as const;
  store.modelCalls.add(row).catch((error: unknown) => {
    log.warn({ channel, why: errorMessage(error) }, "model_call_not_stored");
  });
}
