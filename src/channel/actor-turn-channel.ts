import { setTimeout as delay } from "node:timers/promises";
import { errorMessage } from "../core/errors.ts";
import { type History, rawFrom, type TurnRange } from "../core/history.ts";
import { type ChannelAddress, formatAddress, type Seq } from "../core/ids.ts";
import type { ChannelKind } from "../core/message.ts";
import { StaleEpochError } from "../store/errors.ts";
import type { Place } from "../turn/context-sources.ts";
import type { TurnChannel } from "../turn/turn.ts";
import type { ActorParts } from "./actor-parts.ts";
import type { Draft } from "./draft.ts";
import type { GuardedHistory } from "./guarded-history.ts";

/** A recall that takes longer is dropped, not waited for, ms. */
const RECALL_WITHIN_MS = 400;

export type TurnChannelParts = ActorParts & {
  readonly history: GuardedHistory;
  readonly turn: TurnRange;
  readonly draft: Draft | null;
};

/** Where a channel is, as a person would say it. */
export function placeOf(address: ChannelAddress, kind: ChannelKind): Place {
  return { platform: address.platform, channel: kind === "dm" ? "a direct conversation" : address.name };
}

/** What a turn of this channel may do to it. */
export function createTurnChannel(parts: TurnChannelParts): TurnChannel {
  const { history, turn, draft, store, owner, address, kind, events, log, now, recall, indexer } = parts;
  const channel = formatAddress(address);
  return {
    place: placeOf(address, kind),
    snapshot: async () => history.snapshot(),
    async append(drafts) {
      await history.appendTurnEntries(turn, drafts, now());
      indexer.mark(owner.channel);
    },
    async omit(omittedTo, tokensBefore, tokensAfter) {
      const isOurs = await history.omit(omittedTo);
      if (!isOurs) throw new StaleEpochError(`channel ${channel} has another owner`);
      const omitted = history.current.omission?.count ?? 0;
      events.emit({ type: "emergency", channel, omitted, omittedTo, tokensBefore, tokensAfter });
    },
    async recall(text, scope, limit) {
      const { lastSeq } = history.current;
      const to = scope === "hidden" ? rawFrom(history.current) - 1 : Math.min(lastSeq, turn.fromSeq - 1);
      const found = recall.find({
        channel: owner.channel,
        text,
        from: afterReset(history.current),
        to,
        limit,
        neighbours: 2,
      });
      // A tool call is what the model waits for; the automatic recall only helps.
      if (scope === "all") return found;
      const late = delay(RECALL_WITHIN_MS, [], { ref: false });
      return Promise.race([found, late]);
    },
    showDraft: (text) => draft?.show(text),
    onCall(record, estimatedTokens) {
      const { model, outcome, totalMs, usage } = record;
      const promptTokens = usage?.promptTokens ?? null;
      events.emit({ type: "model_call", channel, model, outcome, promptTokens, totalMs });
      const row = {
        channel: owner.channel,
        turn: turn.id,
        purpose: "turn" as const,
        model,
        outcome,
        estimatedTokens,
        promptTokens,
        cachedTokens: usage?.cachedTokens ?? null,
        completionTokens: usage?.completionTokens ?? null,
        firstTokenMs: record.firstTokenMs ?? null,
        totalMs,
      };
      // Off the reply path: a lost line of the bill is no reason for a person to wait.
      store.modelCalls.add(row).catch((error: unknown) => {
        log.warn({ channel, why: errorMessage(error) }, "model_call_not_stored");
      });
    },
    onToolFailure: (tool, why) => events.emit({ type: "tool_failed", channel, tool, why }),
  };
}

/** What was said before a `/reset` is not brought back: somebody asked for that. */
function afterReset({ summaries }: History): Seq {
  return (summaries.findLast(({ kind }) => kind === "reset")?.toSeq ?? 0) + 1;
}
