import type { Entry, EntryReference, ToolCall } from "../../src/core/entry.ts";
import { turnId } from "../../src/core/ids.ts";
import { estimateTokens } from "../../src/text/tokens.ts";

/** Entries of a channel, one a minute from 2026-11-21 14:00 UTC: seq 5 is of 14:05. */
function base(seq: number, text: string): { seq: number; at: Date; deleted: boolean; tokens: number } {
  return { seq, at: minute(seq), deleted: false, tokens: estimateTokens(text) + 12 };
}

function minute(seq: number): Date {
  return new Date(Date.UTC(2026, 10, 21, 14, seq));
}

export function said(seq: number, name: string, text: string, { deleted = false } = {}): Entry {
  const author = { id: name, name, isBot: false };
  const addressing = { messageId: `m${seq}`, replyTo: null, addressed: true };
  return { ...base(seq, text), kind: "user", author, text, ...addressing, deleted };
}

export function answered(seq: number, after: number, text: string): Entry {
  return { ...base(seq, text), kind: "assistant", text, stopped: false, turnId: turnId(1), after };
}

export function called(seq: number, after: number, calls: readonly Omit<ToolCall, "id">[], text = ""): Entry {
  const withIds = calls.map((call, index) => ({ ...call, id: `call-${index}` }));
  return { ...base(seq, text), kind: "tool_call", text, calls: withIds, turnId: turnId(1), after };
}

export function returned(
  seq: number,
  after: number,
  tool: string,
  text: string,
  quotes = 0,
  isFinding = false,
): Entry {
  const quote: EntryReference = { seq: 1, at: minute(1), author: "Ann", text: "quoted words" };
  const references = Array.from({ length: quotes }, () => quote);
  const by = { turnId: turnId(1), after };
  return {
    ...base(seq, text),
    kind: "tool_result",
    callId: "call-0",
    tool,
    text,
    references,
    memories: [],
    ...(isFinding && { isFinding }),
    ...by,
  };
}

export function failed(seq: number, text: string): Entry {
  return { ...base(seq, text), kind: "notice", text, after: null, edits: null };
}

export function editNote(seq: number, edited: number, author: string, text: string): Entry {
  const edits = { seq: edited, author, at: minute(edited) };
  return { ...base(seq, text), kind: "notice", text, after: null, edits };
}
