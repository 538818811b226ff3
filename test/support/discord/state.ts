import { compareIds, Snowflakes } from "./snowflake.ts";
import type {
  ChannelRecord,
  CommandRecord,
  FileRecord,
  GuildRecord,
  InteractionRecord,
  MessageRecord,
  UserRecord,
  WorldEvent,
} from "./records.ts";

/** The server's behaviour; times in ms. */
export interface DiscordOptions {
  readonly port?: number;
  readonly token?: string;
  readonly botName?: string;
  /** The heartbeat interval in HELLO. */
  readonly heartbeatIntervalMs?: number;
  /** Whether the application has the message content intent; otherwise requesting it is 4014. */
  readonly allowsMessageContent?: boolean;
  /** Dispatches that a session keeps for a replay; a client that missed more gets op 9 with d=false. */
  readonly replayLimit?: number;
  /** The resume address in READY; null: this server's. */
  readonly resumeUrl?: string | null;
  readonly nonceLifeMs?: number;
  /** Time within which an interaction must be acknowledged. */
  readonly interactionAckMs?: number;
  readonly interactionTokenMs?: number;
  /** The recommended number of shards, and how many may log in together. */
  readonly shards?: number;
  readonly maxConcurrency?: number;
}

const MINUTE_MS = 60_000;

const DEFAULTS = {
  port: 0,
  token: "test-token",
  botName: "weir",
  heartbeatIntervalMs: 41_250,
  allowsMessageContent: true,
  replayLimit: 250,
  resumeUrl: null,
  nonceLifeMs: 5 * MINUTE_MS,
  interactionAckMs: 3_000,
  interactionTokenMs: 15 * MINUTE_MS,
  shards: 1,
  maxConcurrency: 1,
} satisfies Required<DiscordOptions>;

/** The whole state. Events go to the function in `emit`. */
export class State {
  readonly ids = new Snowflakes();
  readonly users = new Map<string, UserRecord>();
  readonly guilds = new Map<string, GuildRecord>();
  readonly channels = new Map<string, ChannelRecord>();
  readonly messages = new Map<string, MessageRecord>();
  /** By the path of their URL. */
  readonly files = new Map<string, FileRecord>();
  readonly commands = new Map<string, CommandRecord>();
  readonly interactions = new Map<string, InteractionRecord>();
  /** Message ids by channel and nonce. */
  readonly nonces = new Map<string, { readonly messageId: string; readonly at: number }>();
  readonly options: Required<DiscordOptions>;
  /** The bot's user; its id is also the application's. */
  readonly bot: UserRecord;
  /** `http://127.0.0.1:PORT`, once the server listens. */
  origin = "";
  emit: (event: WorldEvent) => void = () => undefined;

  constructor(options: DiscordOptions) {
    this.options = { ...DEFAULTS, ...options };
    this.bot = { id: this.ids.next(), name: this.options.botName, globalName: null, isBot: true };
    this.users.set(this.bot.id, this.bot);
  }

  user(id: string): UserRecord {
    return found(this.users.get(id), "user", id);
  }

  guild(id: string): GuildRecord {
    return found(this.guilds.get(id), "guild", id);
  }

  channel(id: string): ChannelRecord {
    return found(this.channels.get(id), "channel", id);
  }

  message(id: string): MessageRecord {
    return found(this.messages.get(id), "message", id);
  }

  /** The channel's existing messages, oldest first. */
  history(channel: ChannelRecord): MessageRecord[] {
    return channel.messageIds.toSorted(compareIds).map((id) => this.message(id));
  }

  guildChannels(guildId: string): ChannelRecord[] {
    return [...this.channels.values()].filter((channel) => channel.guildId === guildId);
  }
}

function found<Found>(value: Found | undefined, kind: string, id: string): Found {
  if (value === undefined) throw new Error(`The test's world has no ${kind} ${id}.`);
  return value;
}
