/** The server's data, before it is rendered in Discord's form. */
import type {
  APIActionRowComponent,
  APIApplicationCommand,
  APIButtonComponentWithCustomId,
  APIEmbed,
  ChannelType,
  ComponentType,
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
  /** The bot that owns the role. */
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

/** The bot's access to a channel: everything; all but earlier messages; all but embeds; only reading; not even seeing it. */
export type Access = "all" | "no_history" | "no_embeds" | "read" | "none";

export interface ThreadRecord {
  readonly ownerId: string;
  archivedAt: string;
  isArchived: boolean;
  /** Only moderators can write there, or reopen it. */
  isLocked: boolean;
}

export interface ChannelRecord {
  readonly id: string;
  type: ChannelType.GuildText | ChannelType.GuildForum | ChannelType.PublicThread | ChannelType.DM;
  name: string;
  /** Null for a DM. */
  readonly guildId: string | null;
  /** A thread's channel. */
  readonly parentId: string | null;
  /** The person of a DM. */
  readonly recipientId: string | null;
  readonly thread: ThreadRecord | null;
  access: Access;
  /** Ids of the existing messages, oldest first. */
  readonly messageIds: string[];
}

/** A file of the CDN. */
export interface FileRecord {
  readonly id: string;
  readonly name: string;
  readonly contentType: string;
  readonly url: string;
  /** The size in the message's payload. */
  readonly size: number;
  readonly body: Uint8Array;
  readonly raw: object;
  /** Time until the first byte, ms. */
  readonly delayMs: number;
  readonly isMissing: boolean;
  /** Sends this many bytes, then stalls. Null: all. */
  readonly stallsAfter: number | null;
}

/** The people whom a message may ping. Null: everyone whom its text mentions. */
export interface AllowedMentions {
  readonly parse?: readonly string[] | undefined;
  readonly users?: readonly string[] | undefined;
  readonly roles?: readonly string[] | undefined;
  readonly replied_user?: boolean | undefined;
}

/** Buttons below a message, with their payloads. */
export type ActionRow = APIActionRowComponent<APIButtonComponentWithCustomId>;
/** A box of a message in components alone. */
export interface Box {
  readonly type: ComponentType.Container;
  readonly accent_color?: number;
  readonly components: (
    | ActionRow
    | { type: ComponentType.TextDisplay; content: string }
    | { type: ComponentType.Separator }
  )[];
}

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
  components: readonly (ActionRow | Box)[];
  files: readonly FileRecord[];
  /** Fields as the service sends them, in place of the others: for content that this server does not model. */
  raw: object;
  allowedMentions: AllowedMentions | null;
  /** A deferred answer of a command, without a text yet. */
  isLoading: boolean;
  threadId: string | null;
  /** User ids by emoji, as `👍` or `name:id`. */
  readonly reactions: Map<string, Set<string>>;
}

export interface CommandRecord {
  readonly guildId: string | null;
  command: APIApplicationCommand;
}

/** A form with one text. */
export interface ModalRecord {
  readonly customId: string;
  readonly title: string;
  readonly label: string;
  readonly field: string;
  readonly maxLength: number;
}

export interface InteractionRecord {
  readonly id: string;
  readonly token: string;
  readonly channelId: string;
  readonly userId: string;
  readonly commandName: string;
  /** `performance.now()`. */
  readonly createdAt: number;
  /** The type of the acknowledging callback. */
  acknowledgedBy: number | null;
  /** The form that it opened. */
  modal: ModalRecord | null;
  originalId: string | null;
  /** All answers, the original first. Ephemeral ones are only here, and in `State.messages`. */
  readonly messageIds: string[];
}

/** An event for the gateway's listeners. */
export interface WorldEvent {
  readonly t: string;
  /** The intent bit that a session needs; 0: none. */
  readonly intent: number;
  /** @param seesContent whether the session asked for message content */
  data(seesContent: boolean): object;
}
