import type { ToolCall } from "./entry.ts";

/** One message of a model request, in the vocabulary of Chat Completions. */
export type ModelMessage =
  | { readonly role: "system"; readonly text: string }
  | { readonly role: "user"; readonly text: string; readonly images?: readonly ModelImage[] }
  | { readonly role: "assistant"; readonly text: string; readonly calls: readonly ToolCall[] }
  | { readonly role: "tool"; readonly callId: string; readonly text: string };

/** A picture beside a message's text. */
export interface ModelImage {
  /** MIME type. */
  readonly type: string;
  readonly base64: string;
}

/** A tool as the model sees it. */
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
  /** What it is, for a person who looks at `/context`. */
  readonly label: string;
  /** Estimated tokens. */
  readonly tokens: number;
  /** How many messages, tools or lines it has. */
  readonly count: number;
  readonly messages: readonly ModelMessage[];
}

/** What is sent to the model for one call. */
export interface Context {
  readonly tools: readonly ToolSpec[];
  readonly segments: readonly Segment[];
  /** Estimated tokens of the whole request. */
  readonly tokens: number;
}

/** The messages of a context in the order in which they are sent. */
export function contextMessages(context: Context): ModelMessage[] {
  return context.segments.flatMap((segment) => [...segment.messages]);
}
