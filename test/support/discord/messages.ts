/** Changes of messages by anybody: each function changes the state and sends the gateway's events. */
import { ChannelType, GatewayIntentBits, MessageType, type APIEmbed } from "discord.js";

import { gatewayFields, toEmoji, toMessage } from "./message-payload.ts";
import { toFullMember, toThread } from "./payloads.ts";
import type { ActionRow, AllowedMentions, Box, ChannelRecord, FileRecord, MessageRecord } from "./records.ts";
import type { State } from "./state.ts";

export interface Draft {
  readonly channelId: string;
  readonly authorId: string;
  readonly content: string;
  /** Default: a new one. */
  readonly id?: string;
  readonly type?: MessageType;
  readonly replyTo?: string | null;
  readonly nonce?: string | number | null;
  readonly embeds?: readonly APIEmbed[];
  readonly components?: readonly (ActionRow | Box)[];
  readonly files?: readonly FileRecord[];
  readonly raw?: object;
  readonly allowedMentions?: AllowedMentions | null;
  readonly isEphemeral?: boolean;
  readonly isLoading?: boolean;
  readonly interactionId?: string | null;
}

/** Adds a message and sends MESSAGE_CREATE. An ephemeral one is in no history and no event. */
export function postMessage(state: State, draft: Draft): MessageRecord {
  const channel = state.channel(draft.channelId);
  const replyTo = draft.replyTo ?? null;
  const message: MessageRecord = {
    id: draft.id ?? state.ids.next(),
    channelId: channel.id,
    authorId: draft.authorId,
    type: draft.type ?? (replyTo === null ? MessageType.Default : MessageType.Reply),
    timestamp: new Date().toISOString(),
    replyTo,
    nonce: draft.nonce ?? null,
    isEphemeral: draft.isEphemeral ?? false,
    interactionId: draft.interactionId ?? null,
    content: draft.content,
    editedAt: null,
    embeds: draft.embeds ?? [],
    components: draft.components ?? [],
    files: draft.files ?? [],
    raw: draft.raw ?? {},
    allowedMentions: draft.allowedMentions ?? null,
    isLoading: draft.isLoading ?? false,
    threadId: null,
    reactions: new Map(),
  };
  state.messages.set(message.id, message);
  if (message.isEphemeral) return message;
  if (channel.thread?.isArchived === true) setArchived(state, channel, false);
  channel.messageIds.push(message.id);
  emitMessage(state, "MESSAGE_CREATE", message);
  return message;
}

export interface Change {
  readonly content?: string | undefined;
  readonly embeds?: readonly APIEmbed[] | undefined;
  readonly components?: readonly (ActionRow | Box)[] | undefined;
  readonly files?: readonly FileRecord[] | undefined;
  readonly allowedMentions?: AllowedMentions | undefined;
}

/** An edit by the author: new text, new `edited_timestamp`, MESSAGE_UPDATE with the whole message. */
export function editMessage(state: State, message: MessageRecord, change: Change): void {
  if (change.content !== undefined) message.content = change.content;
  if (change.embeds !== undefined) message.embeds = change.embeds;
  if (change.components !== undefined) message.components = change.components;
  if (change.files !== undefined) message.files = [...message.files, ...change.files];
  if (change.allowedMentions !== undefined) message.allowedMentions = change.allowedMentions;
  // The first answer to a deferred command is no edit, since there was no text before.
  if (!message.isLoading) message.editedAt = new Date().toISOString();
  message.isLoading = false;
  if (!message.isEphemeral) emitMessage(state, "MESSAGE_UPDATE", message);
}

export function emitMessage(
  state: State,
  t: "MESSAGE_CREATE" | "MESSAGE_UPDATE",
  message: MessageRecord,
): void {
  const extra = gatewayFields(state, message);
  // Rendered now for both kinds of readers: later changes of the message must not show in this event.
  const open = { ...toMessage(state, message, true), ...extra };
  const closed = { ...toMessage(state, message, false), ...extra };
  emitIn(state, state.channel(message.channelId), t, (seesContent) => (seesContent ? open : closed));
}

/** An update with only these fields besides the ids, as the real service sends at times. */
export function emitPartialUpdate(state: State, message: MessageRecord, fields: object): void {
  const channel = state.channel(message.channelId);
  const data = { id: message.id, channel_id: channel.id, ...guildIdOf(channel), ...fields };
  emitIn(state, channel, "MESSAGE_UPDATE", () => data);
}

export function deleteMessages(
  state: State,
  channel: ChannelRecord,
  ids: readonly string[],
  isBulk: boolean,
): void {
  for (const id of ids) {
    state.messages.delete(id);
    const index = channel.messageIds.indexOf(id);
    if (index >= 0) channel.messageIds.splice(index, 1);
  }
  const place = { channel_id: channel.id, ...guildIdOf(channel) };
  if (isBulk) emitIn(state, channel, "MESSAGE_DELETE_BULK", () => ({ ids: [...ids], ...place }));
  else for (const id of ids) emitIn(state, channel, "MESSAGE_DELETE", () => ({ id, ...place }));
}

export function setReaction(
  state: State,
  message: MessageRecord,
  userId: string,
  emoji: string,
  isOn: boolean,
): void {
  const users = message.reactions.get(emoji) ?? new Set();
  if (users.has(userId) === isOn) return;
  if (isOn) users.add(userId);
  else users.delete(userId);
  if (users.size === 0) message.reactions.delete(emoji);
  else message.reactions.set(emoji, users);

  const channel = state.channel(message.channelId);
  const member = channel.guildId === null ? undefined : state.guild(channel.guildId).members.get(userId);
  const data = {
    user_id: userId,
    channel_id: channel.id,
    message_id: message.id,
    emoji: toEmoji(emoji),
    burst: false,
    type: 0,
    ...guildIdOf(channel),
    ...(isOn ? { message_author_id: message.authorId } : {}),
    ...(isOn && member !== undefined ? { member: toFullMember(state, member) } : {}),
  };
  const intent =
    channel.type === ChannelType.DM
      ? GatewayIntentBits.DirectMessageReactions
      : GatewayIntentBits.GuildMessageReactions;
  if (channel.access === "none") return;
  state.emit({ t: isOn ? "MESSAGE_REACTION_ADD" : "MESSAGE_REACTION_REMOVE", intent, data: () => data });
}

/** A moderator removes everybody's reactions with one emoji, or all. */
export function clearReactions(state: State, message: MessageRecord, emoji?: string): void {
  const channel = state.channel(message.channelId);
  if (emoji === undefined) message.reactions.clear();
  else message.reactions.delete(emoji);
  const data = {
    channel_id: channel.id,
    message_id: message.id,
    ...guildIdOf(channel),
    ...(emoji !== undefined && { emoji: toEmoji(emoji) }),
  };
  const t = emoji === undefined ? "MESSAGE_REACTION_REMOVE_ALL" : "MESSAGE_REACTION_REMOVE_EMOJI";
  if (channel.access === "none") return;
  state.emit({ t, intent: GatewayIntentBits.GuildMessageReactions, data: () => data });
}

/** Archives a thread or reopens it. A message in an archived thread reopens it, too. */
export function setArchived(state: State, channel: ChannelRecord, isArchived: boolean): void {
  if (channel.thread === null) throw new Error(`${channel.name} is no thread.`);
  channel.thread.isArchived = isArchived;
  channel.thread.archivedAt = new Date().toISOString();
  emitThread(state, "THREAD_UPDATE", channel);
}

export function emitThread(state: State, t: "THREAD_CREATE" | "THREAD_UPDATE", channel: ChannelRecord): void {
  const data = { ...toThread(state, channel), ...(t === "THREAD_CREATE" ? { newly_created: true } : {}) };
  if (channel.access === "none") return;
  state.emit({ t, intent: GatewayIntentBits.Guilds, data: () => data });
}

function guildIdOf(channel: ChannelRecord): { guild_id?: string } {
  return channel.guildId === null ? {} : { guild_id: channel.guildId };
}

/** Sends a message event to those who can see the channel. */
function emitIn(
  state: State,
  channel: ChannelRecord,
  t: string,
  data: (seesContent: boolean) => object,
): void {
  if (channel.access === "none") return;
  const intent =
    channel.type === ChannelType.DM ? GatewayIntentBits.DirectMessages : GatewayIntentBits.GuildMessages;
  state.emit({ t, intent, data });
}
