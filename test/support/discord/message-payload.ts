import {
  MessageFlags,
  MessageReferenceType,
  MessageType,
  type APIMessage,
  type APIReaction,
  type APIUser,
} from "discord.js";

import { toChannel, toMember, toUser } from "./payloads.ts";
import { isReadable, pingsOf } from "./mentions.ts";
import type { MessageRecord } from "./records.ts";
import type { State } from "./state.ts";

/** A message in the form of REST and the gateway. @param seesContent false: as without the message content intent */
export function toMessage(state: State, message: MessageRecord, seesContent: boolean): APIMessage {
  const channel = state.channel(message.channelId);
  const isOpen = seesContent || isReadable(state, channel, message);
  const pings = pingsOf(state, message);
  return {
    id: message.id,
    channel_id: message.channelId,
    type: message.type,
    author: toUser(state.user(message.authorId)),
    content: isOpen ? message.content : "",
    embeds: isOpen ? [...message.embeds] : [],
    attachments: isOpen
      ? message.files.map((file) => ({
          id: file.id,
          filename: file.name,
          size: file.size,
          content_type: file.contentType,
          url: file.url,
          proxy_url: file.url,
          ...file.raw,
        }))
      : [],
    components: isOpen ? message.components.map((row) => structuredClone(row)) : [],
    timestamp: message.timestamp,
    edited_timestamp: message.editedAt,
    tts: false,
    pinned: false,
    mention_everyone: pings.everyone,
    mentions: pings.users.map((id) => mentionedUser(state, channel.guildId, id)),
    mention_roles: [...pings.roles],
    ...flagsOf(message),
    ...(message.nonce === null ? {} : { nonce: message.nonce }),
    ...(message.reactions.size === 0 ? {} : { reactions: reactionsOf(state, message) }),
    ...(message.threadId === null ? {} : { thread: toChannel(state, state.channel(message.threadId)) }),
    ...(message.interactionId === null ? {} : { application_id: state.bot.id, webhook_id: state.bot.id }),
    ...referenceOf(state, message, seesContent),
    ...(isOpen ? message.raw : {}),
  };
}

/** The extra fields of the gateway's message events. */
export function gatewayFields(state: State, message: MessageRecord): object {
  const channel = state.channel(message.channelId);
  if (channel.guildId === null) return { channel_type: channel.type };
  const member = state.guild(channel.guildId).members.get(message.authorId);
  return {
    channel_type: channel.type,
    guild_id: channel.guildId,
    ...(member === undefined ? {} : { member: toMember(member) }),
  };
}

export function toEmoji(key: string): { id: string | null; name: string } {
  const [name = key, id = null] = key.split(":");
  return { id, name };
}

function mentionedUser(state: State, guildId: string | null, id: string): APIUser {
  const member = guildId === null ? undefined : state.guild(guildId).members.get(id);
  return { ...toUser(state.user(id)), ...(member === undefined ? {} : { member: toMember(member) }) };
}

function flagsOf(message: MessageRecord): object {
  const flags =
    (message.isEphemeral ? MessageFlags.Ephemeral : 0) |
    (message.isLoading ? MessageFlags.Loading : 0) |
    (message.threadId === null ? 0 : MessageFlags.HasThread);
  return { flags };
}

function reactionsOf(state: State, message: MessageRecord): APIReaction[] {
  return [...message.reactions].map(([key, users]) => ({
    emoji: toEmoji(key),
    count: users.size,
    count_details: { burst: 0, normal: users.size },
    me: users.has(state.bot.id),
    me_burst: false,
    burst_colors: [],
  }));
}

function referenceOf(state: State, message: MessageRecord, seesContent: boolean): Partial<APIMessage> {
  if (message.replyTo === null) return {};
  const answered = state.messages.get(message.replyTo);
  // A thread's starter refers to the message in the parent channel, all others to one in their own.
  const channelId =
    message.type === MessageType.ThreadStarterMessage
      ? (state.channel(message.channelId).parentId ?? message.channelId)
      : message.channelId;
  return {
    message_reference: {
      type: MessageReferenceType.Default,
      message_id: message.replyTo,
      channel_id: channelId,
    },
    // Null: deleted. One level only, as at Discord.
    referenced_message:
      answered === undefined ? null : toMessage(state, { ...answered, replyTo: null }, seesContent),
  };
}
