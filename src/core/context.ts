import type { ToolCall } from "./entry.ts";

/** One message of a model request, in the vocabulary of Chat Completions. */
export type ModelMessage =
  | { readonly role: "system"; readonly text: string }
  | {
      readonly role: "user";
      readonly text: string;
      readonly images?: readonly ModelImage[];
      /** The text only describes the pictures: without them the message is left out. Default: false. */
      readonly isOfImages?: true;
      /** Directly after results: a message that their turn took in while it ran. Default: false. */
      readonly isSteering?: true;
    }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly ToolCall[] }
  | { readonly role: "tool"; readonly callId: string; readonly text: string };

export interface ModelImage {
  /** MIME type. */
  readonly type: string;
  readonly base64: string;
  /** Number of UTF-16 units of its message's text before the picture. Default: all of it. */
  readonly at?: number;
}

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema of the arguments object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** The parts of a context, from the most to the least stable. */
export type SegmentKey = "tools" | "system" | "summaries" | "history" | "dynamic" | "due" | "turn";

/** A labelled, counted piece of a context. */
export interface Segment {
  readonly key: SegmentKey;
  /** A description for people who read `/context`. */
  readonly label: string;
  /** Estimated tokens. */
  readonly tokens: number;
  /** How many messages, tools or lines it has. */
  readonly count: number;
  /** Its pieces, as they were rendered; `context-request.ts` joins neighbours. */
  readonly messages: readonly ModelMessage[];
}

/** Roles of the files in an agent's folder. */
export type FileKind =
  | "soul"
  | "policy"
  | "workspace"
  | "rule"
  | "user"
  | "channel"
  | "skill"
  | "skills"
  | "memory"
  | "note";

export type BuiltInKind =
  | "tools"
  | "identity"
  | "summaries"
  | "history"
  | "due"
  | "now"
  | "remembered"
  | "people"
  | "learned"
  | "recalled"
  | "unfound"
  | "subagents"
  | "replies"
  | "omitted"
  | "extract"
  | "turn";

export type SectionKind = FileKind | BuiltInKind;

/** A piece of a context, with the reason for it and the text that the budget left. */
export interface Section {
  /** Its name in `/context`: `soul`, `rule:style`, `recalled`. */
  readonly key: string;
  readonly kind: SectionKind;
  /** A description for people who read `/context`. */
  readonly label: string;
  /** Where it comes from: a file, as the operator knows it; a template; the log. */
  readonly source: string;
  readonly scope: SectionScope;
  readonly reason: string;
  /** Parts of the newest messages that have raised its priority. */
  readonly evidence: readonly string[];
  /** The higher, the later the budget cuts it. */
  readonly priority: number;
  readonly isProtected: boolean;
  /** `static`: in the system prompt or the tools; `messages`: messages and their summaries; `dynamic`: after the messages. */
  readonly place: "static" | "messages" | "dynamic";
  /** The remaining text; empty if it is left out, or consists of messages or tools only. */
  readonly text: string;
  readonly state: "whole" | "cut" | "left out";
  readonly characters: { readonly before: number; readonly after: number };
  /** Estimated. */
  readonly tokens: { readonly before: number; readonly after: number };
}

export type SectionScope = "all agents" | "agent" | "channel" | "person";
/** The subject of the newest messages, by plain reading. */
export interface Focus {
  /** Beginning of the newest message, on one line. */
  readonly summary: string;
  readonly paths: readonly string[];
  /** Names of code: in backticks, in CamelCase, with dots. */
  readonly symbols: readonly string[];
  readonly signals: readonly Signal[];
}

export type Signal = "continue" | "plan" | "change" | "verify";

/** `low`: far from a compaction; `medium`: one may be written ahead; `high`: one is due; `critical`: messages are left out. */
export type Pressure = "low" | "medium" | "high" | "critical";

export interface Context {
  readonly tools: readonly ToolSpec[];
  /**
   * The parts of the system prompt and the dynamic part; the segments hold their texts. `context/sections/list.ts` has the
   * whole list.
   */
  readonly sections: readonly Section[];
  /**
   * The subject of the messages to answer, by which sections were chosen; null: no section could depend on it, so the
   * messages were not examined.
   */
  readonly focus: Focus | null;
  readonly segments: readonly Segment[];
  readonly tokens: number;
}

export function contextPieces(context: Context): ModelMessage[] {
  return context.segments.flatMap((segment) => [...segment.messages]);
}

/** UTF-16 units of a message's text and its calls. */
export function messageCharacters(message: ModelMessage): number {
  const calls = message.role === "assistant" ? message.calls : [];
  return calls.reduce((sum, call) => sum + call.name.length + call.arguments.length, message.text.length);
}

/** UTF-16 units of the whole request: the messages' texts, their calls, and the tools as JSON. */
export function contextCharacters(context: Context): number {
  const spoken = contextPieces(context).reduce((sum, message) => sum + messageCharacters(message), 0);
  return spoken + (context.tools.length === 0 ? 0 : JSON.stringify(context.tools).length);
}
