import { Timestamps } from "./timestamps.ts";

export type JsonObject = Record<string, unknown>;
export type ChannelType = "channel" | "group" | "im" | "mpim";

export interface SlackUser {
  readonly id: string;
  name: string;
  displayName: string;
  realName: string;
  readonly isBot: boolean;
  /** Bots only. */
  readonly botId: string | undefined;
  isDeleted: boolean;
}

export interface SlackChannel {
  id: string;
  name: string;
  type: ChannelType;
  readonly members: Set<string>;
  isArchived: boolean;
  /** With another organisation: Slack Connect. */
  isConnected: boolean;
  readonly timestamps: Timestamps;
  /** By ts, oldest first, without deleted ones. */
  readonly messages: SlackMessage[];
}

export interface SlackFile {
  readonly id: string;
  readonly name: string;
  readonly mimetype: string;
  readonly user: string;
  readonly content: Buffer;
  /** The file record's size, in bytes; the content may be longer. */
  readonly size: number;
  /** Fields of its record that this server does not model. */
  readonly raw?: JsonObject;
}

export interface SlackTask {
  readonly title: string;
  readonly status: string;
}

/** Of a message that was begun as a stream. */
export interface SlackStream {
  /** The first content decides whether the stream takes `markdown_text` or chunks. */
  mode: "markdown" | "chunks" | undefined;
  readonly display: string;
  readonly recipient: string | undefined;
  isStoppedByUser: boolean;
  /** By id, in the order of their first appearance. */
  readonly tasks: Map<string, SlackTask>;
  plan: string | undefined;
}

export interface SlackMessage {
  readonly ts: string;
  channel: string;
  text: string;
  readonly user: string | undefined;
  readonly botId: string | undefined;
  subtype: string | undefined;
  readonly threadTs: string | undefined;
  readonly files: readonly SlackFile[];
  blocks: unknown;
  attachments: readonly unknown[] | undefined;
  metadata: JsonObject | undefined;
  edited: { readonly user: string; readonly ts: string } | undefined;
  /** People by name of the reaction. */
  readonly reactions: Map<string, Set<string>>;
  /** Undefined: never a stream. */
  streaming: "in_progress" | "completed" | "errored" | undefined;
  stream: SlackStream | undefined;
  /** Fields of this subtype only, or as the service sends them for content that this server does not model. */
  extra: JsonObject;
}

export type MessageDraft = Pick<SlackMessage, "channel" | "text"> &
  Partial<
    Pick<
      SlackMessage,
      | "user"
      | "botId"
      | "subtype"
      | "threadTs"
      | "files"
      | "blocks"
      | "attachments"
      | "metadata"
      | "streaming"
      | "stream"
      | "extra"
    >
  >;

/** The whole state of one workspace, without a network. */
export class Workspace {
  readonly teamId = "T0WEIRTEAM1";
  readonly teamName = "Weir test";
  readonly appId = "A0WEIRAPP01";
  readonly users = new Map<string, SlackUser>();
  readonly channels = new Map<string, SlackChannel>();
  readonly files = new Map<string, SlackFile>();
  /** Files without a message yet, by id. */
  readonly uploads = new Map<
    string,
    { readonly name: string; readonly length: number; content: Buffer | undefined }
  >();
  readonly userGroups: { readonly id: string; readonly handle: string; readonly name: string }[] = [];
  readonly bot: SlackUser & { readonly botId: string };
  readonly #now: () => number;
  /** Messages with replies, now or earlier, as CHANNEL/TS. */
  readonly #roots = new Set<string>();
  #lastId = 0;

  constructor(now: () => number) {
    this.#now = now;
    const botId = this.newId("B");
    this.bot = { ...this.addUser("weir", { isBot: true }), botId };
    this.users.set(this.bot.id, this.bot);
  }

  newId(prefix: string): string {
    this.#lastId += 1;
    return `${prefix}0${this.#lastId.toString(36).toUpperCase().padStart(9, "0")}`;
  }

  now(): number {
    return this.#now();
  }

  addUser(
    name: string,
    options: { displayName?: string; realName?: string; isBot?: boolean } = {},
  ): SlackUser {
    const isBot = options.isBot ?? false;
    const user: SlackUser = {
      id: this.newId("U"),
      name,
      displayName: options.displayName ?? name,
      realName: options.realName ?? name,
      isBot,
      botId: isBot ? this.newId("B") : undefined,
      isDeleted: false,
    };
    this.users.set(user.id, user);
    return user;
  }

  addChannel(name: string, type: ChannelType, members: readonly string[]): SlackChannel {
    const channel: SlackChannel = {
      id: this.newId(type === "im" ? "D" : "C"),
      name,
      type,
      members: new Set(members),
      isArchived: false,
      isConnected: false,
      timestamps: new Timestamps(this.#now),
      messages: [],
    };
    this.channels.set(channel.id, channel);
    return channel;
  }

  /** Gives a channel another id. */
  move(channel: SlackChannel): void {
    this.channels.delete(channel.id);
    channel.id = this.newId("C");
    for (const message of channel.messages) message.channel = channel.id;
    this.channels.set(channel.id, channel);
  }

  /** @throws Error if a test names a missing channel */
  channel(id: string): SlackChannel {
    const channel = this.channels.get(id);
    if (channel === undefined) throw new Error(`No channel ${id} in the Slack test server`);
    return channel;
  }

  findMessage(channel: string, ts: string): SlackMessage | undefined {
    return this.channels.get(channel)?.messages.find((message) => message.ts === ts);
  }

  post(draft: MessageDraft): SlackMessage {
    const channel = this.channel(draft.channel);
    const message: SlackMessage = {
      user: undefined,
      botId: undefined,
      subtype: undefined,
      threadTs: undefined,
      files: [],
      blocks: undefined,
      attachments: undefined,
      metadata: undefined,
      streaming: undefined,
      stream: undefined,
      extra: {},
      ...draft,
      ts: channel.timestamps.next(),
      edited: undefined,
      reactions: new Map(),
    };
    channel.messages.push(message);
    if (message.threadTs !== undefined) this.#roots.add(`${channel.id}/${message.threadTs}`);
    return message;
  }

  /** A thread's root with replies stays as a tombstone, so that the thread keeps its place. */
  remove(message: SlackMessage): void {
    const { messages } = this.channel(message.channel);
    const index = messages.indexOf(message);
    if (this.repliesTo(message).length === 0) {
      messages.splice(index, 1);
      return;
    }
    messages[index] = {
      ...message,
      text: "This message was deleted.",
      user: "USLACKBOT",
      botId: undefined,
      subtype: "tombstone",
      files: [],
      blocks: undefined,
      attachments: undefined,
      metadata: undefined,
    };
  }

  /** Oldest first, without the root. */
  repliesTo(root: SlackMessage): readonly SlackMessage[] {
    // Called for each shown message: few of thousands have replies.
    if (!this.#roots.has(`${root.channel}/${root.ts}`)) return [];
    const { messages } = this.channel(root.channel);
    return messages.filter((message) => message.threadTs === root.ts && message.ts !== root.ts);
  }

  /** The channel's own messages, oldest first: no replies, except broadcast ones. */
  topLevel(channelId: string): readonly SlackMessage[] {
    return this.channel(channelId).messages.filter(
      ({ threadTs, ts, subtype }) =>
        threadTs === undefined || threadTs === ts || subtype === "thread_broadcast",
    );
  }
}
