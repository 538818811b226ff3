import type { ChannelRecord, MessageRecord } from "./records.ts";
import type { State } from "./state.ts";

/** The people whom a message pings, or would ping. */
export interface Pings {
  readonly users: readonly string[];
  readonly roles: readonly string[];
  readonly everyone: boolean;
}

/** Reads the mentions in a text, and keeps those that `allowed_mentions` allows. */
export function pingsOf(state: State, message: MessageRecord): Pings {
  const allowed = message.allowedMentions;
  const parse = allowed?.parse ?? [];
  const mayPing = (kind: string, listed: readonly string[] | undefined, id: string): boolean =>
    allowed === null || parse.includes(kind) || listed?.includes(id) === true;
  const users = idsIn(message.content, /<@!?(\d+)>/g)
    .filter((id) => state.users.has(id))
    .filter((id) => mayPing("users", allowed?.users, id));
  const roles = idsIn(message.content, /<@&(\d+)>/g).filter((id) => mayPing("roles", allowed?.roles, id));
  const answered = message.replyTo === null ? undefined : state.messages.get(message.replyTo);
  if (answered !== undefined && (allowed === null || allowed.replied_user === true))
    users.push(answered.authorId);
  const everyone = /@(everyone|here)\b/.test(message.content) && mayPing("everyone", [], "");
  return { users: [...new Set(users)], roles, everyone };
}

/** Without the intent, a bot reads its own messages, direct messages, and those that mention it. */
export function isReadable(state: State, channel: ChannelRecord, message: MessageRecord): boolean {
  if (message.authorId === state.bot.id || channel.guildId === null) return true;
  return pingsOf(state, message).users.includes(state.bot.id);
}

function idsIn(text: string, pattern: RegExp): string[] {
  return [...new Set([...text.matchAll(pattern)].map((match) => match[1] ?? ""))];
}
