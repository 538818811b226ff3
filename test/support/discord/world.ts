/** Drives the test: makes places and people, and lets people act. All ids are snowflakes as strings. */
import { ChannelType, EmbedType, GatewayIntentBits, PermissionFlagsBits, type APIEmbed } from "discord.js";

import { storeFile, type FileDraft } from "./files.ts";
import { buttonsIn, wordsIn } from "./components.ts";
import {
  answersTo,
  invokeCommand,
  pressButton,
  sendModal,
  sendPress,
  type CommandAnswer,
  type CommandOptions,
} from "./interactions.ts";
import {
  clearReactions,
  deleteMessages,
  editMessage,
  emitMessage,
  emitPartialUpdate,
  postMessage,
  setArchived,
  setReaction,
} from "./messages.ts";
import { toChannel, toFullMember, toGuildCreate, toRole } from "./payloads.ts";
import type { Access, ChannelRecord, MemberRecord } from "./records.ts";
import type { State } from "./state.ts";
import { createThread, dmWith } from "./threads.ts";

export interface SayOptions {
  readonly replyTo?: string;
  /** Whether a reply pings its addressee, as it does by default. */
  readonly ping?: boolean;
  readonly files?: readonly FileDraft[];
  readonly embeds?: readonly APIEmbed[];
  /** Fields as the service sends them, in place of the others. */
  readonly raw?: object;
}

export interface CommandCall {
  readonly id: string;
  /** The answers so far, the first one first. */
  responses(): CommandAnswer[];
}

const EVERYONE_MAY =
  PermissionFlagsBits.ViewChannel |
  PermissionFlagsBits.SendMessages |
  PermissionFlagsBits.SendMessagesInThreads |
  PermissionFlagsBits.ReadMessageHistory |
  PermissionFlagsBits.AddReactions |
  PermissionFlagsBits.AttachFiles |
  PermissionFlagsBits.EmbedLinks |
  PermissionFlagsBits.CreatePublicThreads |
  PermissionFlagsBits.UseApplicationCommands;

export class World {
  readonly #state: State;

  constructor(state: State) {
    this.#state = state;
  }

  /** The bot's user id, which is also its application's. */
  get botId(): string {
    return this.#state.bot.id;
  }

  addUser(user: { name: string; globalName?: string; isBot?: boolean }): string {
    const id = this.#state.ids.next();
    const { name, globalName = null, isBot = false } = user;
    this.#state.users.set(id, { id, name, globalName, isBot });
    return id;
  }

  /** Adds a server with the bot in it, and notifies connected clients. @param guild shard: the one that reports it, of `of` */
  addGuild(guild: { name: string; shard?: number; of?: number } = { name: "guild" }): string {
    const { shard = 0, of = 1 } = guild;
    const id = this.#state.ids.nextOf(shard, of);
    const everyone = { id, name: "@everyone", permissions: EVERYONE_MAY, botId: null };
    const roles = new Map([[id, everyone]]);
    const members = new Map<string, MemberRecord>();
    const emojis = new Map<string, string>();
    const record = { id, name: guild.name, ownerId: id, roles, members, emojis };
    this.#state.guilds.set(id, record);
    this.#memberOf(id, this.botId);
    const data = toGuildCreate(this.#state, record);
    this.#emitGuilds("GUILD_CREATE", data);
    return id;
  }

  /** The bot is removed, or with `isOutage` the server is unavailable for now. */
  removeGuild(guildId: string, options: { isOutage?: boolean } = {}): void {
    const { isOutage = false } = options;
    if (!isOutage) this.#state.guilds.delete(guildId);
    this.#emitGuilds("GUILD_DELETE", { id: guildId, ...(isOutage ? { unavailable: true } : {}) });
  }

  /** Adds an emoji of a guild's own. @returns its id */
  addEmoji(guildId: string, name: string): string {
    const id = this.#state.ids.next();
    this.#state.guild(guildId).emojis.set(name, id);
    return id;
  }

  addChannel(channel: { guild: string; name: string; parent?: string }): string {
    const record: ChannelRecord = {
      id: this.#state.ids.next(),
      type: ChannelType.GuildText,
      name: channel.name,
      guildId: channel.guild,
      parentId: channel.parent ?? null,
      recipientId: null,
      thread: null,
      access: "all",
      messageIds: [],
    };
    this.#state.channels.set(record.id, record);
    this.#emitGuilds("CHANNEL_CREATE", toChannel(this.#state, record));
    return record.id;
  }

  renameChannel(channelId: string, name: string): void {
    const channel = this.#state.channel(channelId);
    channel.name = name;
    this.#emitGuilds(channel.thread ? "THREAD_UPDATE" : "CHANNEL_UPDATE", toChannel(this.#state, channel));
  }

  /** Removes a channel or a thread with its messages. @param isTold false: its event is lost */
  removeChannel(channelId: string, isTold = true): void {
    const channel = this.#state.channel(channelId);
    for (const id of channel.messageIds) this.#state.messages.delete(id);
    this.#state.channels.delete(channelId);
    if (isTold)
      this.#emitGuilds(channel.thread ? "THREAD_DELETE" : "CHANNEL_DELETE", toChannel(this.#state, channel));
  }

  /** Hides it from the bot, whose client is notified of a deletion although it still exists. */
  hideChannel(channelId: string): void {
    const channel = this.#state.channel(channelId);
    channel.access = "none";
    this.#emitGuilds("CHANNEL_DELETE", toChannel(this.#state, channel));
  }

  /** @param options isBots: the bot's own role */
  addRole(guildId: string, name: string, options: { isBots?: boolean } = {}): string {
    const id = this.#state.ids.next();
    const botId = options.isBots === true ? this.botId : null;
    const role = { id, name, permissions: 0n, botId };
    this.#state.guild(guildId).roles.set(id, role);
    this.#emitGuilds("GUILD_ROLE_CREATE", { guild_id: guildId, role: toRole(role) });
    return id;
  }

  /** A guild's speakers are members already; this sets a nick and roles. */
  setMember(
    guildId: string,
    userId: string,
    change: { nick?: string | null; roles?: readonly string[] },
  ): void {
    const member = this.#memberOf(guildId, userId);
    if (change.nick !== undefined) member.nick = change.nick;
    if (change.roles !== undefined) member.roles = change.roles;
    const data = { guild_id: guildId, ...toFullMember(this.#state, member) };
    this.#state.emit({ t: "GUILD_MEMBER_UPDATE", intent: GatewayIntentBits.GuildMembers, data: () => data });
  }

  /**
   * Sets the bot's access. `none`: 50001, and no events; `read`: 50013 for a post; `no_history`: empty pages, and
   * 160002 for a reply.
   */
  setAccess(channelId: string, access: Access): void {
    const channel = this.#state.channel(channelId);
    channel.access = access;
    for (const each of this.#state.channels.values()) if (each.parentId === channelId) each.access = access;
    if (channel.thread === null) this.#emitGuilds("CHANNEL_UPDATE", toChannel(this.#state, channel));
  }

  denyAccess(channelId: string): void {
    this.setAccess(channelId, "none");
  }

  /** @returns the message's id */
  say(userId: string, channelId: string, text: string, options: SayOptions = {}): string {
    const channel = this.#state.channel(channelId);
    if (channel.guildId !== null) this.#memberOf(channel.guildId, userId);
    const id = this.#state.ids.next();
    const files = (options.files ?? []).map((file) => storeFile(this.#state, channelId, id, file));
    const isQuiet = options.ping === false;
    postMessage(this.#state, {
      id,
      channelId,
      authorId: userId,
      content: text,
      files,
      embeds: options.embeds ?? [],
      raw: options.raw ?? {},
      replyTo: options.replyTo ?? null,
      allowedMentions: isQuiet ? { parse: ["users", "roles", "everyone"], replied_user: false } : null,
    });
    return id;
  }

  edit(messageId: string, text: string): void {
    editMessage(this.#state, this.#state.message(messageId), { content: text });
  }

  /** An edit whose event has only the text and the time, without the author and all else. */
  editPartially(messageId: string, text: string): void {
    const message = this.#state.message(messageId);
    message.content = text;
    message.editedAt = new Date().toISOString();
    emitPartialUpdate(this.#state, message, { content: text, edited_timestamp: message.editedAt });
  }

  /** Seconds after a link was posted: embeds arrive, the text stays, and nothing was edited. */
  unfurl(messageId: string, options: { isPartial?: boolean } = {}): void {
    const message = this.#state.message(messageId);
    message.embeds = [{ type: EmbedType.Rich, title: "A page", description: "What the link leads to" }];
    if (options.isPartial === true) emitPartialUpdate(this.#state, message, { embeds: message.embeds });
    else emitMessage(this.#state, "MESSAGE_UPDATE", message);
  }

  remove(messageId: string): void {
    const channel = this.#state.channel(this.#state.message(messageId).channelId);
    deleteMessages(this.#state, channel, [messageId], false);
  }

  removeMany(channelId: string, messageIds: readonly string[]): void {
    deleteMessages(this.#state, this.#state.channel(channelId), messageIds, true);
  }

  react(userId: string, messageId: string, emoji: string): void {
    setReaction(this.#state, this.#state.message(messageId), userId, emoji, true);
  }

  unreact(userId: string, messageId: string, emoji: string): void {
    setReaction(this.#state, this.#state.message(messageId), userId, emoji, false);
  }

  /** A moderator removes everybody's reactions with an emoji, or all. */
  clearReactions(messageId: string, emoji?: string): void {
    clearReactions(this.#state, this.#state.message(messageId), emoji);
  }

  openThread(channelId: string, options: { name: string; owner: string; fromMessage?: string }): string {
    const { name, owner: ownerId, fromMessage } = options;
    return createThread(this.#state, this.#state.channel(channelId), { name, ownerId, fromMessage }).id;
  }

  /** A moderator archives a thread, in which only moderators can write from then on. */
  lock(threadId: string, isLocked = true): void {
    const channel = this.#state.channel(threadId);
    if (channel.thread !== null) channel.thread.isLocked = isLocked;
    setArchived(this.#state, channel, isLocked);
  }

  /** A channel becomes a forum: its threads stay, and it takes no messages of its own. */
  toForum(channelId: string): void {
    const channel = this.#state.channel(channelId);
    channel.type = ChannelType.GuildForum;
    this.#emitGuilds("CHANNEL_UPDATE", toChannel(this.#state, channel));
  }

  /** A person's post in a forum: a thread that begins with a message of its own id. */
  openPost(userId: string, forumId: string, name: string, text: string): string {
    const thread = createThread(this.#state, this.#state.channel(forumId), { name, ownerId: userId });
    postMessage(this.#state, { id: thread.id, channelId: thread.id, authorId: userId, content: text });
    return thread.id;
  }

  archive(threadId: string): void {
    setArchived(this.#state, this.#state.channel(threadId), true);
  }

  /**
   * The DM of a person and the bot.
   * @param options isAnnounced: sends CHANNEL_CREATE, which the real service stopped doing for bots with v8
   */
  openDm(userId: string, options: { isAnnounced?: boolean } = {}): string {
    const channel = dmWith(this.#state, userId);
    const data = toChannel(this.#state, channel);
    if (options.isAnnounced === true) this.#state.emit({ t: "CHANNEL_CREATE", intent: 0, data: () => data });
    return channel.id;
  }

  /**
   * A person calls a chat-input command.
   * @throws Error if the bot did not register it, so that nobody could call it
   */
  command(userId: string, channelId: string, name: string, options: CommandOptions = {}): CommandCall {
    const channel = this.#state.channel(channelId);
    if (channel.guildId !== null) this.#memberOf(channel.guildId, userId);
    const { id } = invokeCommand(this.#state, { userId, channel, name, options });
    return { id, responses: () => this.responses(id) };
  }

  /**
   * A person presses a button of a message, by its label.
   * @param customId of a former button of the message
   * @throws Error if it has no such button
   */
  press(userId: string, messageId: string, label: string, customId?: string): CommandCall {
    const message = this.#state.message(messageId);
    const channel = this.#state.channel(message.channelId);
    if (channel.guildId !== null) this.#memberOf(channel.guildId, userId);
    const { id } =
      customId === undefined
        ? pressButton(this.#state, { userId, channel, message, label })
        : sendPress(this.#state, { userId, channel, message, customId });
    return { id, responses: () => this.responses(id) };
  }

  /** The title and the label of the form that an interaction has opened; null: none yet. */
  form(interactionId: string): { readonly title: string; readonly label: string } | null {
    return this.#state.interactions.get(interactionId)?.modal ?? null;
  }

  /** Whoever was shown the form of an interaction sends it with these words. */
  sendForm(interactionId: string, words: string): CommandCall {
    const { id } = sendModal(this.#state, interactionId, words);
    return { id, responses: () => this.responses(id) };
  }

  /** The messages that a channel shows, oldest first. */
  messages(channelId: string): { readonly id: string; readonly content: string }[] {
    return this.#state
      .channel(channelId)
      .messageIds.map((id) => this.#state.message(id))
      .map((message) => ({ id: message.id, content: wordsIn(message) }));
  }

  /** The buttons of a message, by their labels. */
  buttons(messageId: string): ReadonlyMap<string, string> {
    const all = buttonsIn(this.#state.message(messageId));
    return new Map(all.map((one) => [one.label ?? "", one.custom_id]));
  }

  /** The answers to an interaction so far. */
  responses(interactionId: string): CommandAnswer[] {
    return answersTo(this.#state, interactionId);
  }

  #memberOf(guildId: string, userId: string): MemberRecord {
    const { members } = this.#state.guild(guildId);
    const member = members.get(userId) ?? {
      userId,
      joinedAt: new Date().toISOString(),
      nick: null,
      roles: [],
    };
    members.set(userId, member);
    return member;
  }

  #emitGuilds(t: string, data: object): void {
    this.#state.emit({ t, intent: GatewayIntentBits.Guilds, data: () => data });
  }
}
