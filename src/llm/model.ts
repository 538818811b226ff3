import type { ModelMessage, ToolSpec } from "../core/context.ts";
import type { TextEnd } from "../core/canonical.ts";
import type { ToolCall } from "../core/entry.ts";
import type { ModelSpending } from "../core/cost.ts";
import { WeirError } from "../core/errors.ts";

export interface ModelRequest {
  /** The server's name of the model. */
  readonly model: string;
  /** In the form of `core/canonical.ts`. */
  readonly messages: readonly ModelMessage[];
  readonly tools: readonly ToolSpec[];
  /** `none`: the tools are shown (the prefix stays) but must not be called. */
  readonly toolChoice: "auto" | "none";
  readonly maxOutputTokens: number;
  /** Undefined: the server's default. */
  readonly temperature: number | undefined;
  /** Opaque, and equal for all requests of a conversation: a provider sends requests with one key to the same cache. */
  readonly cacheKey?: string;
  /**
   * Ends of the stable parts, ascending: of the system prompt, of the summaries, and of the beginning that the next
   * request shares. Undefined: there is no next request.
   */
  readonly stableEnds?: readonly TextEnd[];
  /** The model's thoughts before calls in these messages. Default: none. */
  readonly thoughts?: readonly Thoughts[];
  /** Waits before the conversation's last turns, ms, this turn's last, which determine a cache's life. Undefined: unknown. */
  readonly waits?: readonly number[];
  /** The answer's purpose, for the offline model, which cannot read its prompt. Default: `answer`. */
  readonly task?: "answer" | "summarise" | "revise";
  /** Longest useful text, estimated tokens, for the offline model; the prompt states it in words. */
  readonly textLimit?: number;
}

export interface ModelCallOptions {
  /** Ends the call at once, which then rejects with kind `aborted`. */
  readonly signal: AbortSignal;
  /** Called for each piece of visible text. */
  readonly onText?: (delta: string) => void;
  /** Called if the text from `onText` is void: the answer starts again (another attempt or model). */
  readonly onRestart?: () => void;
  /** Called before a model is asked again, with the number of the attempt, from 2, and the most that are made. */
  readonly onRetry?: (attempt: number, of: number) => void;
  /**
   * Called before each attempt with its model, also for retries, fallbacks and corrections. A {@link ModelError} of
   * kind `not_allowed` from it ends the call.
   */
  readonly onAttempt?: (model: string) => void;
  /** Called for every attempt that was made, even a failed one. */
  readonly onCall?: (record: ModelCallRecord) => void;
}

/** A model's complete answer: never empty, never cut off by the transport. */
export interface ModelAnswer {
  /** The model that answered: the requested one or a fallback. */
  readonly model: string;
  readonly text: string;
  /** The built-in stand-in answered, which only quotes. Default: a model did. */
  readonly isStandIn?: true;
  /** Each id is unique and has 1 to 64 letters, digits, `_`, `.`, `:` and `-`: a result names its call by id. */
  readonly calls: readonly ToolCall[];
  /** `length`: the model hit `maxOutputTokens`. `filtered`: the provider's content filter ended it. */
  readonly finish: "stop" | "length" | "tool_calls" | "filtered";
  readonly usage: TokenUsage | undefined;
  /** For the next request of this turn. Default: there are none. */
  readonly thoughts?: Thoughts;
}

/**
 * A model's thoughts before its calls, in a form that only its own API can read. They may contain people's words
 * unsearchably: their holder drops them with the turn, or as soon as any text that the model has read changes.
 */
export interface Thoughts {
  /** The model's full name. */
  readonly model: string;
  readonly api: "responses" | "messages";
  /** The ids of the calls after them. */
  readonly callIds: readonly string[];
  readonly items: readonly object[];
}

/** `writtenTokens` of 0: none, or not reported. */
export type TokenUsage = Pick<
  ModelSpending,
  "promptTokens" | "cachedTokens" | "writtenTokens" | "completionTokens"
>;

/** The cost of one attempt, for the log. */
export interface ModelCallRecord {
  readonly model: string;
  readonly outcome: "answered" | ModelErrorKind;
  /** Why it failed, if known. */
  readonly reason?: FailureReason | undefined;
  /** The server's report; undefined: none. */
  readonly usage: TokenUsage | undefined;
  /** The request reached a server that did not refuse it: providers bill it, whatever its outcome. */
  readonly isPaid: boolean;
  /** Estimated tokens received, thinking included; 0 if the server has reported on a whole answer. */
  readonly receivedTokens: number;
  /** From the request to the first piece of text or call; undefined: none arrived. */
  readonly firstTokenMs: number | undefined;
  readonly totalMs: number;
}

/** Answers requests: a server, or the built-in offline model. */
export interface Model {
  /** @throws ModelError, and nothing else */
  answer(request: ModelRequest, options: ModelCallOptions): Promise<ModelAnswer>;
}

/** Why a model's server has failed, if it states that in a known way. */
export type FailureReason =
  | "window"
  | "quota"
  | "moderation"
  | "loading"
  | "overloaded"
  | "rate"
  | "deprecated"
  | "unknown_model"
  | "cannot_load"
  | "tool_attempt_failed"
  /** All output tokens were spent on thinking. */
  | "output_spent"
  | "no_tools"
  | "other_api"
  | "field"
  | "roles"
  | "key"
  | "permission"
  | "region";

export type ModelErrorKind =
  /** The caller's signal. */
  | "aborted"
  /** No first token, or silence in mid-stream. */
  | "timeout"
  | "rate_limited"
  /** 5xx, refused and reset connections, streams that end early. */
  | "unavailable"
  /** The request exceeds the model's window; `window` has its size if the server states it. */
  | "context_length"
  /** The server understood and refused: an unknown model, a bad parameter. */
  | "rejected"
  /** The key is missing or wrong. */
  | "unauthorized"
  /** The server redirects, which is not followed; the message has the target, without secrets. */
  | "redirected"
  /** An answer without text and calls. */
  | "empty"
  /** The caller's `onAttempt` refused: nothing was sent. */
  | "not_allowed";

const RETRYABLE: ReadonlySet<ModelErrorKind> = new Set(["timeout", "rate_limited", "unavailable", "empty"]);

/** A model call that failed. Its message is for logs: it may hold the provider's text. */
export class ModelError extends WeirError {
  readonly kind: ModelErrorKind;
  readonly model: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
  /** The model's window in tokens, from a `context_length` refusal. */
  readonly window: number | undefined;
  /** Undefined: unknown, or no server has answered. */
  readonly reason: FailureReason | undefined;
  /** The server's refusal in short, for the operator: status, type, code and field. Its sentences are only in `message`. */
  readonly brief: string | undefined;

  /** For `context_length`: the server's own words or counts show it, not a person's quoted words. */
  readonly isSurelySize: boolean;
  /** The source of `window`. */
  readonly windowSource: "told" | "measured";
  /** The reason of the refusal is unknown, and the model has answered no request of this size: a smaller one may be answered. */
  readonly mayBeSize: boolean;

  constructor(kind: ModelErrorKind, model: string, message: string, details: ModelErrorDetails = {}) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.kind = kind;
    this.model = model;
    this.status = details.status;
    this.retryAfterMs = details.retryAfterMs;
    this.window = details.window;
    this.reason = details.reason;
    this.brief = details.brief;
    this.isSurelySize = details.isSurelySize ?? false;
    this.windowSource = details.windowSource ?? "told";
    this.mayBeSize = details.mayBeSize ?? false;
  }

  get retryable(): boolean {
    return RETRYABLE.has(this.kind);
  }

  /** A copy with another message and this error as its cause. */
  withMessage(message: string, brief = this.brief): ModelError {
    return message === this.message && brief === this.brief
      ? this
      : this.#copy(message, this.kind, { brief });
  }

  /** A copy for which a smaller request may help. */
  asMaybeSize(): ModelError {
    return this.#copy(this.message, this.kind, { mayBeSize: true });
  }

  /** A copy of a `context_length` refusal whose cause cannot be the request's length. */
  asNotForSize(): ModelError {
    return this.#copy(this.message, "rejected", {
      window: undefined,
      isSurelySize: false,
      reason: undefined,
    });
  }

  #copy(message: string, kind: ModelErrorKind, changed: ModelErrorDetails): ModelError {
    const { status, retryAfterMs, window, reason, brief, isSurelySize, windowSource, mayBeSize } = this;
    const same = { status, retryAfterMs, window, reason, brief, isSurelySize, windowSource, mayBeSize };
    return new ModelError(kind, this.model, message, { ...same, cause: this, ...changed });
  }
}

interface ModelErrorDetails extends Partial<
  Pick<
    ModelError,
    "status" | "retryAfterMs" | "window" | "isSurelySize" | "windowSource" | "mayBeSize" | "reason" | "brief"
  >
> {
  readonly cause?: unknown;
}
