import { ChannelType, MessageType } from "discord.js";

import { emitMessage, emitThread, postMessage } from "./messages.ts";
import type { ChannelRecord } from "./records.ts";
import type { State } from "./state.ts";

/**
 * Opens a public thread. From a message, it has that message's id and begins with a starter message without a text;
 * otherwise the parent channel gets a message that announces it. Both as at Discord.
 */
export function createThread(
  state: State,
  parent: ChannelRecord,
  options: { readonly ownerId: string; readonly name: string; readonly fromMessage?: string | undefined },
): ChannelRecord {
  const id = options.fromMessage ?? state.ids.next();
  const thread: ChannelRecord = {
    id,
    type: ChannelType.PublicThread,
    name: options.name,
    guildId: parent.guildId,
    parentId: parent.id,
    recipientId: null,
    thread: {
      ownerId: options.ownerId,
      archivedAt: new Date().toISOString(),
      isArchived: false,
      isLocked: false,
    },
    access: parent.access,
    messageIds: [],
  };
  state.channels.set(id, thread);
  emitThread(state, "THREAD_CREATE", thread);
  if (parent.type === ChannelType.GuildForum) return thread;
  if (options.fromMessage === undefined) {
    const type = MessageType.ThreadCreated;
    postMessage(state, { channelId: parent.id, authorId: options.ownerId, content: options.name, type });
    return thread;
  }
  const origin = state.message(options.fromMessage);
  origin.threadId = id;
  emitMessage(state, "MESSAGE_UPDATE", origin);
  postMessage(state, {
    channelId: id,
    authorId: options.ownerId,
    content: "",
    type: MessageType.ThreadStarterMessage,
    replyTo: origin.id,
  });
  return thread;
}

/** The DM with a person, opened once. */
export function dmWith(state: State, userId: string): ChannelRecord {
  const known = [...state.channels.values()].find((channel) => channel.recipientId === userId);
  if (known !== undefined) return known;
  const channel: ChannelRecord = {
    id: state.ids.next(),
    type: ChannelType.DM,
    name: "",
    guildId: null,
    parentId: null,
    recipientId: userId,
    thread: null,
    access: "all",
    messageIds: [],
  };
  state.channels.set(channel.id, channel);
  return channel;
}
