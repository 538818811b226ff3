/**
 * Telemetry: events of the program, its log, and spans and metrics for collectors. Rooms emit events; this room writes them out,
 * and touches log files and the collector only.
 */

import type { Logger } from "pino";
import type { ChannelId } from "../core/ids.ts";
import type { FeatureCallPurpose } from "../features/declarations.ts";

/** Events in Weir for people and programs. One word, one meaning. */
export type WeirEvent =
  | { type: "message_accepted"; channel: string; seq: number; messageId: string; addressed: boolean }
  | {
      type: "turn_started";
      channel: string;
      turn: number;
      fromSeq: number;
      toSeq: number;
      attempt: number;
      /** The answering agent, and its model as configured. */
      agent: string;
      model: string;
    }
  /** A turn's search before its first model call, and its duration. */
  | { type: "recalled"; channel: string; turn: number; entries: number; memories: number; ms: number }
  /** A running turn has taken in what people said meanwhile, up to `toSeq`. */
  | { type: "turn_steered"; channel: string; turn: number; messages: number; toSeq: number }
  /** `tool`: "unknown" if the model invented the name. */
  | {
      type: "tool_called";
      channel: string;
      turn: number;
      tool: string;
      callId: string;
      outcome: "done" | "failed";
      ms: number;
    }
  | {
      type: "turn_settled";
      channel: string;
      turn: number;
      outcome: "answered" | "skipped" | "stopped" | "failed";
      reason: string | null;
      /** The provider's sentences, for the log only. */
      said?: string;
      inReplyTo: string[];
      turnMs: number;
      modelMs: number;
      /** Of all its model calls, if their server reported them. */
      tokensIn?: number;
      tokensOut?: number;
      /** Share of the usable window that its last request took; left out: it made none. */
      windowUsed?: number;
    }
  | {
      type: "reply_delivered";
      channel: string;
      turn: number | null;
      parts: number;
      turnMs: number;
      /** The messages that it answers, and the messages of the reply, by the platform's ids. */
      inReplyTo?: readonly string[];
      messageIds?: readonly string[];
    }
  | { type: "delivery_failed"; channel: string; kind: string; why: string; retryInMs: number | null }
  | {
      type: "emergency";
      channel: string;
      omitted: number;
      omittedTo: number;
      tokensBefore: number;
      tokensAfter: number;
    }
  | {
      type: "compaction";
      channel: string;
      job: number;
      /** `written`: ahead; it is committed together with others. */
      phase: "started" | "written" | "committed" | "stale" | "failed";
      kind: "leaf" | "merge" | "redo";
      tier: "background" | "aggressive" | "emergency" | "forced";
      fromSeq: number;
      toSeq: number;
      /** Estimated tokens of the covered content, and of its summary. */
      tokensBefore: number;
      tokensAfter: number | null;
      memories: number;
      /** The summary's author; `digest`: no model. */
      model: string | null;
      ms: number;
      reason: string | null;
      /** Why its attempts asked for a summary once more; left out: none did. */
      secondTries?: readonly string[];
    }
  | { type: "compaction_refused"; channel: string; job: number; why: string }
  | { type: "compaction_blocked"; channel: string; tier: string; reason: string }
  | { type: "compaction_interrupted"; channel: string; why: string }
  | { type: "tool_failed"; channel: string; tool: string; why: string }
  | {
      type: "model_call";
      channel: string;
      purpose: "turn" | "compaction" | FeatureCallPurpose;
      /** The call's purpose. */
      turn?: number | null;
      job?: number | null;
      model: string;
      outcome: string;
      /** Why it failed, if known. */
      reason?: string;
      promptTokens: number | null;
      /** Parts of `promptTokens`: read from a cache, and written to it. */
      cachedTokens: number | null;
      writtenTokens?: number | null;
      completionTokens: number | null;
      /** Its further usage, estimated, since the server has not reported it. */
      assumedPromptTokens?: number;
      assumedCompletionTokens?: number;
      /** Null: no text arrived. */
      firstTokenMs?: number | null;
      totalMs: number;
    }
  /** A turn's model has failed, and is asked again; `attempt`: from 2. */
  | { type: "model_retry"; channel: string; attempt: number; of: number }
  | { type: "channel_loaded"; channel: string; entries: number; ms: number }
  | { type: "channel_lost"; channel: string; why: string };

const LEVEL: Partial<Record<WeirEvent["type"], "warn" | "info">> = {
  emergency: "warn",
  delivery_failed: "warn",
  tool_failed: "warn",
  channel_lost: "warn",
  compaction_refused: "warn",
  compaction_interrupted: "warn",
  compaction_blocked: "info",
};

function levelOf(event: WeirEvent): "debug" | "info" | "warn" {
  // The person learns that it failed; only the log has the reason.
  if (event.type === "compaction")
    return event.phase === "stale" || event.phase === "failed" ? "warn" : "info";
  if (event.type === "turn_settled") return event.outcome === "failed" ? "warn" : "info";
  return LEVEL[event.type] ?? "debug";
}

/** A model gives its reason for silence in its own words, which may repeat people's: the log omits it. */
function loggable(event: WeirEvent, fields: object): object {
  return event.type === "turn_settled" && event.outcome === "skipped" ? { ...fields, reason: null } : fields;
}

export type EventListener = (event: WeirEvent) => void;

/** An event that a page which shows a channel receives. It holds people's words, and is never logged. */
export type LiveNews =
  /** An answer as far as it is written; null: what was shown of it is void. */
  | { readonly type: "draft"; readonly channel: string; readonly agent: string; readonly text: string | null }
  /** Entries were appended, edited or deleted; `id` null: in any channel. */
  | { readonly type: "log_changed"; readonly id: ChannelId | null };

/** Returns at once, and must not throw: a turn calls it. */
export type LiveListener = (news: LiveNews) => void;

/** The one place that emits events: to the log, and to listeners. */
export class Events {
  readonly #log: Logger;
  readonly #listeners = new Set<EventListener>();
  readonly #live = new Set<LiveListener>();

  constructor(log: Logger) {
    this.#log = log;
  }

  emit(event: WeirEvent): void {
    const { type, ...fields } = event;
    this.#log[levelOf(event)](loggable(event, fields), type);
    for (const listener of this.#listeners) listener(event);
  }

  /** @returns a function that ends the subscription */
  on(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** Tells those who look now; without any of them it does nothing. */
  tell(news: LiveNews): void {
    for (const listener of this.#live) listener(news);
  }

  /** @returns a function that ends the subscription */
  onLive(listener: LiveListener): () => void {
    this.#live.add(listener);
    return () => this.#live.delete(listener);
  }

  /** Subscriptions that have not ended. */
  get listening(): number {
    return this.#listeners.size + this.#live.size;
  }
}
