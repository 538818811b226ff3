import { randomUUID } from "node:crypto";

import type { EventFeed } from "./events.ts";
import type { Acknowledgement, Interaction, Interactions } from "./interactions.ts";
import type { Journal } from "./journal.ts";
import type { JsonObject, SlackChannel, SlackFile, SlackMessage, SlackUser, Workspace } from "./model.ts";

export interface SayOptions {
  readonly threadTs?: string;
  /** A reply that is also shown in the channel. Needs `threadTs`. */
  readonly broadcast?: boolean;
  readonly files?: readonly SlackFile[];
  /** `bot_message`: an old integration, without a user. */
  readonly subtype?: "me_message" | "bot_message";
  /** Fields as the service sends them, in place of the others. */
  readonly raw?: JsonObject;
}

/** What people do. Texts are in Slack's form: see `escapeText`. Every ts is the message's. */
export class SlackWorld {
  readonly #workspace: Workspace;
  readonly #feed: EventFeed;
  readonly #interactions: Interactions;
  readonly #journal: Journal;

  constructor(workspace: Workspace, feed: EventFeed, interactions: Interactions, journal: Journal) {
    this.#workspace = workspace;
    this.#feed = feed;
    this.#interactions = interactions;
    this.#journal = journal;
  }

  get bot(): SlackUser & { readonly botId: string } {
    return this.#workspace.bot;
  }

  addUser(
    name: string,
    options: { displayName?: string; realName?: string; isBot?: boolean } = {},
  ): SlackUser {
    return this.#workspace.addUser(name, options);
  }

  addUserGroup(handle: string, name: string): string {
    const id = this.#workspace.newId("S");
    this.#workspace.userGroups.push({ id, handle, name });
    return id;
  }

  /** The bot is a member unless said otherwise. No event reports it, as if it had existed before the app's start. */
  addChannel(options: {
    readonly name: string;
    readonly private?: boolean;
    readonly members?: readonly SlackUser[];
    readonly withoutBot?: boolean;
  }): SlackChannel {
    const members = (options.members ?? []).map(({ id }) => id);
    if (options.withoutBot !== true) members.push(this.bot.id);
    return this.#workspace.addChannel(options.name, options.private === true ? "group" : "channel", members);
  }

  /** The direct messages of a person and the bot. */
  openIm(user: SlackUser): SlackChannel {
    for (const channel of this.#workspace.channels.values()) {
      if (channel.type === "im" && channel.members.has(user.id)) return channel;
    }
    return this.#workspace.addChannel("", "im", [user.id, this.bot.id]);
  }

  openMpim(users: readonly SlackUser[]): SlackChannel {
    const name = `mpdm-${users.map((user) => user.name).join("--")}-1`;
    return this.#workspace.addChannel(name, "mpim", [...users.map(({ id }) => id), this.bot.id]);
  }

  /** @param options.size in the file's record, bytes; default: the true one */
  addFile(
    user: SlackUser,
    name: string,
    content: string | Buffer,
    options: { readonly mimetype?: string; readonly size?: number; readonly raw?: JsonObject } = {},
  ): SlackFile {
    const bytes = Buffer.from(content);
    const file: SlackFile = {
      id: this.#workspace.newId("F"),
      name,
      mimetype: options.mimetype ?? "text/plain",
      user: user.id,
      content: bytes,
      size: options.size ?? bytes.length,
      ...(options.raw !== undefined && { raw: options.raw }),
    };
    this.#workspace.files.set(file.id, file);
    return file;
  }

  say(user: SlackUser, channel: SlackChannel, text: string, options: SayOptions = {}): string {
    const hasFiles = (options.files ?? []).length > 0;
    const isOldBot = options.subtype === "bot_message";
    const message = this.#workspace.post({
      channel: channel.id,
      text,
      user: isOldBot ? undefined : user.id,
      botId: user.botId,
      subtype: options.broadcast === true ? "thread_broadcast" : hasFiles ? "file_share" : options.subtype,
      threadTs: options.threadTs,
      files: options.files ?? [],
      extra: { ...(user.isBot ? {} : { client_msg_id: randomUUID() }), ...options.raw },
    });
    this.#feed.posted(message);
    this.#journal.changed();
    return message.ts;
  }

  /** A real edit: another text, and a mark. */
  edit(channel: SlackChannel, ts: string, text: string): void {
    this.#change(channel, ts, (message) => {
      message.text = text;
      message.edited = { user: message.user ?? this.bot.id, ts: channel.timestamps.next() };
    });
  }

  /** An edit of everything: other fields as the service sends them. */
  editRaw(channel: SlackChannel, ts: string, text: string, raw: JsonObject): void {
    this.#change(channel, ts, (message) => {
      message.text = text;
      message.extra = raw;
      message.edited = { user: message.user ?? this.bot.id, ts: channel.timestamps.next() };
    });
  }

  /** A link preview arrives: a `message_changed` with the same text. */
  unfurl(channel: SlackChannel, ts: string, link: string): void {
    this.#change(channel, ts, (message) => {
      message.attachments = [{ id: 1, from_url: link, original_url: link, fallback: link, title: "A page" }];
    });
  }

  remove(channel: SlackChannel, ts: string): void {
    const message = this.#find(channel, ts);
    const previous = this.#feed.render(message);
    this.#workspace.remove(message);
    this.#feed.deleted(channel, ts, previous);
  }

  react(user: SlackUser, channel: SlackChannel, ts: string, name: string): void {
    const { reactions } = this.#find(channel, ts);
    reactions.set(name, (reactions.get(name) ?? new Set()).add(user.id));
    this.#feed.reacted("reaction_added", this.#find(channel, ts), user.id, name);
  }

  unreact(user: SlackUser, channel: SlackChannel, ts: string, name: string): void {
    const message = this.#find(channel, ts);
    message.reactions.get(name)?.delete(user.id);
    if (message.reactions.get(name)?.size === 0) message.reactions.delete(name);
    this.#feed.reacted("reaction_removed", message, user.id, name);
  }

  /** A person joins a channel, or is invited; the bot itself, too. */
  join(user: SlackUser, channel: SlackChannel, inviter?: SlackUser): string {
    channel.members.add(user.id);
    const ts = this.#notice(channel, user, "channel_join", `<@${user.id}> has joined the channel`, {
      inviter: inviter?.id,
    });
    this.#feed.memberJoined(channel, user.id, inviter?.id);
    return ts;
  }

  /** A person leaves, or is removed. The bot's own leaving is `channel_left` or `group_left`. */
  leave(user: SlackUser, channel: SlackChannel): void {
    this.#notice(channel, user, "channel_leave", `<@${user.id}> has left the channel`, {});
    channel.members.delete(user.id);
    if (user.id === this.bot.id) this.#feed.left(channel, this.bot.id);
  }

  rename(user: SlackUser, channel: SlackChannel, name: string): void {
    const old = channel.name;
    channel.name = name;
    this.#notice(channel, user, "channel_name", `has renamed the channel from "${old}" to "${name}"`, {
      old_name: old,
      name,
    });
    this.#feed.renamed(channel);
  }

  /** A person makes a public channel private, or a private one public. */
  convert(user: SlackUser, channel: SlackChannel, to: "private" | "public"): void {
    channel.type = to === "private" ? "group" : "channel";
    this.#notice(channel, user, `channel_convert_to_${to}`, `made this channel ${to}`, {});
  }

  /** A private channel is shared with another organisation: it gets another id for good. @param isTold false: its event is lost */
  changeId(channel: SlackChannel, isTold = true): void {
    const old = channel.id;
    this.#workspace.move(channel);
    if (isTold) this.#feed.idChanged(channel, old);
  }

  /** Removes a channel with its messages. */
  removeChannel(channel: SlackChannel): void {
    this.#workspace.channels.delete(channel.id);
    this.#feed.channelDeleted(channel);
  }

  archive(channel: SlackChannel, isArchived = true): void {
    channel.isArchived = isArchived;
  }

  /** A slash command, as `command(user, channel, "/weir", "status")`. */
  command(user: SlackUser, channel: SlackChannel, command: string, text = ""): Interaction {
    return this.#interactions.command(user.id, channel.id, command, text);
  }

  click(
    user: SlackUser,
    channel: SlackChannel,
    messageTs: string,
    action: { id: string; value?: string },
  ): Interaction {
    return this.#interactions.click(user.id, channel.id, messageTs, action);
  }

  /** The form that was opened last; null: none. */
  get form(): Interactions["form"] {
    return this.#interactions.form;
  }

  /** Whoever sees the form that was opened last sends it with these words. */
  async submit(words: string): Promise<Acknowledgement> {
    return this.#interactions.submit(words);
  }

  /** A reader presses the stop button of an answer. */
  stopStream(user: SlackUser, channel: SlackChannel, ts: string): void {
    this.#change(channel, ts, (message) => {
      message.streaming = "completed";
      if (message.stream !== undefined) message.stream.isStoppedByUser = true;
    });
    this.#feed.emit("agent_session_stopped", {
      type: "agent_session_stopped",
      channel: channel.id,
      user: user.id,
      thread_ts: this.#find(channel, ts).threadTs,
      streaming_message_ts: [ts],
      event_ts: channel.timestamps.next(),
    });
  }

  /** Slack ends a stream by itself after some minutes. */
  expireStream(channel: SlackChannel, ts: string): void {
    this.#change(channel, ts, (message) => {
      message.streaming = "errored";
    });
  }

  #notice(channel: SlackChannel, user: SlackUser, subtype: string, text: string, extra: JsonObject): string {
    const message = this.#workspace.post({ channel: channel.id, text, user: user.id, subtype, extra });
    this.#feed.posted(message);
    return message.ts;
  }

  #change(channel: SlackChannel, ts: string, change: (message: SlackMessage) => void): void {
    const message = this.#find(channel, ts);
    const previous = this.#feed.render(message);
    change(message);
    this.#feed.changed(message, previous);
  }

  #find(channel: SlackChannel, ts: string): SlackMessage {
    const message = this.#workspace.findMessage(channel.id, ts);
    if (message === undefined) throw new Error(`No message ${ts} in ${channel.name || channel.id}`);
    return message;
  }
}

/** Slack's escapes in a typed text: `a < b` arrives as `a &lt; b`. */
export function escapeText(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
