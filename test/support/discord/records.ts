/** What the server's world consists of, before it is rendered in Discord's words. */
import type {
  APIActionRowComponent,
  APIApplicationCommand,
  APIButtonComponentWithCustomId,
  APIEmbed,
  ChannelType,
  MessageType,
} from "discord.js";

export interface UserRecord {
  readonly id: string;
  readonly name: string;
  readonly globalName: string | null;
  readonly isBot: boolean;
}

export interface MemberRecord {
  readonly userId: string;
  readonly joinedAt: string;
  nick: string | null;
  roles: readonly string[];
}

export interface RoleRecord {
  readonly id: string;
  readonly name: string;
  readonly permissions: bigint;
  /** The bot that Discord made the role for. */
  readonly botId: string | null;
}

export interface GuildRecord {
  readonly id: string;
  readonly name: string;
  readonly ownerId: string;
  readonly roles: Map<string, RoleRecord>;
  readonly members: Map<string, MemberRecord>;
  /** Ids of its own emoji, by name. */
  readonly emojis: Map<string, string>;
}

/** What the bot may do in a channel: everything, all but read what was said before, only read, or not even see it. */
export type Access = "all" | "no_history" | "no_embeds" | "read" | "none";

export interface ThreadRecord {
  readonly ownerId: string;
  archivedAt: string;
  isArchived: boolean;
}

export interface ChannelRecord {
  readonly id: string;
  readonly type: ChannelType.GuildText | ChannelType.PublicThread | ChannelType.DM;
  name: string;
  /** Null for a DM. */
  readonly guildId: string | null;
  /** The channel that a thread belongs to. */
  readonly parentId: string | null;
  /** The person whom a DM is with. */
  readonly recipientId: string | null;
  readonly thread: ThreadRecord | null;
  access: Access;
  /** Ids of the messages that are still there, oldest first. */
  readonly messageIds: string[];
}

/** A file as the CDN part serves it. */
export interface FileRecord {
  readonly id: string;
  readonly name: string;
  readonly contentType: string;
  readonly url: string;
  /** The size that the message's payload claims. */
  readonly size: number;
  readonly body: Uint8Array;
  /** Time until the first byte, ms. */
  readonly delayMs: number;
  readonly isMissing: boolean;
  /** Sends this many bytes and then nothing more. Null: all. */
  readonly stallsAfter: number | null;
}

/** Whom a message may ping. Null: everyone whom its text mentions. */
export interface AllowedMentions {
  readonly parse?: readonly string[] | undefined;
  readonly users?: readonly string[] | undefined;
  readonly roles?: readonly string[] | undefined;
  readonly replied_user?: boolean | undefined;
}

/** Buttons below a message, with what each carries. */
export type ActionRow = APIActionRowComponent<APIButtonComponentWithCustomId>;

export interface MessageRecord {
  readonly id: string;
  readonly channelId: string;
  readonly authorId: string;
  readonly type: MessageType;
  readonly timestamp: string;
  readonly replyTo: string | null;
  readonly nonce: string | number | null;
  readonly isEphemeral: boolean;
  readonly interactionId: string | null;
  content: string;
  editedAt: string | null;
  embeds: readonly APIEmbed[];
  components: readonly ActionRow[];
  files: readonly FileRecord[];
  allowedMentions: AllowedMentions | null;
  /** A deferred answer of a command that has no text yet. */
  isLoading: boolean;
  threadId: string | null;
  /** User ids by emoji, as `👍` or `name:id`. */
  readonly reactions: Map<string, Set<string>>;
}

export interface CommandRecord {
  readonly guildId: string | null;
  command: APIApplicationCommand;
}

export interface InteractionRecord {
  readonly id: string;
  readonly token: string;
  readonly channelId: string;
  readonly userId: string;
  readonly commandName: string;
  /** `performance.now()`. */
  readonly createdAt: number;
  /** Callback's type once it was acknowledged. */
  acknowledgedBy: number | null;
  originalId: string | null;
  /** All answers, the original first. Ephemeral ones are only here, and in `State.messages`. */
  readonly messageIds: string[];
}

/** What happened, for whoever listens at the gateway. */
export interface WorldEvent {
  readonly t: string;
  /** The intent bit that a session needs; 0: none. */
  readonly intent: number;
  /** @param seesContent whether the session asked for message content */
  data(seesContent: boolean): object;
}
