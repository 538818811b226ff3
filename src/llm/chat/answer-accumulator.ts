import type { ToolCall } from "../../core/entry.ts";
import { sliceWhole, storableText } from "../../text/text.ts";
import { estimateTokens } from "../../text/tokens.ts";
import { CallAccumulator } from "./call-accumulator.ts";
import type { ChatChunk, Finish, ReportedUsage } from "./chat-chunk.ts";
import type { ModelAnswer, ModelRequest, TokenUsage } from "../model.ts";
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

interface AddedText {
  readonly text: string;
  /** All earlier text is void: the text begins here. */
  readonly restarts: boolean;
}

/** A shorter text may intentionally repeat itself. */
const LEAST = 8;
/** Number of texts that each extend the one before, after which the server is known to send snapshots. */
const GROWTHS = 2;

/** White space by which a snapshot may differ, in characters. */
const MOST_BLANKS = 8;

const NOTHING: AddedText = { text: "", restarts: false };

/**
 * Distinguishes the pieces of a text from snapshots of it: some servers repeat the whole text in their last event, as
 * `message` or as another `delta`, and some send the whole text so far in each event.
 */
class NewText {
  #all = "";
  #pieces = 0;
  #hasDeltas = false;
  /** A piece that repeats all text so far. If nothing follows, it was a snapshot; otherwise the text repeats itself. */
  #repeated = "";
  #last = "";
  #growths = 0;

  /**
   * @param isMessage it came as a message, not as a piece of one
   * @param isLast its event ends the answer
   */
  push(text: string, isMessage: boolean, isLast: boolean): AddedText {
    if (text === "") return NOTHING;
    if (isMessage && this.#hasDeltas) return this.#rest(text);
    this.#hasDeltas ||= !isMessage;
    if (this.#all.length >= LEAST && this.#pieces >= (isLast ? 1 : 2)) {
      if (text.length > this.#all.length && text.startsWith(this.#all)) return this.#rest(text);
      if (this.#isRepeated(text)) {
        this.#repeated ||= text;
        return NOTHING;
      }
    }
    if (this.#grows(text)) {
      this.#all = text;
      this.#pieces++;
      return { text, restarts: true };
    }
    const added = this.#repeated + text;
    this.#repeated = "";
    return this.#add(added);
  }

  /**
   * Returns what a snapshot adds to the pieces. One that does not begin with them (since it lacks the thoughts, or is
   * trimmed) is ignored, unless the pieces are still blank.
   */
  #rest(snapshot: string): AddedText {
    this.#repeated = "";
    if (snapshot.startsWith(this.#all)) return this.#add(snapshot.slice(this.#all.length));
    return this.#all.trim() === "" ? this.#add(snapshot) : NOTHING;
  }

  /** Whether a text repeats all so far, apart from outer white space. */
  #isRepeated(text: string): boolean {
    const isNear = Math.abs(text.length - this.#all.length) <= MOST_BLANKS;
    return isNear && text.trim() === this.#all.trim();
  }

  #add(text: string): AddedText {
    this.#all += text;
    this.#pieces++;
    return { text, restarts: false };
  }

  #grows(text: string): boolean {
    const last = this.#last;
    if (this.#pieces > GROWTHS) return false;
    this.#last = text;
    const isAlive = this.#pieces > 0 && this.#growths === this.#pieces - 1;
    if (!isAlive || text.length <= last.length || !text.startsWith(last)) return false;
    this.#growths++;
    return this.#growths === GROWTHS && text.trim().length >= LEAST;
  }
}
