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
import type { ToolKit } from "../tools/tool.ts";
import type { AppendEntries, CallGate } from "./call-gate.ts";
import type { Attached, OmittedExtract, Scene } from "./context-sources.ts";
import type { CallRefusal } from "./refused-call.ts";
import type { ToolCallRecord } from "./tool-calls.ts";

/** What a turn may do to its channel. */
export interface TurnChannel {
  readonly scene: Scene;
  /** Opaque, and the same as long as the channel is. */
  readonly cacheKey: string;
  /** How often its agent is asked. */
  readonly pace: Pace;
  /** The history as of now. */
  snapshot(): Promise<History>;
  /** Its last request that this model's provider has counted; null: none, or another model answered since. */
  anchor(model: string): Anchor | null;
  readonly append: AppendEntries;
  readonly gate: CallGate;
  /** Commits what was written ahead, without a model. @returns whether the view is shorter now */
  commitAhead(): Promise<boolean>;
  /** Makes an omission durable, then visible. */
  omit(toSeq: Seq, tokensBefore: number, tokensAfter: number): Promise<void>;
  /** An extract of what is omitted, made without a model; null: nothing is, or it takes too long. */
  extract(maxTokens: number): Promise<OmittedExtract | null>;
  /** Earlier entries that fit a text, until `signal` ends it. `hidden`: only those that are not in the view. */
  recall(
    text: string,
    scope: "hidden" | "all",
    limit: number,
    signal?: AbortSignal,
  ): Promise<EntryReference[]>;
  /**
   * Memories that may be shown in this channel and fit a text, until `signal` ends it. `turn`: only as far as it takes no
   * time.
   */
  recallMemories(
    text: string,
    purpose: "turn" | "tool",
    limit: number,
    signal?: AbortSignal,
  ): Promise<Memory[]>;
  /** Memories of other channels may show here. */
  seesElsewhere(): boolean;
  /** What the turn looked for by itself was looked for to the end. */
  hasFoundAll(): boolean;
  /** What tools may do to the channel, beside looking things up. */
  readonly toolKit: ToolKit;
  /** The agent's notes of this channel; only as far as it takes no time. */
  notes(): Promise<readonly AgentFile[]>;
  /** Names of the skills that are active here. */
  activeSkills(): Promise<readonly string[]>;
  /** Lines about the subagents for which the agent waits. */
  subagents(): Promise<readonly string[]>;
  /** What belongs to the messages to answer beside their text. */
  attached(): Promise<Attached>;
  /** Pictures from the turn's tools, without deleted ones. */
  resultImages(): Promise<readonly ResultImages[]>;
  /** Shows the answer so far; null: what was shown is void. Must not throw or wait. */
  showDraft(text: string | null): void;
  /** Called for every request before it is sent. Must not throw or wait. */
  onRequest(model: string, context: Context, made: MadeOf): void;
  /** Called before the model is asked again. Must not throw or wait. Default: nobody listens. */
  onRetry?(attempt: number, of: number): void;
  /** Called before each attempt at a model. @returns why it must not be made; null: it is made */
  onAttempt(model: string, estimatedTokens: number): CallRefusal | null;
  /** Called for every attempt that was made. */
  onCall(record: ModelCallRecord, estimatedTokens: number): void;
  onToolFailure(tool: string, why: string): void;
  /** Called once for what the turn looked for by itself. Must not throw or wait. Default: nobody listens. */
  onRecalled?(found: { readonly entries: number; readonly memories: number }, ms: number): void;
  /** Called for every call of a tool that was run. Must not throw or wait. Default: nobody listens. */
  onToolCall?(call: ToolCallRecord): void;
}

/** What a request was made of. */
export interface MadeOf {
  /** As the request shows it. */
  readonly history: History;
  readonly budget: Budget;
  /** It was made for a fallback, or for a smaller window than the model is known to have: the next one may be larger. */
  readonly isForOneCall: boolean;
}
