import type { Meant, UserEntry } from "../../core/entry.ts";
import type { Seq, TurnId } from "../../core/ids.ts";
import { type InboundMessage, isDueWork } from "../../core/message.ts";
import { displayName, displayTitle, storableText } from "../../text/text.ts";
import { estimateTokens, MESSAGE_OVERHEAD } from "../../text/tokens.ts";
import { LINE_HEAD_TOKENS, messageData } from "./draft-rows.ts";
import { type RunningTurn, begunTurn } from "../turns/turn-rows.ts";

/** A message on its way into the log: the entry that it becomes, but for its place. */
export type MessageDraft = Omit<UserEntry, "seq"> & Pick<InboundMessage, "isLate" | "quote">;

/** What became of an append: a redelivery finds the first, which may still be due. */
export type Appended =
  | { readonly duplicate: true; readonly seq: Seq; readonly due: boolean }
  | {
      readonly duplicate: false;
      readonly seq: Seq;
      readonly entry: UserEntry;
      /** The turn that has begun with it; null: none has. */
      readonly turn: RunningTurn | null;
    };

/** What `append_message` and `append_messages` return. */
export interface AppendedRow {
  readonly seq: number;
  readonly duplicate: boolean;
  readonly due: boolean;
  /** `append_message` alone begins turns. */
  readonly turnId?: TurnId | null;
}

export type LoggedMessage = Pick<
  InboundMessage,
  "id" | "author" | "text" | "at" | "addressed" | "replyTo" | "quote" | "isBackground" | "isLate"
> &
  Meant;

export function draftMessage(message: LoggedMessage): MessageDraft {
  const text = storableText(message.text);
  const { id, name, isBot } = message.author;
  const shown = isDueWork(message.id) ? displayTitle(name) : displayName(name);
  const author = { id: storableText(id), name: shown, isBot };
  return {
    kind: "user",
    at: message.at,
    deleted: false,
    tokens: estimateTokens(text) + estimateTokens(author.name) + LINE_HEAD_TOKENS + MESSAGE_OVERHEAD,
    author,
    text,
    messageId: storableText(message.id),
    replyTo: message.replyTo === undefined ? null : storableText(message.replyTo),
    addressed: message.addressed,
    ...(message.agent !== undefined && { agent: message.agent }),
    ...(message.chain !== undefined && { chain: message.chain }),
    ...(message.unheard !== undefined && { unheard: message.unheard }),
    ...(message.quote !== undefined && { quote: message.quote }),
    ...((message.isLate === true || message.isBackground === true) && { isLate: true }),
  };
}

/** In the order of `append_message`. */
export function draftValues(draft: MessageDraft): unknown[] {
  const { messageId, author, text, tokens, at, addressed, replyTo } = draft;
  return [messageId, author.id, author.name, author.isBot, text, tokens, at, addressed, replyTo];
}

/** By the names of `append_messages`. */
export function draftRecord(draft: MessageDraft): Record<string, unknown> {
  const data = messageData(draft);
  const { messageId, author, text, tokens, at, addressed, replyTo } = draft;
  return {
    message_id: messageId,
    author_id: author.id,
    author_name: author.name,
    author_bot: author.isBot,
    text,
    tokens,
    at,
    addressed,
    reply_to: replyTo,
    ...(data !== null && { data }),
  };
}

export function toAppended(draft: MessageDraft, row: AppendedRow): Appended {
  const { seq, duplicate, due, turnId: id = null } = row;
  if (duplicate) return { duplicate, seq, due };
  const turn = id === null ? null : begunTurn(id, seq, seq);
  return { duplicate: false, seq, entry: loggedEntry(draft, seq), turn };
}

export function loggedEntry(draft: MessageDraft, seq: Seq): UserEntry {
  const { isLate: _, quote: _quote, ...entry } = draft;
  return { ...entry, seq };
}
