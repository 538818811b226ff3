import type { Logger } from "pino";
import type { FeatureCallPurpose } from "../features/declarations.ts";

/** What happens in Weir that a person or a program may want to know of. One word, one meaning. */
export type WeirEvent =
  | { type: "message_accepted"; channel: string; seq: number; messageId: string; addressed: boolean }
  | {
      type: "turn_started";
      channel: string;
      turn: number;
      fromSeq: number;
      toSeq: number;
      attempt: number;
      /** Who answers, and its model as it is configured. */
      agent: string;
      model: string;
    }
  /** What a turn looked for before its first model call, and how long it waited for that. */
  | { type: "recalled"; channel: string; turn: number; entries: number; memories: number; ms: number }
  /** `tool`: "unknown" where the model has made the name up. */
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
      /** The provider's sentences, for the log alone. */
      said?: string;
      inReplyTo: string[];
      turnMs: number;
      modelMs: number;
      /** Of all its model calls, as far as their server has told. */
      tokensIn?: number;
      tokensOut?: number;
    }
  | {
      type: "reply_delivered";
      channel: string;
      turn: number | null;
      parts: number;
      turnMs: number;
      /** The messages that it answers, and those that it is now, by the platform's ids. */
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
      /** Estimated tokens of what is covered, and of the summary that covers it. */
      tokensBefore: number;
      tokensAfter: number | null;
      memories: number;
      /** Who wrote the summary; `digest`: none. */
      model: string | null;
      ms: number;
      reason: string | null;
    }
  | { type: "compaction_refused"; channel: string; job: number; why: string }
  | { type: "compaction_blocked"; channel: string; tier: string; reason: string }
  | { type: "compaction_interrupted"; channel: string; why: string }
  | { type: "tool_failed"; channel: string; tool: string; why: string }
  | {
      type: "model_call";
      channel: string;
      purpose: "turn" | "compaction" | FeatureCallPurpose;
      /** What it was for. */
      turn?: number | null;
      job?: number | null;
      model: string;
      outcome: string;
      /** Why it failed, where that is known. */
      reason?: string;
      promptTokens: number | null;
      /** Parts of `promptTokens`: what a cache had, and what was written to it. */
      cachedTokens: number | null;
      writtenTokens?: number | null;
      completionTokens: number | null;
      /** What it has used beside that, estimated: its server has reported nothing of it. */
      assumedPromptTokens?: number;
      assumedCompletionTokens?: number;
      /** Null: no text came. */
      firstTokenMs?: number | null;
      totalMs: number;
    }
  /** A turn's model has failed, and is asked again; `attempt`: 2 or more. */
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
  // The person is told that it failed, and only the log why.
  if (event.type === "compaction")
    return event.phase === "stale" || event.phase === "failed" ? "warn" : "info";
  if (event.type === "turn_settled") return event.outcome === "failed" ? "warn" : "info";
  return LEVEL[event.type] ?? "debug";
}

/** A model gives its reason to stay silent in its own words, which may be those of people: they are no matter of the log. */
function loggable(event: WeirEvent, fields: object): object {
  return event.type === "turn_settled" && event.outcome === "skipped" ? { ...fields, reason: null } : fields;
}

export type EventListener = (event: WeirEvent) => void;

/** The one place where an event is told: to the log, and to whoever listens. */
export class Events {
  readonly #log: Logger;
  readonly #listeners = new Set<EventListener>();

  constructor(log: Logger) {
    this.#log = log;
  }

  emit(event: WeirEvent): void {
    const { type, ...fields } = event;
    this.#log[levelOf(event)](loggable(event, fields), type);
    for (const listener of this.#listeners) listener(event);
  }

  /** @returns a function that ends the listening */
  on(listener: EventListener): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }
}
