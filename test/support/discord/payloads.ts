import {
  ApplicationFlags,
  ChannelType,
  ForumLayoutType,
  OverwriteType,
  PermissionFlagsBits,
  ThreadAutoArchiveDuration,
  type APIChannel,
  type APIOverwrite,
  type APIThreadChannel,
  type APIUser,
} from "discord.js";

import type { Access, ChannelRecord, GuildRecord, MemberRecord, RoleRecord, UserRecord } from "./records.ts";
import type { State } from "./state.ts";

export function toUser(user: UserRecord): APIUser {
  return {
    id: user.id,
    username: user.name,
    global_name: user.globalName,
    discriminator: "0",
    avatar: null,
    ...(user.isBot ? { bot: true } : {}),
  };
}

/** A member without its user, as messages carry it. */
export function toMember(member: MemberRecord): object {
  return {
    nick: member.nick,
    roles: [...member.roles],
    joined_at: member.joinedAt,
    premium_since: null,
    avatar: null,
    deaf: false,
    mute: false,
    pending: false,
    flags: 0,
  };
}

export function toFullMember(state: State, member: MemberRecord): object {
  return { ...toMember(member), user: toUser(state.user(member.userId)) };
}

export function toRole(role: RoleRecord): object {
  return {
    id: role.id,
    name: role.name,
    permissions: String(role.permissions),
    color: 0,
    colors: { primary_color: 0, secondary_color: null, tertiary_color: null },
    hoist: false,
    position: 0,
    managed: role.botId !== null,
    mentionable: true,
    flags: 0,
    ...(role.botId === null ? {} : { tags: { bot_id: role.botId } }),
  };
}

export function toChannel(state: State, channel: ChannelRecord): APIChannel {
  const common = { id: channel.id, last_message_id: channel.messageIds.at(-1) ?? null };
  if (channel.guildId === null) {
    const recipients = channel.recipientId === null ? [] : [toUser(state.user(channel.recipientId))];
    return { ...common, type: ChannelType.DM, name: null, recipients };
  }
  if (channel.thread !== null) return toThread(state, channel);
  const text: APIChannel = {
    ...common,
    type: ChannelType.GuildText,
    guild_id: channel.guildId,
    name: channel.name,
    position: 0,
    nsfw: false,
    topic: null,
    parent_id: channel.parentId,
    permission_overwrites: overwritesOf(channel, channel.guildId),
    rate_limit_per_user: 0,
  };
  if (channel.type !== ChannelType.GuildForum) return text;
  return {
    ...text,
    type: ChannelType.GuildForum,
    available_tags: [],
    default_reaction_emoji: null,
    default_sort_order: null,
    default_forum_layout: ForumLayoutType.NotSet,
  };
}

export function toThread(state: State, channel: ChannelRecord): APIThreadChannel {
  const { thread } = channel;
  return {
    id: channel.id,
    type: ChannelType.PublicThread,
    name: channel.name,
    last_message_id: channel.messageIds.at(-1) ?? null,
    ...(channel.guildId === null ? {} : { guild_id: channel.guildId }),
    ...(channel.parentId === null ? {} : { parent_id: channel.parentId }),
    owner_id: thread?.ownerId ?? state.bot.id,
    message_count: channel.messageIds.length,
    total_message_sent: channel.messageIds.length,
    member_count: 1,
    rate_limit_per_user: 0,
    thread_metadata: {
      archived: thread?.isArchived ?? false,
      archive_timestamp: thread?.archivedAt ?? new Date().toISOString(),
      auto_archive_duration: ThreadAutoArchiveDuration.OneDay,
      locked: thread?.isLocked ?? false,
    },
  };
}

export function toGuild(guild: GuildRecord): object {
  return {
    id: guild.id,
    name: guild.name,
    owner_id: guild.ownerId,
    roles: [...guild.roles.values()].map(toRole),
    emojis: [],
    stickers: [],
    features: [],
    icon: null,
    splash: null,
    discovery_splash: null,
    banner: null,
    description: null,
    afk_channel_id: null,
    afk_timeout: 300,
    verification_level: 0,
    default_message_notifications: 1,
    explicit_content_filter: 0,
    mfa_level: 0,
    application_id: null,
    system_channel_id: null,
    system_channel_flags: 0,
    rules_channel_id: null,
    vanity_url_code: null,
    premium_tier: 0,
    preferred_locale: "en-US",
    public_updates_channel_id: null,
    nsfw_level: 0,
    premium_progress_bar_enabled: false,
    hub_type: null,
    safety_alerts_channel_id: null,
    incidents_data: null,
    region: "",
  };
}

/** The application's flags, with the permission for the message content intent. */
export function applicationFlags(state: State): number {
  return state.options.allowsMessageContent ? ApplicationFlags.GatewayMessageContentLimited : 0;
}

/** The data of GUILD_CREATE. Without the members intent, the bot is the only member. */
export function toGuildCreate(state: State, guild: GuildRecord): object {
  const channels = state.guildChannels(guild.id);
  const self = guild.members.get(state.bot.id);
  return {
    ...toGuild(guild),
    joined_at: self?.joinedAt ?? new Date().toISOString(),
    large: false,
    unavailable: false,
    member_count: guild.members.size,
    members: self === undefined ? [] : [toFullMember(state, self)],
    channels: channels
      .filter((channel) => channel.thread === null)
      .map((channel) => toChannel(state, channel)),
    threads: channels
      .filter((channel) => channel.thread?.isArchived === false && channel.access !== "none")
      .map((channel) => toThread(state, channel)),
    voice_states: [],
    presences: [],
    stage_instances: [],
    guild_scheduled_events: [],
    soundboard_sounds: [],
  };
}

const DENIED: Readonly<Record<Exclude<Access, "all">, bigint>> = {
  no_history: PermissionFlagsBits.ReadMessageHistory,
  no_embeds: PermissionFlagsBits.EmbedLinks,
  read: PermissionFlagsBits.SendMessages,
  none: PermissionFlagsBits.ViewChannel,
};

function overwritesOf(channel: ChannelRecord, guildId: string): APIOverwrite[] {
  if (channel.access === "all") return [];
  const deny = String(DENIED[channel.access]);
  return [{ id: guildId, type: OverwriteType.Role, allow: "0", deny }];
}
