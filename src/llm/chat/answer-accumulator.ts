import type { ToolCall } from "../../core/entry.ts";
import { sliceWhole, storableText } from "../../text/text.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { CallAccumulator } from "./call-accumulator.ts";
import type { ChatChunk, Finish, ReportedUsage } from "./chat-chunk.ts";
import type { ModelAnswer, ModelRequest, TokenUsage } from "../model.ts";
import { NewText } from "./new-text.ts";
import { ThinkingFilter, type Visible } from "./thinking-filter.ts";

/**
 * More characters than a token has on average in any tokenizer. A server that exceeds this many per token of
 * `maxOutputTokens` ignores the limit and is cut off.
 */
const MAX_CHARACTERS_PER_TOKEN = 16;

export interface Progress extends Visible {
  /** Text, calls or thinking: the model is at work. */
  readonly isAlive: boolean;
  /** Text or calls. */
  readonly isAnswer: boolean;
}

/** Folds the chunks of one streamed answer. */
export class AnswerAccumulator {
  readonly #calls: CallAccumulator;
  readonly #newText = new NewText();
  #thinking = new ThinkingFilter();
  readonly #maxLength: number;
  readonly #allowsCalls: boolean;
  #text = "";
  /** Characters of text so far, hidden text included. */
  #received = 0;
  /** The first half of a surrogate pair that the server split over two chunks. */
  #half = "";
  #finish: Finish | undefined;
  /** Another sign of the end of an answer. */
  #end: "done" | "usage" | undefined;
  #isMessage = false;
  #hasDeltas = false;
  #hasCalls = false;
  #hasChoices = false;
  #usage: TokenUsage | undefined;
  /** A sample of all received content, thinking and calls included, and its length. */
  #sample = "";
  #length = 0;

  constructor({ maxOutputTokens, toolChoice, tools }: ModelRequest) {
    this.#maxLength = MAX_CHARACTERS_PER_TOKEN * maxOutputTokens;
    this.#calls = new CallAccumulator(tools.map(({ name }) => name));
    // Ollama ignores `tool_choice`, but the caller must not get calls that it has forbidden.
    this.#allowsCalls = toolChoice === "auto" && tools.length > 0;
  }

  /** The server has stated in some way that the answer is complete. */
  get isFinished(): boolean {
    return this.#finish !== undefined || this.#end !== undefined;
  }

  /** The server's reason for the end of the answer; undefined: it gave none. */
  get finishReason(): Finish | undefined {
    return this.#finish;
  }

  /** Some content of a chat completion has arrived. */
  get isBegun(): boolean {
    return this.#hasChoices;
  }

  /** The answer exceeds `maxOutputTokens`; thinking and white space count. */
  get isOverlong(): boolean {
    return this.#received + this.#calls.length > this.#maxLength;
  }

  get usage(): TokenUsage | undefined {
    return this.#usage;
  }

  /** Estimated tokens received, thinking and calls included. */
  get receivedTokens(): number {
    if (this.#length === 0) return 0;
    return Math.round((estimateTokens(this.#sample) * this.#length) / this.#sample.length);
  }

  add(chunk: ChatChunk): Progress {
    const usage = tokenUsage(chunk.usage);
    this.#usage = usage ?? this.#usage;
    this.#finish = chunk.finish ?? this.#finish;
    this.#hasChoices ||= chunk.isCompletion;
    if (chunk.isAlive) this.#end = undefined;
    else if (usage !== undefined && (this.#received > 0 || this.#hasCalls)) this.#end = "usage";
    const isSnapshot = chunk.isMessage && this.#hasDeltas;
    this.#isMessage ||= chunk.isMessage;
    this.#hasDeltas ||= chunk.isAlive && !chunk.isMessage;
    if (!isSnapshot) this.#note(chunk.received);
    if (isSnapshot && this.#hasCalls) this.#calls.addSnapshot(chunk.calls);
    else for (const piece of chunk.calls) this.#calls.add(piece);
    this.#hasCalls ||= chunk.calls.length > 0;
    const visible = this.#append(chunk);
    const isAnswer = visible.text !== "" || chunk.calls.length > 0;
    return { ...visible, isAlive: isAnswer || chunk.isAlive, isAnswer };
  }

  /** The server sent `[DONE]`. */
  done(): void {
    this.#end = "done";
  }

  /** The body ended regularly: that completes an answer in one message, but not a stream. */
  closed(): void {
    if (this.#isMessage) this.#end ??= "done";
  }

  /** @returns the text that was held back as a possible mark; call no `add` after it */
  end(): Visible {
    const { text, voided } = this.#thinking.end();
    if (voided) this.#void();
    const rest = storableText(this.#half + text);
    this.#half = "";
    this.#text += rest;
    return { text: rest, voided };
  }

  /** @returns undefined: neither text nor a call */
  answer(model: string): ModelAnswer | undefined {
    const isWhole = this.#finish !== undefined && this.#finish !== "length" && !this.isOverlong;
    const all = this.#allowsCalls ? this.#calls.finish(isWhole) : [];
    const calls = all.filter((call) => call.arguments.length <= this.#maxLength);
    if (this.#text.trim() === "" && calls.length === 0) return undefined;
    return { model, text: this.#text, calls, finish: this.#finishOf(calls), usage: this.#usage };
  }

  #note(received: string): void {
    this.#length += received.length;
    // The length of thinking is unlimited.
    if (this.#sample.length < this.#maxLength) this.#sample += received;
  }

  #append(chunk: ChatChunk): Visible {
    const { text: piece, restarts } = this.#newText.push(
      chunk.text,
      chunk.isMessage,
      chunk.finish !== undefined,
    );
    // A repetition adds nothing, but counts, since a server may repeat itself forever.
    this.#received += Math.max(piece.length, chunk.text === "" ? 0 : 1);
    if (restarts) this.#thinking = new ThinkingFilter();
    const { text, voided: isThinking } = this.#thinking.push(piece);
    const voided = isThinking || restarts;
    if (voided) this.#void();
    const whole = this.#half + text;
    const isSplit = /[\uD800-\uDBFF]$/.test(whole);
    this.#half = isSplit ? whole.slice(-1) : "";
    const room = this.#maxLength - this.#text.length;
    const shown = sliceWhole(storableText(isSplit ? whole.slice(0, -1) : whole), 0, room);
    this.#text += shown;
    return { text: shown, voided };
  }

  #void(): void {
    this.#text = "";
    this.#half = "";
  }

  #finishOf(calls: readonly ToolCall[]): ModelAnswer["finish"] {
    if (this.isOverlong) return "length";
    // Some servers send `stop` with calls.
    if (calls.length > 0) return "tool_calls";
    return this.#finish === "length" || this.#finish === "filtered" ? this.#finish : "stop";
  }
}

/** @returns undefined: the server sent no usable one */
export function tokenUsage(usage: ReportedUsage): TokenUsage | undefined {
  if (typeof usage?.prompt_tokens !== "number") return undefined;
  const details = usage.prompt_tokens_details;
  return {
    promptTokens: usage.prompt_tokens,
    cachedTokens: details?.cached_tokens ?? usage.prompt_cache_hit_tokens ?? 0,
    writtenTokens:
      details?.cache_write_tokens ?? details?.cache_creation_tokens ?? usage.cache_creation_input_tokens ?? 0,
    // Gemini and gateways to it include thoughts only in the total.
    completionTokens: Math.max(usage.completion_tokens ?? 0, (usage.total_tokens ?? 0) - usage.prompt_tokens),
  };
}
