import type { ModelMessage, ToolSpec } from "../core/context.ts";
import type { TextEnd } from "../core/canonical.ts";
import type { ToolCall } from "../core/entry.ts";
import { WeirError } from "../core/errors.ts";

/** One request for one answer. */
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
  /** The same for all requests of a conversation, and opaque: a provider sends requests with one key to the same cache. */
  readonly cacheKey?: string;
  /**
   * Where what stays the same ends, rising: of the system prompt, of the summaries, and of all that the next request will
   * begin with. Undefined: there will be none.
   */
  readonly stableEnds?: readonly TextEnd[];
  /** What the model has thought before calls that these messages show. Default: nothing. */
  readonly thoughts?: readonly Thoughts[];
  /** Waits before the conversation's last turns, ms, that before this one last: a cache's life is chosen by them. Undefined: nothing is known. */
  readonly waits?: readonly number[];
  /** The answer's purpose, for the offline model, which cannot read its prompt. Default: `answer`. */
  readonly task?: "answer" | "summarise";
  /** Longest useful text, estimated tokens, for the offline model; the prompt says it in words. */
  readonly textLimit?: number;
}

export interface ModelCallOptions {
  /** Ends the call at once; it then rejects with kind `aborted`. */
  readonly signal: AbortSignal;
  /** Each piece of visible text as it comes. */
  readonly onText?: (delta: string) => void;
  /** Called if the text from `onText` is void: the answer starts again (another attempt or model). */
  readonly onRestart?: () => void;
  /** Called before a model is asked again, with the number of the attempt, 2 or more, and how many there are at most. */
  readonly onRetry?: (attempt: number, of: number) => void;
  /**
   * Called before each attempt, those of retries, fallbacks and corrections too, with the model that it asks. A {@link ModelError} of kind
   * `not_allowed` that it throws ends the call.
   */
  readonly onAttempt?: (model: string) => void;
  /** Called for every attempt that was made, failed ones too. */
  readonly onCall?: (record: ModelCallRecord) => void;
}

/** A model's complete answer: never empty, never cut off by the transport. */
export interface ModelAnswer {
  /** The model that answered: the requested one or a fallback. */
  readonly model: string;
  readonly text: string;
  /**
   * Each id is unique and has 1 to 64 letters, digits, `_`, `.`, `:` and `-`: a result names its call by id.
   */
  readonly calls: readonly ToolCall[];
  /** `length`: the model hit `maxOutputTokens`. `filtered`: the provider's content filter ended it. */
  readonly finish: "stop" | "length" | "tool_calls" | "filtered";
  readonly usage: TokenUsage | undefined;
  /** For the next request of this turn. Default: there are none. */
  readonly thoughts?: Thoughts;
}

/**
 * What a model has thought before it made calls, in a form that only its own API reads. It holds people's words where no search finds
 * them: whoever keeps it drops it with the turn, or as soon as anything that the model had seen is changed.
 */
export interface Thoughts {
  /** The model that has thought it, by its full name. */
  readonly model: string;
  readonly api: "responses" | "messages";
  /** Of the calls that it stands before. */
  readonly callIds: readonly string[];
  readonly items: readonly object[];
}

export interface TokenUsage {
  readonly promptTokens: number;
  /** Part of `promptTokens` that the provider had cached. */
  readonly cachedTokens: number;
  /** Part of `promptTokens` that the provider has written to its cache; 0: none, or it does not tell. */
  readonly writtenTokens: number;
  readonly completionTokens: number;
}

/** What one attempt cost, for the log. */
export interface ModelCallRecord {
  readonly model: string;
  readonly outcome: "answered" | ModelErrorKind;
  /** Why it failed, where that is known. */
  readonly reason?: FailureReason | undefined;
  /** As the server reported it; undefined: it reported nothing. */
  readonly usage: TokenUsage | undefined;
  /** The request reached a server that did not turn it away: providers bill it, whatever came of it. */
  readonly isPaid: boolean;
  /** Estimated tokens of what came, thinking included; 0 where the server has reported on a whole answer. */
  readonly receivedTokens: number;
  /** From the request to the first piece of text or call; undefined if none came. */
  readonly firstTokenMs: number | undefined;
  readonly totalMs: number;
}

/** Something that answers requests: a server, or the built-in offline model. */
export interface Model {
  /**
   * @throws ModelError, and nothing else
   */
  answer(request: ModelRequest, options: ModelCallOptions): Promise<ModelAnswer>;
}

/** Why a model's server has not answered, where it says so in a way that is known. */
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
  /** All output tokens went into thoughts. */
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
  /** 5xx, refused and reset connections, streams that end in the middle. */
  | "unavailable"
  /** The request is larger than the model's window; `window` has its size if the server told. */
  | "context_length"
  /** The server understood and refused: an unknown model, a bad parameter. */
  | "rejected"
  /** The key is missing or wrong. */
  | "unauthorized"
  /** The server redirects, which is not followed; the message says where to, and names no secret. */
  | "redirected"
  /** An answer without text and without calls. */
  | "empty"
  /** The caller's `onAttempt`: nothing was sent. */
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
  /** Undefined: nobody knows why, or no server has said anything. */
  readonly reason: FailureReason | undefined;
  /** The server's refusal in short, for the operator: status, type, code and field. Its sentences stand in `message` alone. */
  readonly brief: string | undefined;

  /** Of `context_length`: the server's own words say so, or its counts, and nothing that a person wrote. */
  readonly isSurelySize: boolean;
  /** How `window` is known. */
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

  /** A copy that a smaller request may help. */
  asMaybeSize(): ModelError {
    return this.#copy(this.message, this.kind, { mayBeSize: true });
  }

  /** A copy of a `context_length` refusal of a request that its length cannot have been the reason of. */
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
