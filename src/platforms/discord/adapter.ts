import type { Logger } from "pino";
import type { DiscordConfig } from "./row.ts";
import type { ChannelAddress } from "../../core/ids.ts";
import { BoundedMap } from "../../async/bounded-map.ts";
import type { OutboundMessage } from "../../core/message.ts";
import { unlessAborted } from "../../async/deadline.ts";
import { Connection, type Session } from "../shared/connection.ts";
import { Intake } from "../intake/intake.ts";
import {
  type CatchUpLedger,
  type ConnectionState,
  type LinkedChannel,
  notConnectedYet,
  type Platform,
  type PlatformCapabilities,
  type PlatformCommand,
  type PlatformInbox,
} from "../platform.ts";
import { DiscordApi, PLATFORM_NAME } from "./rest/api.ts";
import { directChannel } from "./rest/direct-channel.ts";
import { Directory } from "./rest/directory.ts";
import { DiscordEvents } from "./inbound/events.ts";
import { GatewaySession } from "./gateway/session.ts";
import { linkTo } from "./outbound/link.ts";
import { DiscordHistory } from "./rest/history.ts";
import { ReplayBuffer } from "./gateway/replay-buffer.ts";
import { listGuilds } from "./rest/guilds.ts";
import { placePayload, readyPayload } from "./inbound/payload.ts";
import { People } from "./rest/people.ts";
import { Poster } from "./outbound/poster.ts";
import { MessageReader } from "./inbound/reader.ts";
import { counted } from "../../text/text.ts";
import { type Bot, BotIdentity } from "./gateway/bot-identity.ts";
import { RecentActivity } from "./gateway/recent-activity.ts";
import { SlashCommands } from "./inbound/slash-commands.ts";
import { DISCORD_TIMING, type DiscordTiming } from "./timing.ts";

export interface DiscordOptions {
  readonly config: DiscordConfig;
  readonly log: Logger;
  /** Commands that Discord lists after a slash. */
  readonly commands: readonly PlatformCommand[];
  /** Default: the wall clock. */
  readonly now?: () => Date;
  /** For tests. */
  readonly timing?: Partial<DiscordTiming>;
}

/** Discord accepts 2,000 characters: the rest is for mentions and tables. */
const MAX_TEXT_LENGTH = 1900;
/** Channels whose last message is remembered. */
const MAX_LAST_MESSAGES = 10_000;

/** Discord through its gateway and REST API. */
export function createDiscord(options: DiscordOptions): Platform {
  return new DiscordPlatform(options);
}

/** A gateway event of a person's message or act. */
interface HeldEvent {
  readonly t: string;
  readonly d: unknown;
  readonly bot: Bot;
}

/** The parts of one opened intake. */
interface Intaking {
  readonly inbox: PlatformInbox;
  readonly intake: Intake;
  readonly events: DiscordEvents;
  readonly commands: SlashCommands;
  readonly replayBuffer: ReplayBuffer<HeldEvent>;
  readonly recentActivity: RecentActivity;
}

class DiscordPlatform implements Platform {
  readonly name = PLATFORM_NAME;
  readonly capabilities: PlatformCapabilities;
  readonly #options: DiscordOptions;
  readonly #timing: DiscordTiming;
  readonly #api: DiscordApi;
  readonly #identity: BotIdentity;
  readonly #directory: Directory;
  readonly #people: People;
  /** Each channel's last message id: an answer to that message needs no reference. */
  readonly #lastMessages = new BoundedMap<string>(MAX_LAST_MESSAGES);
  readonly #reader: MessageReader;
  readonly #poster: Poster;
  #connection: Connection | null = null;
  #intaking: Intaking | null = null;

  constructor(options: DiscordOptions) {
    const { config, log } = options;
    const timing = { ...DISCORD_TIMING, ...options.timing };
    const api = new DiscordApi({ token: config.token, apiUrl: config.apiUrl, timing });
    const identity = new BotIdentity(api);
    const directory = new Directory(api);
    const people = new People(api);
    const lastMessages = this.#lastMessages;
    this.#options = options;
    this.#timing = timing;
    this.#api = api;
    this.#identity = identity;
    this.#directory = directory;
    this.#people = people;
    this.#reader = new MessageReader({ directory, people, apiUrl: config.apiUrl, log });
    this.#poster = new Poster({ api, identity, directory, people, lastMessages, timing, log });
    this.capabilities = {
      streaming: { intervalMs: timing.streamMs },
      takesIdempotencyKeys: true,
      maxTextLength: MAX_TEXT_LENGTH,
      hasTextCommands: true,
      isProportional: true,
      drawsCards: true,
      drawsActions: true,
      serves: (channel) => channel.platform === PLATFORM_NAME,
    };
  }

  /** Resolves after the first attempt to connect. Failures are logged and retried. */
  async start(inbox: PlatformInbox, ledger: CatchUpLedger): Promise<void> {
    const { config, log } = this.#options;
    const { backOff } = this.#timing;
    const intaking = this.#openIntake(inbox, ledger);
    this.#intaking = intaking;
    const interrupted = (): void => {
      this.#connection?.interrupted();
      intaking.intake.interrupt();
      intaking.replayBuffer.hold();
    };
    this.#connection = new Connection({
      platform: PLATFORM_NAME,
      open: async (signal): Promise<Session> => {
        interrupted();
        // Before the first event: server names may decide who answers it.
        await inbox.meetServers(PLATFORM_NAME, async () => listGuilds(this.#api));
        return await GatewaySession.open(
          {
            token: config.token,
            api: this.#api,
            timing: this.#timing,
            log,
            dispatch: (t, d) => this.#dispatch(intaking, t, d),
            interrupted,
          },
          signal,
        );
      },
      log,
      ...(backOff !== undefined && { backOff }),
    });
    await this.#connection.start();
  }

  async stopIntake(deadline: AbortSignal): Promise<void> {
    this.#intaking?.intake.close();
    await this.#connection?.[Symbol.asyncDispose]();
    if (this.#intaking !== null) await unlessAborted(this.#intaking.commands.idle(), deadline);
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

  async directChannel(person: string): Promise<ChannelAddress> {
    return await directChannel(this.#api, person);
  }

  async linkTo(channel: LinkedChannel, messageId: string): Promise<string | null> {
    return linkTo(channel, messageId);
  }

  showTyping(channel: ChannelAddress, _inReplyTo: readonly string[], isWorking: boolean): void {
    this.#poster.showTyping(channel, isWorking);
  }

  connection(): ConnectionState {
    const state = this.#connection?.state ?? notConnectedYet();
    const bot = this.#identity.known;
    if (state.kind !== "connected" || bot === null) return state;
    return { ...state, as: `${bot.user.username} in ${counted(this.#directory.servers, "server")}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stopIntake(AbortSignal.abort());
    this.#api[Symbol.dispose]();
  }

  #openIntake(inbox: PlatformInbox, ledger: CatchUpLedger): Intaking {
    const { config, log, commands, now = () => new Date() } = this.#options;
    const { backOff, holdMs, callsPerSecond } = this.#timing;
    const [api, reader, identity] = [this.#api, this.#reader, this.#identity];
    const intake = new Intake({
      platform: PLATFORM_NAME,
      account: async () => (await identity.bot()).user.id,
      inbox,
      ledger,
      history: new DiscordHistory({ api, reader, identity, callsPerSecond }),
      log,
      catchUpMaxAgeMs: config.catchUpMaxAgeMs,
      now,
      ...(backOff !== undefined && { backOff }),
      ...(holdMs !== undefined && { holdMs }),
    });
    const [directory, people, lastMessages] = [this.#directory, this.#people, this.#lastMessages];
    const events = new DiscordEvents({
      api,
      directory,
      people,
      reader,
      lastMessages,
      intake,
      ledger,
      now,
      log,
    });
    return {
      inbox,
      intake,
      events,
      commands: new SlashCommands({ api, inbox, commands, reader, log }),
      replayBuffer: new ReplayBuffer({
        take: ({ t, d, bot }) => events.take(t, d, bot),
        channelOf: ({ d }) => placePayload.safeParse(d).data?.channel_id ?? null,
        isKept: ({ t }) => t === "CHANNEL_DELETE" || t === "THREAD_DELETE",
        miss: ({ d }) => events.miss(d),
      }),
      recentActivity: new RecentActivity(directory, intake),
    };
  }

  /** Places and commands are handled at once; people's messages wait for earlier messages. */
  #dispatch(intaking: Intaking, t: string, d: unknown): void {
    const { inbox, intake, commands, replayBuffer, recentActivity } = intaking;
    this.#directory.learn(t, d);
    inbox.meetChannels(PLATFORM_NAME, this.#directory.toldBy(t, d));
    switch (t) {
      case "READY": {
        const { user, application } = readyPayload.parse(d);
        const bot = { user, applicationId: application.id };
        this.#identity.set(bot);
        this.#connection?.resumed();
        intake.resume();
        recentActivity.begin(d);
        replayBuffer.release();
        void commands.register(bot);
        return;
      }
      case "GUILD_CREATE":
        recentActivity.take(d);
        return;
      case "RESUMED":
        this.#connection?.resumed();
        intake.resume();
        replayBuffer.release();
        return;
      case "INTERACTION_CREATE":
        commands.take(d);
        return;
      default: {
        const bot = this.#identity.known;
        if (bot !== null) replayBuffer.pass({ t, d, bot });
      }
    }
  }
}
