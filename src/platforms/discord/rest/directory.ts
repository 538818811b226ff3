import { ChannelType, PermissionFlagsBits, Routes } from "discord.js";
import { BoundedMap } from "../../../async/bounded-map.ts";
import { Cache } from "../../../async/cache.ts";
import type { ChannelOnPlatform, ChannelPrivacy } from "../../../core/message.ts";
import { displayName } from "../../../text/text.ts";
import { PlatformError } from "../../platform.ts";
import { type DiscordApi, PLATFORM_NAME } from "./api.ts";
import {
  activeThreadsPayload,
  type ChannelPayload,
  channelPayload,
  channelsPayload,
  guildLeftPayload,
  type GuildPayload,
  guildPayload,
  isThreadType,
  privacyPayload,
  readyPayload,
  roleGonePayload,
  rolePayload,
  threadsPayload,
} from "../inbound/payload.ts";

interface Guild {
  readonly name: string;
  readonly roles: Map<string, GuildPayload["roles"][number]>;
}

interface ChannelInfo {
  readonly id: string;
  readonly type: number;
  readonly name: string;
  /** "": a DM. */
  readonly guildId: string;
  readonly parentId: string | null;
  /** Undefined: not reported. */
  readonly overwrites: ChannelPayload["permission_overwrites"];
}

/** Events after which other people may see a channel. */
const TELL_PRIVACY: ReadonlySet<string> = new Set([
  "GUILD_CREATE",
  "GUILD_UPDATE",
  "GUILD_ROLE_UPDATE",
  "CHANNEL_CREATE",
  "CHANNEL_UPDATE",
  "CHANNEL_DELETE",
]);

/** Maximum remembered threads, and DMs. Servers and channels have no limit. */
const MAX_REMEMBERED = 10_000;
const MAX_ASKING = 1000;

/** Names of servers, channels, threads and roles, from the gateway; missing names are fetched. */
export class Directory {
  readonly #api: DiscordApi;
  readonly #guilds = new Map<string, Guild>();
  /** All servers that the bot is in, by id; some names may be unknown yet. */
  readonly #joined = new Set<string>();
  readonly #channels = new Map<string, ChannelInfo>();
  readonly #threads = new BoundedMap<ChannelInfo>(MAX_REMEMBERED);
  readonly #dms = new BoundedMap<ChannelInfo>(MAX_REMEMBERED);
  /** Calls under way. */
  readonly #asking = new Cache<ChannelInfo | null>(MAX_ASKING);
  readonly #askingGuild = new Cache<void>(MAX_ASKING);
  /** Servers whose channels are all known. */
  readonly #whole = new Set<string>();
  /** Servers that the gateway reported: their messages were heard from then on. */
  readonly #told = new Set<string>();

  constructor(api: DiscordApi) {
    this.#api = api;
  }

  get servers(): number {
    return this.#joined.size;
  }

  /**
   * Learns from the gateway's events of places; ignores all other events.
   * @param isOfShard whether a server's events come over the connection that reported it
   */
  learn(t: string, d: unknown, isOfShard: (guildId: string) => boolean): void {
    switch (t) {
      case "READY":
        return this.#ready(d, isOfShard);
      case "GUILD_CREATE":
      case "GUILD_UPDATE": {
        // An unavailable server is reported with its id alone.
        if (guildLeftPayload.parse(d).unavailable === true) return;
        const guild = guildPayload.parse(d);
        this.#setGuild(guild);
        if (t === "GUILD_UPDATE") return;
        this.#whole.add(guild.id);
        this.#told.add(guild.id);
        return;
      }
      case "GUILD_DELETE": {
        const { id, unavailable } = guildLeftPayload.parse(d);
        if (unavailable !== true) this.#forgetGuild(id);
        return;
      }
      case "GUILD_ROLE_CREATE":
      case "GUILD_ROLE_UPDATE": {
        const { guild_id: guildId, role } = rolePayload.parse(d);
        this.#guilds.get(guildId)?.roles.set(role.id, role);
        return;
      }
      case "GUILD_ROLE_DELETE": {
        const { guild_id: guildId, role_id: roleId } = roleGonePayload.parse(d);
        this.#guilds.get(guildId)?.roles.delete(roleId);
        return;
      }
      case "THREAD_LIST_SYNC": {
        const { guild_id: guildId, threads } = threadsPayload.parse(d);
        for (const thread of threads) this.#setChannel(thread, guildId);
        return;
      }
      case "CHANNEL_CREATE":
      case "CHANNEL_UPDATE":
      case "THREAD_CREATE":
      case "THREAD_UPDATE":
        this.#setChannel(channelPayload.parse(d));
        return;
      case "CHANNEL_DELETE":
      case "THREAD_DELETE": {
        const { id } = channelPayload.parse(d);
        this.#channels.delete(id);
        this.#threads.delete(id);
        return;
      }
      default:
    }
  }

  /** The bot is in these servers, although a resumed gateway does not report them. */
  join(guildIds: Iterable<string>): void {
    for (const id of guildIds) this.#joined.add(id);
  }

  /** Forgets all servers of a connection that another daemon has taken over, or had: their changes are not reported here. */
  unhear(isOfShard: (guildId: string) => boolean): void {
    const known = new Set([...this.#told, ...this.#guilds.keys(), ...this.#joined, ...this.#whole]);
    for (const id of known) if (isOfShard(id)) this.#forgetGuild(id);
    // A separately fetched channel may be of an unknown server.
    for (const { id, guildId } of this.#channels.values()) if (isOfShard(guildId)) this.#channels.delete(id);
    for (const [id, { guildId }] of this.#threads.entries())
      if (guildId !== "" && isOfShard(guildId)) this.#threads.delete(id);
  }

  /** Whether the gateway reports a channel's messages, and so its people. A DM's person is always known. */
  isHeard(guildId: string): boolean {
    return guildId === "" || this.#told.has(guildId);
  }

  /** A channel's known data, without a call. */
  known(id: string): ChannelInfo | undefined {
    return this.#channels.get(id) ?? this.#threads.get(id) ?? this.#dms.get(id);
  }

  /**
   * The channel of a message; null: a kind of channel that Weir ignores.
   * @param guildId undefined: the channel is a DM
   * @param person the person if it is a DM
   * @throws PlatformError if a call is needed and fails temporarily
   */
  async where(
    id: string,
    guildId: string | undefined,
    person?: { readonly name: string; readonly channelType: number | undefined },
  ): Promise<ChannelOnPlatform | null> {
    if (guildId === undefined) return this.#dm(id, person);
    const info = this.known(id) ?? (await this.#ask(id));
    await this.meetGuild(guildId);
    const base = { channel: { platform: PLATFORM_NAME, name: id }, workspace: guildId };
    const workspace = this.#guilds.get(guildId)?.name ?? "";
    // Not visible to the bot, or not fetchable: a channel without a name.
    if (info === null) return { ...base, kind: "channel", place: { workspace, channel: "", parent: null } };
    if (!isThreadType(info.type))
      return {
        ...base,
        kind: "channel",
        place: { workspace, channel: info.name, parent: null },
        ...this.#privacyOf(info),
      };
    const parent = await this.#parent(info);
    return { ...base, kind: "thread", place: { workspace, channel: info.name, parent } };
  }

  /** Like {@link known}; fetches an unknown channel. @returns undefined: there is none, or it cannot be fetched now */
  async find(id: string): Promise<ChannelInfo | undefined> {
    const known = this.known(id);
    if (known !== undefined) return known;
    try {
      return (await this.#ask(id)) ?? undefined;
    } catch (error) {
      if (error instanceof PlatformError) return undefined;
      throw error;
    }
  }

  /**
   * The server whose channels must be fetched before `toldBy` can handle an event: a resumed connection does not report
   * its servers. Null: none.
   */
  lacking(t: string, d: unknown): string | null {
    if (!TELL_PRIVACY.has(t) || t === "GUILD_CREATE" || t === "CHANNEL_DELETE") return null;
    const { id, guild_id: guildId } = privacyPayload.parse(d);
    const guild = t === "GUILD_UPDATE" ? id : guildId;
    return guild === undefined || this.#whole.has(guild) ? null : guild;
  }

  /** Fetches the data that GUILD_CREATE would report of a server. @throws a retryable PlatformError */
  async meetWhole(guildId: string): Promise<void> {
    if (guildId === "" || this.#whole.has(guildId)) return;
    await this.meetGuild(guildId);
    const [channels, active] = await Promise.all([
      this.#api.find(Routes.guildChannels(guildId), channelsPayload),
      this.#api.find(Routes.guildActiveThreads(guildId), activeThreadsPayload),
    ]);
    // The gateway's data, reported meanwhile, is newer.
    if (this.#whole.has(guildId)) return;
    for (const channel of [...(channels ?? []), ...(active?.threads ?? [])])
      this.#setChannel(channel, guildId);
    this.#whole.add(guildId);
  }

  /** The privacy of channels that an event reports: of one, or of all of its server. */
  toldBy(t: string, d: unknown): ChannelPrivacy[] {
    if (!TELL_PRIVACY.has(t)) return [];
    const { id, guild_id: guildId } = privacyPayload.parse(d);
    // A channel that the bot can no longer see is reported as deleted, too.
    if (t === "CHANNEL_DELETE")
      return [{ channel: { platform: PLATFORM_NAME, name: id ?? "" }, isPrivate: true }];
    const told =
      t === "CHANNEL_CREATE" || t === "CHANNEL_UPDATE"
        ? [this.#channels.get(id ?? "")]
        : [...this.#channels.values()].filter((channel) => channel.guildId === (guildId ?? id));
    return told.flatMap((info) => {
      const isPrivate = info && this.#privacyOf(info).isPrivate;
      return isPrivate === undefined
        ? []
        : [{ channel: { platform: PLATFORM_NAME, name: info?.id ?? "" }, isPrivate }];
    });
  }

  /** Private: some members of the server cannot see it. */
  #privacyOf({ guildId, overwrites }: ChannelInfo): { readonly isPrivate?: boolean } {
    // The everyone role has the id of its server.
    const permissions = this.#guilds.get(guildId)?.roles.get(guildId)?.permissions;
    if (permissions === undefined || overwrites === undefined) return {};
    const ofAll = overwrites.find(({ id }) => id === guildId);
    return { isPrivate: !isSeenByAll(permissions, ofAll) };
  }

  /**
   * Resolves when a server's roles are known, or can no longer become known. The gateway sends them some time after
   * READY.
   * @throws PlatformError if a call is needed and fails temporarily
   */
  async meetGuild(guildId: string): Promise<void> {
    if (guildId === "" || this.#guilds.has(guildId)) return;
    await this.#askingGuild.get(guildId, async () => ({ value: await this.#fetchGuild(guildId), forMs: 0 }));
  }

  roleName(guildId: string | undefined, roleId: string): string | undefined {
    return this.#guilds.get(guildId ?? "")?.roles.get(roleId)?.name;
  }

  /** True: Discord made the role for this bot. */
  isRoleOf(botId: string, guildId: string | undefined, roleId: string): boolean {
    return this.#guilds.get(guildId ?? "")?.roles.get(roleId)?.tags?.bot_id === botId;
  }

  #dm(
    id: string,
    person: { readonly name: string; readonly channelType: number | undefined } | undefined,
  ): ChannelOnPlatform | null {
    if (person?.channelType === ChannelType.GroupDM) return null;
    const name = person?.name ?? this.#dms.get(id)?.name ?? "";
    this.#dms.set(id, { id, type: ChannelType.DM, name, guildId: "", parentId: null, overwrites: undefined });
    return {
      channel: { platform: PLATFORM_NAME, name: id },
      kind: "dm",
      workspace: "",
      ...(name !== "" && { place: { workspace: "", channel: name, parent: null } }),
    };
  }

  async #parent({ parentId }: ChannelInfo): Promise<{ id: string; name: string } | null> {
    if (parentId === null) return null;
    const parent = this.known(parentId) ?? (await this.#ask(parentId));
    return { id: parentId, name: parent?.name ?? "" };
  }

  async #ask(id: string): Promise<ChannelInfo | null> {
    return this.#asking.get(id, async () => {
      const channel = await this.#api.find(Routes.channel(id), channelPayload);
      return { value: channel === null ? null : this.#setChannel(channel), forMs: 0 };
    });
  }

  async #fetchGuild(id: string): Promise<void> {
    const guild = await this.#api.find(Routes.guild(id), guildPayload);
    // Data that the gateway sent meanwhile is newer.
    if (guild !== null && !this.#guilds.has(id)) this.#setGuild(guild);
  }

  #ready(d: unknown, isOfShard: (guildId: string) => boolean): void {
    const there = new Set(readyPayload.parse(d).guilds.map(({ id }) => id));
    for (const id of this.#joined) if (isOfShard(id)) this.#joined.delete(id);
    for (const id of there) this.#joined.add(id);
    for (const id of this.#guilds.keys()) if (isOfShard(id) && !there.has(id)) this.#forgetGuild(id);
  }

  #setGuild({ id, name, roles, channels = [], threads = [] }: GuildPayload): void {
    this.#joined.add(id);
    this.#guilds.set(id, { name: displayName(name), roles: new Map(roles.map((role) => [role.id, role])) });
    for (const channel of [...channels, ...threads]) this.#setChannel(channel, id);
  }

  #forgetGuild(id: string): void {
    this.#guilds.delete(id);
    this.#joined.delete(id);
    this.#whole.delete(id);
    this.#told.delete(id);
    for (const channel of this.#channels.values())
      if (channel.guildId === id) this.#channels.delete(channel.id);
  }

  #setChannel(channel: ChannelPayload, guildId = channel.guild_id ?? ""): ChannelInfo {
    const { id, type, parent_id: parentId, recipients = [] } = channel;
    const person = recipients[0];
    const name = channel.name ?? person?.global_name ?? person?.username ?? "";
    const info = {
      id,
      type,
      name: name === "" ? "" : displayName(name),
      guildId,
      parentId: parentId ?? null,
      overwrites: channel.permission_overwrites,
    };
    if (isThreadType(type)) this.#threads.set(id, info);
    else if (guildId === "") this.#dms.set(id, info);
    else this.#channels.set(id, info);
    return info;
  }
}

/** By the permissions of the everyone role, and the channel's overwrites. Pure. */
function isSeenByAll(
  permissions: string,
  overwrite: { readonly allow: string; readonly deny: string } | undefined,
): boolean {
  const has = (bits: string, flag: bigint): boolean => /^\d+$/.test(bits) && (BigInt(bits) & flag) !== 0n;
  const { Administrator, ViewChannel } = PermissionFlagsBits;
  if (has(permissions, Administrator)) return true;
  if (overwrite !== undefined && has(overwrite.allow, ViewChannel)) return true;
  return has(permissions, ViewChannel) && !(overwrite !== undefined && has(overwrite.deny, ViewChannel));
}
