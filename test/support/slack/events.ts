import type { EventDeliveries } from "./deliveries.ts";
import type { JsonObject, SlackChannel, SlackMessage, Workspace } from "./model.ts";
import { renderChannel, renderMessage } from "./rendering.ts";

/** The subtypes of messages that somebody says; a notice that names the bot is no mention. */
const SPOKEN: ReadonlySet<string> = new Set(["file_share", "thread_broadcast", "bot_message"]);

/** Reports events to the app as Events API callbacks, if it subscribed to them and is a member. */
export class EventFeed {
  readonly #workspace: Workspace;
  readonly #deliveries: EventDeliveries;
  readonly #subscriptions: ReadonlySet<string> | undefined;
  readonly #origin: string;
  /** Every callback, oldest first. */
  readonly sent: JsonObject[] = [];

  /** @param subscriptions such as `message.channels`, `app_mention`, `reaction_added`; undefined: all */
  constructor(
    workspace: Workspace,
    deliveries: EventDeliveries,
    subscriptions: readonly string[] | undefined,
    origin: string,
  ) {
    this.#workspace = workspace;
    this.#deliveries = deliveries;
    this.#subscriptions = subscriptions === undefined ? undefined : new Set(subscriptions);
    this.#origin = origin;
  }

  /** A message in the form of events; keep it before a change, for `previous_message`. */
  render(message: SlackMessage): JsonObject {
    return renderMessage(this.#workspace, message, { origin: this.#origin });
  }

  /** A mention in a channel comes twice: as `message` and, under another event_id, as `app_mention`. */
  posted(message: SlackMessage): void {
    const rendered = this.render(message);
    const channel = this.#workspace.channel(message.channel);
    this.#message(channel, { ...rendered, event_ts: message.ts });
    this.#mention(channel, message, message.ts);
  }

  #mention(channel: SlackChannel, message: SlackMessage, eventTs: string): void {
    const isSpoken = message.subtype === undefined || SPOKEN.has(message.subtype);
    const mentionsUs = isSpoken && message.text.includes(`<@${this.#workspace.bot.id}>`);
    const isOurs = message.botId === this.#workspace.bot.botId;
    if (!mentionsUs || isOurs || channel.type === "im" || !channel.members.has(this.#workspace.bot.id))
      return;
    this.emit("app_mention", {
      ...this.render(message),
      type: "app_mention",
      channel: channel.id,
      event_ts: eventTs,
    });
  }

  /** A mention that an edit has added comes as `app_mention`, too, with the message's own ts. */
  changed(message: SlackMessage, previous: JsonObject): void {
    const channel = this.#workspace.channel(message.channel);
    if (message.edited !== undefined) this.#mention(channel, message, message.edited.ts);
    this.#hidden(channel, {
      subtype: "message_changed",
      message: this.render(message),
      previous_message: previous,
    });
  }

  deleted(channel: SlackChannel, ts: string, previous: JsonObject): void {
    this.#hidden(channel, { subtype: "message_deleted", deleted_ts: ts, previous_message: previous });
  }

  reacted(
    type: "reaction_added" | "reaction_removed",
    message: SlackMessage,
    user: string,
    name: string,
  ): void {
    const channel = this.#workspace.channel(message.channel);
    if (!channel.members.has(this.#workspace.bot.id)) return;
    this.emit(type, {
      type,
      user,
      reaction: name,
      item: { type: "message", channel: message.channel, ts: message.ts },
      item_user: message.user,
      event_ts: channel.timestamps.next(),
    });
  }

  memberJoined(channel: SlackChannel, user: string, inviter: string | undefined): void {
    this.emit("member_joined_channel", {
      type: "member_joined_channel",
      user,
      channel: channel.id,
      channel_type: channel.type === "channel" ? "C" : "G",
      team: this.#workspace.teamId,
      inviter,
      event_ts: channel.timestamps.next(),
    });
  }

  renamed(channel: SlackChannel): void {
    const { id, name, created } = renderChannel(this.#workspace, channel);
    const type = channel.type === "channel" ? "channel_rename" : "group_rename";
    this.emit(type, { type, channel: { id, name, created }, event_ts: channel.timestamps.next() });
  }

  idChanged(channel: SlackChannel, old: string): void {
    this.emit("channel_id_changed", {
      type: "channel_id_changed",
      old_channel_id: old,
      new_channel_id: channel.id,
      event_ts: channel.timestamps.next(),
    });
  }

  channelDeleted(channel: SlackChannel): void {
    const type = channel.type === "channel" ? "channel_deleted" : "group_deleted";
    this.emit(type, { type, channel: channel.id, event_ts: channel.timestamps.next() });
  }

  /** The bot was removed. */
  left(channel: SlackChannel, actor: string): void {
    const type = channel.type === "channel" ? "channel_left" : "group_left";
    this.emit(type, { type, channel: channel.id, actor_id: actor, event_ts: channel.timestamps.next() });
  }

  #isConnected(channel: unknown): boolean {
    return typeof channel === "string" && this.#workspace.channels.get(channel)?.isConnected === true;
  }

  /**
   * Sends any event, if the app subscribed to it. Returns the whole callback.
   * @param subscription that the app must have
   */
  emit(subscription: string, event: JsonObject): JsonObject {
    const { teamId, appId, bot } = this.#workspace;
    const callback = {
      token: "legacy-verification-token",
      team_id: teamId,
      context_team_id: teamId,
      context_enterprise_id: null,
      api_app_id: appId,
      event,
      type: "event_callback",
      event_id: this.#workspace.newId("Ev"),
      event_time: Math.floor(this.#workspace.now() / 1000),
      authorizations: [
        { enterprise_id: null, team_id: teamId, user_id: bot.id, is_bot: true, is_enterprise_install: false },
      ],
      is_ext_shared_channel: this.#isConnected(event["channel"]),
      event_context: "4-test",
    };
    if (this.#subscriptions !== undefined && !this.#subscriptions.has(subscription)) return callback;
    this.sent.push(callback);
    this.#deliveries.send(callback);
    return callback;
  }

  #hidden(channel: SlackChannel, fields: JsonObject): void {
    const ts = channel.timestamps.next();
    this.#message(channel, { type: "message", ...fields, hidden: true, ts, event_ts: ts });
  }

  #message(channel: SlackChannel, fields: JsonObject): void {
    if (!channel.members.has(this.#workspace.bot.id)) return;
    const subscription = channel.type === "im" || channel.type === "mpim" ? channel.type : `${channel.type}s`;
    this.emit(`message.${subscription}`, {
      ...fields,
      channel: channel.id,
      channel_type: channel.type,
    });
  }
}
