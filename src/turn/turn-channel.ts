import type { ResultImages } from "../context/assemble.ts";
import type { AgentFile } from "../context/sections/section.ts";
import type { Budget } from "../context/usage.ts";
import type { Anchor } from "../core/calibration.ts";
import type { Context } from "../core/context.ts";
import type { EntryReference } from "../core/entry.ts";
import type { History } from "../core/history.ts";
import type { Seq } from "../core/ids.ts";
import type { Memory } from "../core/memory.ts";
import type { Pace } from "../core/pace.ts";
import type { ModelCallRecord } from "../llm/model.ts";
import type { HistoryFound, HistoryRequest, MessagesRead, ReadRequest } from "../memory/history-search.ts";
import type { ToolKit } from "../tools/tool.ts";
import type { AppendEntries, CallGate } from "./call-gate.ts";
import type { Attached, OmittedExtract, Scene, WaitedFor } from "./context-sources.ts";
import type { CallRefusal } from "./outcome.ts";
import type { ToolCallRecord, ToolStart } from "./tool-calls.ts";

/** A channel as a turn may read and change it. */
export interface TurnChannel {
  readonly scene: Scene;
  /** Opaque, and constant for the channel. */
  readonly cacheKey: string;
  /** How often its agent is asked. */
  readonly pace: Pace;
  snapshot(): Promise<History>;
  /** The last request with a token count from this model's provider; null: none, or another model has answered since. */
  anchor(model: string): Anchor | null;
  readonly append: AppendEntries;
  readonly gate: CallGate;
  /** Commits the summaries written ahead, without a model. @returns whether the view is shorter now */
  commitAhead(): Promise<boolean>;
  /** Makes an omission durable, then visible. */
  omit(toSeq: Seq, tokensBefore: number, tokensAfter: number): Promise<void>;
  /** An extract of the omitted range, made without a model; null: nothing is omitted, or it takes too long. */
  extract(maxTokens: number): Promise<OmittedExtract | null>;
  /** Entries outside the view that match a text, without late results. */
  recall(text: string, limit: number): Promise<EntryReference[]>;
  /** Searches the messages that the last request does not show, for a tool call. */
  searchHistory(request: HistoryRequest, signal: AbortSignal): Promise<HistoryFound>;
  /** Reads such messages. */
  readMessages(request: ReadRequest, signal: AbortSignal): Promise<MessagesRead>;
  /** Memories that match a text and may show in this channel, until `signal` aborts. `turn`: without late results. */
  recallMemories(
    text: string,
    purpose: "turn" | "tool",
    limit: number,
    signal?: AbortSignal,
  ): Promise<Memory[]>;
  /** Memories of other channels may show here. */
  seesElsewhere(): boolean;
  /** The turn's automatic searches have all ended. */
  hasFoundAll(): boolean;
  /** Actions of tools on the channel, besides searches. */
  readonly toolKit: ToolKit;
  /** The files of the agent's folder that are of this channel alone; none if reading is slow. */
  channelFiles(): Promise<readonly AgentFile[]>;
  /** Names of those texts of the agent's folder that are active here. */
  activeTexts(): Promise<readonly string[]>;
  waitedFor(): Promise<readonly WaitedFor[]>;
  /** People have said what this turn takes in before its next request. */
  isSteered(): boolean;
  /** Takes it in: this turn answers it too. @returns false: nothing was said */
  takeIn(): Promise<boolean>;
  attached(): Promise<Attached>;
  /** Pictures from the turn's tools, without deleted ones. */
  resultImages(): Promise<readonly ResultImages[]>;
  /** Shows the answer so far; null: the shown text is void. Must not throw or wait. */
  showDraft(text: string | null): void;
  /** Called for every request before it is sent. Must not throw or wait. */
  onRequest(model: string, context: Context, made: MadeOf): void;
  /** Called before the model is asked again. Must not throw or wait. Default: no listener. */
  onRetry?(attempt: number, of: number): void;
  /** Called before each attempt at a model. @returns why it is refused; null: it is allowed */
  onAttempt(model: string, estimatedTokens: number): CallRefusal | null;
  /** Called for every attempt that was made. */
  onCall(record: ModelCallRecord, estimatedTokens: number): void;
  onToolFailure(tool: string, why: string): void;
  /** Called once with the results of the automatic searches. Must not throw or wait. Default: no listener. */
  onRecalled?(found: { readonly entries: number; readonly memories: number }, ms: number): void;
  /** Called for every tool call that people may see, before it is run. Must not throw or wait. Default: no listener. */
  onToolStart?(call: ToolStart): void;
  /** Called for every tool call that was run. Must not throw or wait. Default: no listener. */
  onToolCall?(call: ToolCallRecord): void;
}

export interface MadeOf {
  /** As the request shows it. */
  readonly history: History;
  readonly budget: Budget;
  /** Made for a fallback, or for a smaller window than the model's known one: the next request may be larger. */
  readonly isForOneCall: boolean;
}
