import { type Meant, objectJson, type TurnEntryDraft } from "../../core/entry.ts";
import type { AgentId, MemoryId } from "../../core/ids.ts";
import type { InboundMessage, QuotedMessage } from "../../core/message.ts";
import { displayName, sliceWhole, storableText } from "../../text/text.ts";
import { estimateTokens, MESSAGE_OVERHEAD } from "../../text/tokens.ts";

/** What is appended, as the rows of `entries` take it. */

/**
 * Whom a message is meant for, how it was read, and what it quotes; null: the channel's own agent, which heeds its author, and in time,
 * without a quote.
 */
export function messageData(
  meant: Meant & Pick<InboundMessage, "isLate" | "quote">,
): Record<string, unknown> | null {
  const { agent, chain, unheard, isLate = false, quote } = meant;
  if ([agent, chain, unheard, quote].every((one) => one === undefined) && !isLate) return null;
  return {
    ...(agent !== undefined && { agent }),
    ...(chain !== undefined && { chain }),
    ...(unheard !== undefined && { unheard }),
    ...(isLate && { late: true }),
    ...(quote !== undefined && { quote: quoteData(quote) }),
  };
}

/** Longest quote that is kept, in UTF-16 units: a message of most platforms. */
const MAX_QUOTE = 4000;

function quoteData({ id, author, text, at, asOf }: QuotedMessage): Record<string, unknown> {
  const cut = text.length > MAX_QUOTE ? `${sliceWhole(text, 0, MAX_QUOTE)} […]` : text;
  return {
    id: storableText(id),
    author_id: storableText(author.id),
    author_name: displayName(author.name),
    text: storableText(cut),
    at,
    as_of: asOf,
  };
}

/** What `append_turn_entries` takes: references are stored as seqs and ids, never as text. */
export function toDraftRow(
  draft: TurnEntryDraft,
  agent?: AgentId,
  shown: readonly MemoryId[] = [],
): Record<string, unknown> {
  const isOfShown = draft.kind === "tool_call" && shown.length > 0;
  const marks = {
    ...(draft.standIn === true && { standIn: true }),
    ...(draft.asFile === true && { asFile: true }),
  };
  const made = Object.keys(marks).length > 0 ? { ...draftData(draft), ...marks } : draftData(draft);
  const data = isOfShown ? { ...made, recalled: { memories: shown } } : made;
  const signed = agent === undefined || draft.kind === "notice" ? data : { ...data, agent };
  return { kind: draft.kind, text: draft.text, tokens: estimateDraft(draft), data: signed };
}

function draftData(draft: TurnEntryDraft): Record<string, unknown> | null {
  switch (draft.kind) {
    case "assistant":
      return draft.stopped ? { stopped: true } : null;
    case "tool_call":
      return { calls: draft.calls };
    case "tool_result":
      return {
        call_id: draft.callId,
        tool: draft.tool,
        references: draft.references.map(({ seq }) => seq),
        memories: draft.memories.map(({ id }) => id),
        ...(draft.images !== undefined && { images: draft.images.length }),
        ...(draft.isFinding === true && { finding: true }),
      };
    case "notice":
      return null;
  }
}

/** Estimated tokens of an entry as a model reads it. */
export function estimateDraft(draft: TurnEntryDraft): number {
  let tokens = estimateTokens(draft.text) + MESSAGE_OVERHEAD;
  if (draft.kind === "tool_call") {
    for (const call of draft.calls)
      tokens += estimateTokens(call.name + objectJson(call.arguments)) + MESSAGE_OVERHEAD;
  }
  if (draft.kind === "tool_result") {
    for (const { seq, author, text } of draft.references)
      tokens += estimateTokens(`${seq}. ${author}${text ?? ""}`) + LINE_HEAD_TOKENS;
    for (const { memory } of draft.memories)
      tokens +=
        estimateTokens(`${memory?.assertedBy} ${memory?.type} ${memory?.statement}`) + LINE_HEAD_TOKENS;
  }
  return tokens;
}

/** Time and punctuation before each message: `[2026-11-21 14:05] NAME: `. */
export const LINE_HEAD_TOKENS = 16;
