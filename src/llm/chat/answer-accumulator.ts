import type { ToolCall } from "../../core/entry.ts";
import { sliceWhole, storableText } from "../../text/text.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { CallAccumulator } from "./call-accumulator.ts";
import { deltaText, receivedText } from "./chat-chunk.ts";
import type { ChatChunk, ChatDelta, ReportedUsage } from "./chat-chunk.ts";
import type { ModelAnswer, ModelRequest, TokenUsage } from "../model.ts";
import { ThinkingFilter } from "./thinking-filter.ts";
import type { Visible } from "./thinking-filter.ts";

/**
 * More characters than one token has on average with any tokenizer. A server that exceeds this many per token
 * of `maxOutputTokens` ignores the limit and is cut off.
 */
const MAX_CHARACTERS_PER_TOKEN = 16;

/** What one chunk brought. */
export interface Progress extends Visible {
  /** Text, calls or thinking: the model is at work. */
  readonly isAlive: boolean;
  /** Text or calls. */
  readonly isAnswer: boolean;
}

/** Folds the chunks of one streamed answer. */
export class AnswerAccumulator {
  readonly #calls = new CallAccumulator();
  readonly #thinking = new ThinkingFilter();
  readonly #maxLength: number;
  readonly #allowsCalls: boolean;
  #text = "";
  /** Characters of text so far, hidden text included. */
  #received = 0;
  /** The first half of a surrogate pair that the server split over two chunks. */
  #half = "";
  #finish: string | undefined;
  #usage: TokenUsage | undefined;
  /** What has come, thinking and calls included: a sample of it, and its length. */
  #sample = "";
  #length = 0;

  constructor({ maxOutputTokens, toolChoice, tools }: ModelRequest) {
    this.#maxLength = MAX_CHARACTERS_PER_TOKEN * maxOutputTokens;
    // Ollama ignores `tool_choice`, but the caller must not get calls that it has forbidden.
    this.#allowsCalls = toolChoice === "auto" && tools.length > 0;
  }

  /** The server said that the answer is complete. */
  get isFinished(): boolean {
    return this.#finish !== undefined;
  }

  /** The server's reason for the end of the answer. */
  get finishReason(): string | undefined {
    return this.#finish;
  }

  /** More than `maxOutputTokens` can be; thinking and white space count. */
  get isOverlong(): boolean {
    return this.#received + this.#calls.length > this.#maxLength;
  }

  get usage(): TokenUsage | undefined {
    return this.#usage;
  }

  /** Estimated tokens of what has come, thinking and calls included. */
  get receivedTokens(): number {
    if (this.#length === 0) return 0;
    return Math.round((estimateTokens(this.#sample) * this.#length) / this.#sample.length);
  }

  add(chunk: ChatChunk): Progress {
    this.#usage = tokenUsage(chunk.usage) ?? this.#usage;
    const choice = chunk.choices?.[0];
    const delta = choice?.delta ?? choice?.message;
    if (choice?.finish_reason) this.#finish = choice.finish_reason;
    if (!delta) return { isAlive: false, isAnswer: false, text: "", voided: false };
    this.#note(receivedText(delta));
    for (const piece of delta.tool_calls ?? []) this.#calls.add(piece);
    const visible = this.#append(deltaText(delta));
    const isAnswer = visible.text !== "" || (delta.tool_calls ?? []).length > 0;
    return { ...visible, isAlive: isAnswer || isFilled(delta), isAnswer };
  }

  /** @returns text held back as the possible start of a tag; call no `add` after it */
  end(): string {
    const rest = storableText(this.#thinking.end() + this.#half);
    this.#half = "";
    this.#text += rest;
    return rest;
  }

  /** @returns undefined if there is neither text nor a call */
  answer(model: string): ModelAnswer | undefined {
    const isWhole = this.#finish !== "length" && !this.isOverlong;
    const all = this.#allowsCalls ? this.#calls.finish(isWhole) : [];
    const calls = all.filter((call) => call.arguments.length <= this.#maxLength);
    if (this.#text.trim() === "" && calls.length === 0) return undefined;
    return { model, text: this.#text, calls, finish: this.#finishOf(calls), usage: this.#usage };
  }

  #note(received: string): void {
    this.#length += received.length;
    // Thinking has no limit.
    if (this.#sample.length < this.#maxLength) this.#sample += received;
  }

  #append(piece: string): Visible {
    this.#received += piece.length;
    const { text, voided } = this.#thinking.push(piece);
    if (voided) {
      this.#text = "";
      this.#half = "";
    }
    const whole = this.#half + text;
    const isSplit = /[\uD800-\uDBFF]$/.test(whole);
    this.#half = isSplit ? whole.slice(-1) : "";
    const room = this.#maxLength - this.#text.length;
    const shown = sliceWhole(storableText(isSplit ? whole.slice(0, -1) : whole), 0, room);
    this.#text += shown;
    return { text: shown, voided };
  }

  #finishOf(calls: readonly ToolCall[]): ModelAnswer["finish"] {
    if (this.isOverlong) return "length";
    // Some servers say `stop` beside calls.
    if (calls.length > 0) return "tool_calls";
    if (this.#finish === "length" || this.#finish === "max_tokens") return "length";
    return this.#finish === "content_filter" ? "filtered" : "stop";
  }
}

/**
 * Has a field beside the role: thinking, under any name. Servers send a first delta with empty content at
 * once.
 */
function isFilled(delta: ChatDelta): boolean {
  return Object.entries(delta).some(([key, value]) => key !== "role" && value !== null && value !== "");
}

/** @returns undefined if the server sent none that says anything */
export function tokenUsage(usage: ReportedUsage): TokenUsage | undefined {
  if (typeof usage?.prompt_tokens !== "number") return undefined;
  const details = usage.prompt_tokens_details;
  return {
    promptTokens: usage.prompt_tokens,
    cachedTokens: details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? 0,
    writtenTokens:
      details?.cache_write_tokens ?? details?.cache_creation_tokens ?? usage.cache_creation_input_tokens ?? 0,
    completionTokens: usage.completion_tokens ?? 0,
  };
}
