/**
 * Discord: its gateway, its REST API, and the conversion of messages in both directions. The room knows the platform
 * interfaces and `platforms/intake`; it reaches the log only through the inbox and ledger that it is given.
 */

import type { DiscordConfig } from "./row.ts";
import type { AdapterParts } from "../row.ts";
import type { ChannelAddress } from "../../core/ids.ts";
import { Cache } from "../../async/cache.ts";
import { BoundedMap } from "../../async/bounded-map.ts";
import type { OutboundMessage, Server } from "../../core/message.ts";
import { unlessAborted } from "../../async/deadline.ts";
import {
  type CatchUpLedger,
  type ConnectionState,
  type Gap,
  type LinkedChannel,
  notConnectedYet,
  type Platform,
  type PlatformCapabilities,
  type PlatformInbox,
  type Transcripts,
} from "../platform.ts";
import { DiscordApi, PLATFORM_NAME, parsed } from "./rest/api.ts";
import { Directory } from "./rest/directory.ts";
import { listGuilds } from "./rest/guilds.ts";
import { DiscordHistory } from "./rest/history.ts";
import { isSnowflake } from "./snowflake.ts";
import { People } from "./rest/people.ts";
import { Poster } from "./outbound/poster.ts";
import { MessageReader } from "./inbound/reader.ts";
import { counted } from "../../text/text.ts";
import { BotIdentity } from "./gateway/bot-identity.ts";
import { Logins } from "./gateway/logins.ts";
import type { IntakeParts } from "./gateway/shard-intake.ts";
import { Shards } from "./gateway/shards.ts";
import { LocalShards, type ShardHomes } from "../shared/shard-homes.ts";
import { SlashCommands } from "./inbound/slash-commands.ts";
import { DISCORD_TIMING, type DiscordTiming } from "./timing.ts";
import { Routes } from "discord.js";
import { z } from "zod";

export interface DiscordOptions extends AdapterParts {
  readonly config: DiscordConfig;
  /** Default: the wall clock. */
  readonly now?: () => Date;
  /** For tests. */
  readonly timing?: Partial<DiscordTiming>;
}

/** Discord accepts 2,000 characters: the rest is for mentions and tables. */
const MAX_TEXT_LENGTH = 1900;
const MAX_LAST_MESSAGES = 10_000;
const opened = z.object({ id: z.string() });

/** Discord through its gateway and REST API. */
export function createDiscord(options: DiscordOptions): Platform {
  return new DiscordPlatform(options);
}

class DiscordPlatform implements Platform {
  readonly name = PLATFORM_NAME;
  readonly capabilities: PlatformCapabilities;
  readonly #options: DiscordOptions;
  readonly #timing: DiscordTiming;
  readonly #shardHomes: ShardHomes;
  readonly #api: DiscordApi;
  readonly #identity: BotIdentity;
  readonly #directory: Directory;
  readonly #people: People;
  /** Each channel's last message id: an answer to that message needs no reference. */
  readonly #lastMessages = new BoundedMap<string>(MAX_LAST_MESSAGES);
  readonly #reader: MessageReader;
  readonly #poster: Poster;
  readonly #logins: Logins;
  #commands: SlashCommands | null = null;
  #inbox: PlatformInbox | null = null;
  #shards: Shards | null = null;

  constructor(options: DiscordOptions) {
    const { config, log, shardHomes = new LocalShards() } = options;
    const timing = { ...DISCORD_TIMING, ...options.timing };
    const { token, apiUrl } = config;
    const api = new DiscordApi({ token, apiUrl, timing, members: () => shardHomes.members() });
    const identity = new BotIdentity(api);
    const directory = new Directory(api);
    const people = new People(api);
    const lastMessages = this.#lastMessages;
    this.#options = options;
    this.#timing = timing;
    this.#shardHomes = shardHomes;
    this.#logins = new Logins(api, shardHomes, timing, apiUrl);
    this.#api = api;
    this.#identity = identity;
    this.#directory = directory;
    this.#people = people;
    const transcripts = (): Transcripts | undefined => this.#inbox?.transcripts;
    this.#reader = new MessageReader({ directory, people, apiUrl, transcripts, log });
    this.#poster = new Poster({ api, identity, directory, people, lastMessages, timing, log });
    this.capabilities = {
      streaming: { intervalMs: timing.streamMs },
      takesIdempotencyKeys: true,
      maxTextLength: MAX_TEXT_LENGTH,
      hasTextCommands: true,
      isProportional: true,
      drawsCards: true,
      drawsActions: true,
      takesFiles: true,
      serves: (channel) => channel.platform === PLATFORM_NAME,
    };
  }

  /** Resolves after the first attempt to connect. Failures are logged and retried. */
  async start(inbox: PlatformInbox, ledger: CatchUpLedger): Promise<void> {
    this.#inbox = inbox;
    const { config, log, commands: listed, now = () => new Date() } = this.#options;
    const [api, reader, timing, logins] = [this.#api, this.#reader, this.#timing, this.#logins];
    const commands = new SlashCommands({ api, inbox, commands: listed, reader, log });
    this.#commands = commands;
    const servers = new Cache<readonly Server[]>(1);
    const gaps = new Cache<readonly Gap[]>(2);
    const shared: IntakeParts = {
      config,
      inbox,
      ledger,
      api,
      identity: this.#identity,
      history: new DiscordHistory({ api, reader, identity: this.#identity }),
      directory: this.#directory,
      servers: async () => servers.get("", async () => ({ value: await listGuilds(api), forMs: 0 })),
      openGaps: async (which) =>
        gaps.get(which, async () => ({ value: await ledger.openGaps(PLATFORM_NAME, which), forMs: 0 })),
      people: this.#people,
      lastMessages: this.#lastMessages,
      reader,
      commands,
      logins,
      homes: this.#shardHomes,
      timing,
      log,
      now,
    };
    this.#shards = new Shards(shared, config.shards);
    await this.#shards.start();
  }

  async stopIntake(deadline: AbortSignal): Promise<void> {
    await this.#shards?.stop(deadline);
    if (this.#commands !== null) await unlessAborted(this.#commands.idle(), deadline);
  }

  async send(message: OutboundMessage): Promise<string> {
    return await this.#poster.send(message);
  }

  async edit(messageId: string, message: OutboundMessage): Promise<void> {
    await this.#poster.edit(messageId, message);
  }

  async remove(channel: ChannelAddress, messageId: string): Promise<void> {
    await this.#poster.remove(channel, messageId);
  }

  async react(channel: ChannelAddress, messageId: string, emoji: string): Promise<void> {
    await this.#poster.react(channel, messageId, emoji);
  }

  /** Discord creates a missing one. */
  async directChannel(person: string): Promise<ChannelAddress> {
    const body = { recipient_id: person };
    const answer = await this.#api.call({ method: "POST", route: Routes.userChannels(), body });
    return { platform: PLATFORM_NAME, name: parsed(opened, answer).id };
  }

  async linkTo(channel: LinkedChannel, messageId: string): Promise<string | null> {
    return linkTo(channel, messageId);
  }

  showTyping(channel: ChannelAddress, _inReplyTo: readonly string[], isWorking: boolean): void {
    this.#poster.showTyping(channel, isWorking);
  }

  connection(): ConnectionState {
    const state = this.#shards?.state ?? notConnectedYet();
    const bot = this.#identity.known;
    if (state.kind !== "connected" || bot === null) return state;
    const place = `${bot.user.username} in ${counted(this.#directory.servers, "server")}`;
    return { ...state, as: state.as === undefined ? place : `${place}, ${state.as}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopIntake(AbortSignal.abort());
    this.#api[Symbol.dispose]();
  }
}

/** A message's address in Discord; null: the id is not a message's, but such as a reaction's. Pure. */
export function linkTo({ address, workspace, place }: LinkedChannel, messageId: string): string | null {
  if (!isSnowflake(messageId)) return null;
  // A thread's root message has the thread's id, and is in the parent channel.
  const parent = place?.parent?.id;
  const channel = messageId === address.name && parent !== undefined ? parent : address.name;
  return `https://discord.com/channels/${workspace === "" ? "@me" : workspace}/${channel}/${messageId}`;
}
