/**
 * The domain's types and pure rules: entries, messages, summaries, memories, contexts and their ids. It imports no other room,
 * and has no effects: no store, no platform, no model, no clock.
 */

import { jsonOf } from "./json.ts";
import type { AgentId, MemoryId, Seq, TurnId } from "./ids.ts";
import type { ImageBytes } from "./image.ts";
import type { Memory } from "./memory.ts";
import type { Author } from "./message.ts";

/** A tool that the model wants run. `arguments` is the model's JSON text, unchecked. */
export interface ToolCall {
  readonly id: string;
  readonly name: string;
  readonly arguments: string;
}

/** The text of an entry whose text is no longer stored. */
export const NOT_KEPT = "(text no longer kept)";

interface EntryBase {
  readonly seq: Seq;
  /** User messages: when it was said, by the platform's clock. Others: when it was appended. */
  readonly at: Date;
  /** A deletion or a redaction blanked its text. */
  readonly deleted: boolean;
  /** Set: its text is no longer stored, because of its age, and is {@link NOT_KEPT}. */
  readonly expired?: true;
  /** Estimated tokens of its text for a model. */
  readonly tokens: number;
}

/**
 * Written by a turn. In the view such an entry stands directly after `after`, the last message that its turn answers, whatever
 * arrived in the meantime.
 */
interface TurnEntryBase extends EntryBase {
  readonly turnId: TurnId;
  readonly after: Seq;
  /** The author; left out: the channel's own agent. */
  readonly agent?: AgentId;
  /** Set: the built-in stand-in wrote it, which only quotes. Later turns do not show it to their model. */
  readonly standIn?: true;
}

/** Number of hand-offs of a question from agent to agent. A person's message begins a new chain. */
export interface HandOffChain {
  /** The turn that handed over first. */
  readonly id: TurnId;
  /** Hand-offs so far, from 1. */
  readonly hop: number;
}

/** The agent that a message addresses, and whether it is heard. */
export interface Meant {
  /** Left out: the channel's own agent. */
  readonly agent?: AgentId;
  /** Set: an agent has handed it over. */
  readonly chain?: HandOffChain;
  /** Set: the binding does not let its author ask there, so it is only context. */
  readonly unheard?: true;
}

export interface UserEntry extends EntryBase, Meant {
  readonly kind: "user";
  readonly author: Author;
  readonly text: string;
  readonly messageId: string;
  readonly replyTo: string | null;
  /** It asks for a turn; false: it is only read. */
  readonly addressed: boolean;
}

export interface AssistantEntry extends TurnEntryBase {
  readonly kind: "assistant";
  readonly text: string;
  /** `/stop` ended it before the model did. */
  readonly stopped: boolean;
}

/** One model answer that asks for tools: all its calls, and its text beside them. */
export interface ToolCallEntry extends TurnEntryBase {
  readonly kind: "tool_call";
  readonly text: string;
  readonly calls: readonly ToolCall[];
}

/** An entry of the same channel that a tool result quotes. It is read again whenever it is shown, so a deletion reaches it. */
export interface EntryReference {
  readonly seq: Seq;
  readonly at: Date;
  readonly author: string;
  /** Null once the entry was deleted. */
  readonly text: string | null;
  /** As of an {@link Entry}. */
  readonly expired?: true;
  /** Set: another agent than the channel's own said it. */
  readonly agent?: AgentId;
}

/** Longest text of an entry in a tool result, in estimated tokens: another search finds more of it. */
export const QUOTE_TOKENS = 400;

/** A memory that a tool result quotes. It is read again whenever it is shown, so forgetting reaches it. */
export interface MemoryReference {
  readonly id: MemoryId;
  /** Null once the memory is deleted. */
  readonly memory: RememberedStatement | null;
}

export interface FoundIds {
  readonly entries: readonly Seq[];
  readonly memories: readonly MemoryId[];
}

/** Content that was found for a turn before the model call: ids, so that a deletion reaches it. */
export interface RecalledIds extends FoundIds {
  /** Which of them each way of search has found; left out: all by words. */
  readonly arms?: RecallArms;
}

export type RecallArms = Readonly<Record<"words" | "meaning", FoundIds>>;

/** A memory that was recalled for a turn, or that stands on the page of a person. */
export type RecalledStatement = RememberedStatement & Pick<Memory, "until" | "page" | "isOnPageAlone">;

export type RememberedStatement = Pick<
  Memory,
  "type" | "assertedBy" | "tool" | "at" | "refers" | "statement" | "otherwise"
>;

export interface ToolResultEntry extends TurnEntryBase {
  readonly kind: "tool_result";
  readonly callId: string;
  readonly tool: string;
  readonly text: string;
  readonly references: readonly EntryReference[];
  readonly memories: readonly MemoryReference[];
  /** Number of its pictures; left out: 0. */
  readonly images?: number;
  /** Set: the call did not fail, and its tool finds out what Weir does not know yet: it may prove a memory. */
  readonly isFinding?: true;
}

/**
 * A period whose messages did not arrive in time. `late`: they are still being read, and come after newer ones. `lost`: the
 * platform does not have them, or does not return them.
 */
export interface Absence {
  readonly kind: "late" | "lost";
  readonly from: Date;
  readonly to: Date;
}

/** What people have not seen of an answer, because the platform refused it. */
export interface UnseenAnswer {
  readonly answer: Seq;
  /** When the oldest message that it answers was received. */
  readonly askedAt: Date;
  /** Characters of the answer. */
  readonly of: number;
  /** What is missing, in order, in characters from its beginning. */
  readonly gaps: readonly { readonly from: number; readonly to: number }[];
}

/**
 * Weir's own message: a failure that a person was shown, an edit of a text that a model had already read, an absence, or an answer that
 * people have not seen whole.
 */
export interface NoticeEntry extends EntryBase {
  readonly kind: "notice";
  readonly text: string;
  /** Set if a turn wrote it: it then stands after that turn's messages. */
  readonly after: Seq | null;
  /** Set: that entry was edited after a model had read it; `text` is its new text. */
  readonly edits: { readonly seq: Seq; readonly author: string; readonly at: Date } | null;
  /** Set: the messages of that period are not at their place. */
  readonly absence?: Absence;
  /** Set: the platform refused that of an answer. */
  readonly undelivered?: UnseenAnswer;
}

export type EditNotice = NoticeEntry & { readonly edits: NonNullable<NoticeEntry["edits"]> };

export function isEditNotice(entry: Entry): entry is EditNotice {
  return entry.kind === "notice" && entry.edits !== null;
}

export interface CurrentText {
  readonly author: string;
  /** When the message was said. */
  readonly at: Date;
  readonly text: string;
}

export type Entry = UserEntry | AssistantEntry | ToolCallEntry | ToolResultEntry | NoticeEntry;

/**
 * An entry that a turn is about to append: the log assigns its seq and its time. `asFile`: people are sent the beginning of an answer and
 * the whole as a file.
 */
export type TurnEntryDraft = { readonly standIn?: true; readonly asFile?: true } & (
  | { readonly kind: "assistant"; readonly text: string; readonly stopped: boolean }
  | { readonly kind: "tool_call"; readonly text: string; readonly calls: readonly ToolCall[] }
  | (Omit<ToolResultEntry, keyof TurnEntryBase | "images"> & {
      /** At least one; left out: without pictures. */
      readonly images?: readonly ImageBytes[];
    })
  | { readonly kind: "notice"; readonly text: string }
);

/**
 * The arguments of a tool call are JSON text that a model wrote, with any content. Servers that parse earlier arguments (vLLM's templates, gateways to Anthropic and Gemini) refuse the whole request,
 * and so every later turn of the channel, for one call whose arguments are not a JSON object.
 * @returns the text in a form that can be sent
 */
export function objectJson(json: string): string {
  if (isObjectJson(json)) return json;
  return json.trim() === "" ? "{}" : JSON.stringify({ invalid_arguments: json });
}

/** The values of a model's arguments, without the names of the parameters; the whole text if it is no JSON object. */
export function argumentValues(json: string): string {
  if (!isObjectJson(json)) return json;
  const values: unknown[] = [];
  JSON.parse(json, (_, value: unknown) => {
    if (typeof value !== "object") values.push(value);
    return value;
  });
  return values.join("\n");
}

/** What a model has written in an answer that calls tools: the words beside its calls, and the values of their arguments. */
export function callTexts(text: string, calls: readonly Pick<ToolCall, "arguments">[] | null): string[] {
  return [text, ...(calls ?? []).map((call) => argumentValues(call.arguments))];
}

export function isObjectJson(json: string): boolean {
  const value = jsonOf(json);
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
