import { Routes } from "discord.js";
import type { Logger } from "pino";
import type { z } from "zod";
import type { BoundedMap } from "../../../async/bounded-map.ts";
import { errorMessage } from "../../../core/errors.ts";
import { type ChannelOnPlatform, reactionId } from "../../../core/message.ts";
import { editOf } from "../../intake/asking-edits.ts";
import type { Arrival, Heard, Intake } from "../../intake/intake.ts";
import { areRead } from "../../shared/attachments.ts";
import { isRefused, mayPass } from "../../shared/platform-retry.ts";
import { Unread } from "../../intake/unread.ts";
import type { CatchUpLedger, ChannelPolicy } from "../../platform.ts";
import { type DiscordApi, isDeletedChannel, PLATFORM_NAME } from "../rest/api.ts";
import type { Directory } from "../rest/directory.ts";
import {
  bulkDeletionPayload,
  channelPayload,
  deletionPayload,
  type MessagePayload,
  messagePayload,
  placePayload,
  type ReactionPayload,
  reactionPayload,
  type ReactionRemovalPayload,
  reactionRemovalPayload,
  updatePayload,
} from "./payload.ts";
import { ProxiedMessages } from "./proxied-messages.ts";
import { isSpoken } from "./readable-text.ts";
import type { People } from "../rest/people.ts";
import type { MessageReader } from "./reader.ts";
import type { Bot } from "../gateway/bot-identity.ts";

export interface EventParts {
  readonly api: DiscordApi;
  readonly directory: Directory;
  readonly people: People;
  readonly reader: MessageReader;
  readonly lastMessages: BoundedMap<string>;
  readonly now: () => Date;
  readonly log: Logger;
  readonly intake: Intake;
  readonly ledger: Pick<CatchUpLedger, "policyOf">;
}

type Place = z.infer<typeof placePayload>;

/** Failures of an unknown kind, half a minute apart in all, after which an event is given up. */
const MAX_UNKNOWN = 6;
/** Maximum changes that are read again, beside their channels. */
const MAX_LATE = 10_000;

/** Converts gateway events, per channel one after the other, for the intake. */
export class DiscordEvents {
  readonly #parts: EventParts;
  readonly #unread: Unread;
  readonly #proxied: ProxiedMessages;
  #late = 0;
  /** The time of the newest reaction. */
  #lastMs = 0;

  constructor(parts: EventParts) {
    this.#parts = parts;
    this.#unread = new Unread(PLATFORM_NAME, parts.log);
    this.#proxied = new ProxiedMessages(parts.now);
  }

  /**
   * Unreadable events are only logged.
   * @returns resolves when the event is in the log, leaves no trace there, or is known to be missing; does not reject
   */
  async take(t: string, d: unknown, bot: Bot): Promise<void> {
    try {
      await this.#route(t, d, bot);
    } catch (error) {
      this.#unread.tell(t, error);
    }
  }

  /** After an unread event was dropped: fetches its channel's missed messages, as after an interruption. */
  miss(d: unknown): void {
    const place = placePayload.safeParse(d);
    if (place.success) this.#parts.intake.miss(place.data.channel_id, this.#finder(place.data));
  }

  #route(t: string, d: unknown, bot: Bot): Promise<void> | undefined {
    switch (t) {
      case "MESSAGE_CREATE": {
        const message = messagePayload.parse(d);
        this.#parts.lastMessages.set(message.channel_id, message.id);
        this.#proxied.said(message);
        return this.#handSaid(message, bot);
      }
      case "MESSAGE_UPDATE":
        return this.#hand(updatePayload.parse(d), async () => this.#update(d, bot));
      case "MESSAGE_DELETE": {
        const deletion = deletionPayload.parse(d);
        this.#proxied.deleted(deletion.channel_id, [deletion.id]);
        return this.#handTakenBack(deletion, async () => this.#deletions([deletion.id], deletion));
      }
      case "MESSAGE_DELETE_BULK": {
        const deletion = bulkDeletionPayload.parse(d);
        this.#proxied.deleted(deletion.channel_id, deletion.ids);
        return this.#handTakenBack(deletion, async () => this.#deletions(deletion.ids, deletion));
      }
      case "MESSAGE_REACTION_ADD": {
        const reaction = reactionPayload.parse(d);
        if (reaction.user_id === bot.user.id) return undefined;
        return this.#hand(reaction, async () => this.#reaction(reaction));
      }
      case "MESSAGE_REACTION_REMOVE":
      case "MESSAGE_REACTION_REMOVE_EMOJI":
      case "MESSAGE_REACTION_REMOVE_ALL": {
        const removal = reactionRemovalPayload.parse(d);
        if (removal.user_id === bot.user.id) return undefined;
        return this.#handTakenBack(removal, async () => this.#reactionRemoval(removal));
      }
      case "CHANNEL_DELETE":
      case "THREAD_DELETE": {
        const { id, guild_id: guildId } = channelPayload.parse(d);
        if (guildId === undefined) return undefined;
        const place = { channel_id: id, guild_id: guildId };
        return this.#handTakenBack(place, async () => this.#channelDeletion(id));
      }
      default:
        return undefined;
    }
  }

  /** A repetition of a person's message comes after the deletion of that one; all others at once. */
  async #handSaid(message: MessagePayload, bot: Bot): Promise<void> {
    const finding = message.webhook_id === undefined ? null : this.#proxied.originalOf(message);
    const original = finding === null ? null : await finding;
    await this.#hand(message, async () => this.#message(message, bot, original), "message");
  }

  /**
   * Retries until Discord answers: Discord sends the event once, and no catch-up covers old messages. Later
   * events of the channel would need the same call.
   */
  async #handTakenBack(place: Place, work: () => Promise<readonly Heard[]>): Promise<void> {
    const { intake } = this.#parts;
    const isOver = (error: unknown): boolean => !mayPass(error);
    const read = async (): Promise<readonly Heard[]> =>
      (await intake.untilDone("taken_back_not_read_yet", work, isOver)) ?? [];
    await this.#hand(place, read);
  }

  /** Must not throw. An unread message is fetched later; Discord sends a change once, so it is read again. */
  async #hand(
    place: Place,
    read: () => Promise<readonly Heard[]>,
    kind: Arrival["kind"] = "change",
  ): Promise<void> {
    const { channel_id: lane } = place;
    const isFetchedIfUnread = kind === "message";
    const where = this.#finder(place);
    const arrival: Arrival = { lane, read, kind, name: lane, where, isFetchedIfUnread };
    try {
      await this.#parts.intake.hand(arrival);
    } catch (error) {
      this.#tellUnread(place, error, isRefused(error) ? "event_not_read" : "event_not_read_yet");
      if (!isRefused(error) && !(isFetchedIfUnread && mayPass(error))) await this.#readLater(place, arrival);
    }
  }

  #finder({ channel_id: channelId, guild_id: guildId }: Place): Arrival["where"] {
    return async () => {
      const found = await this.#parts.directory.where(channelId, guildId);
      return found === null ? [] : [found];
    };
  }

  /** Must not throw. A change says when it was made: what came after it may be stored before it. */
  async #readLater(place: Place, arrival: Arrival): Promise<void> {
    const { intake } = this.#parts;
    const isOver = (error: unknown, failures: number): boolean =>
      isRefused(error) || (!mayPass(error) && failures >= MAX_UNKNOWN);
    if (this.#late >= MAX_LATE) return intake.leave(arrival.name, arrival.where);
    this.#late += 1;
    try {
      const heard = await intake.untilDone("event_not_read_yet", arrival.read, isOver);
      if (heard !== undefined) await intake.hand({ ...arrival, read: async () => Promise.resolve(heard) });
    } catch (error) {
      this.#tellUnread(place, error, "event_not_read");
    } finally {
      this.#late -= 1;
    }
  }

  #tellUnread({ channel_id: channel }: Place, error: unknown, what: string): void {
    this.#parts.log.warn({ platform: PLATFORM_NAME, channel, why: errorMessage(error) }, what);
  }

  /** @param original whose words these are; null: their author's */
  async #message(
    message: MessagePayload,
    bot: Bot,
    original: MessagePayload | null = null,
  ): Promise<readonly Heard[]> {
    if (message.author.id === bot.user.id || !isSpoken(message)) return [];
    const home = await this.#home(message);
    if (home === null) return [];
    const isFull = message.attachments.length === 0 || (await this.#isWanted(home, message, bot));
    const { reader } = this.#parts;
    const event =
      original === null
        ? await reader.read(message, home, { bot, isFull })
        : await reader.readProxied(message, original, home, { bot, isFull });
    return [{ event, home }];
  }

  async #isWanted(home: ChannelOnPlatform, message: MessagePayload, bot: Bot): Promise<boolean> {
    const isTalk = home.kind === "thread" || this.#parts.reader.isAddressed(message, home, bot);
    return this.#stands(home, (policy) => areRead(policy, isTalk));
  }

  /** If the policy is unavailable, true: at worst an unwanted file is read. */
  async #stands(home: ChannelOnPlatform, isSo: (policy: ChannelPolicy) => boolean): Promise<boolean> {
    try {
      return isSo(await this.#parts.ledger.policyOf(home));
    } catch {
      return true;
    }
  }

  /** An update without an edit time is a link preview, a pin or the like. */
  async #update(d: unknown, bot: Bot): Promise<readonly Heard[]> {
    const { id, channel_id: channelId, edited_timestamp: at, author } = updatePayload.parse(d);
    if (at == null || author?.id === bot.user.id) return [];
    const whole = messagePayload.safeParse(d);
    // An update without an author also lacks other parts, such as attachments.
    const message = whole.success
      ? whole.data
      : await this.#parts.api.find(Routes.channelMessage(channelId, id), messagePayload);
    if (message === null || message.author.id === bot.user.id || !isSpoken(message)) return [];
    const { guild_id: guildId, channel_type: channelType } = updatePayload.parse(d);
    const known = { ...message, guild_id: guildId, channel_type: message.channel_type ?? channelType };
    const home = await this.#home(known);
    if (home === null) return [];
    const isFull = await this.#stands(home, ({ isBound }) => isBound);
    const said = await this.#parts.reader.read(known, home, { bot, isFull });
    return [{ event: editOf(said, new Date(at)), home }];
  }

  async #deletions(
    ids: readonly string[],
    { channel_id: channelId, guild_id: guildId }: Place,
  ): Promise<readonly Heard[]> {
    const { directory, now } = this.#parts;
    const home = await directory.where(channelId, guildId);
    if (home === null) return [];
    const at = now();
    return ids.map((id) => ({ event: { type: "deletion", platform: PLATFORM_NAME, id, at }, home }));
  }

  async #reaction(reaction: ReactionPayload): Promise<readonly Heard[]> {
    const { directory, people, reader } = this.#parts;
    const { user_id: userId, message_id: replyTo, guild_id: guildId, member, emoji } = reaction;
    const home = await directory.where(reaction.channel_id, guildId);
    if (home === null) return [];
    const sign = signOf(emoji);
    const id = reactionId(replyTo, userId, sign);
    const at = this.#moment();
    const author =
      member === undefined
        ? { id: userId, name: await people.findName(userId), isBot: false }
        : reader.person(member.user, member, guildId);
    const shown = emoji.id == null ? sign : `:${sign}:`;
    const text = `reacted with ${shown}`;
    return [{ event: { type: "message", ...home, id, author, text, at, addressed: false, replyTo }, home }];
  }

  /** Discord gives no time. Later events get later times, which distinguish them from repeated deliveries. */
  #moment(): Date {
    this.#lastMs = Math.max(this.#parts.now().getTime(), this.#lastMs + 1);
    return new Date(this.#lastMs);
  }

  /** One person's reaction, everybody's with one emoji, or all. */
  async #reactionRemoval(removal: ReactionRemovalPayload): Promise<readonly Heard[]> {
    const { directory } = this.#parts;
    const { user_id: person, message_id: messageId, emoji } = removal;
    const home = await directory.where(removal.channel_id, removal.guild_id);
    if (home === null) return [];
    const sign = emoji === undefined ? undefined : signOf(emoji);
    const reactions = {
      messageId,
      ...(person !== undefined && { person }),
      ...(sign !== undefined && { emoji: sign }),
    };
    const id = reactionId(messageId, person ?? "*", sign ?? "*");
    return [
      { event: { type: "deletion", platform: PLATFORM_NAME, id, at: this.#moment(), reactions }, home },
    ];
  }

  /** A deletion is final, so Discord is asked first: a channel that became invisible still exists. */
  async #channelDeletion(id: string): Promise<readonly Heard[]> {
    const { api, now } = this.#parts;
    try {
      await api.get(Routes.channel(id), channelPayload);
      return [];
    } catch (error) {
      if (!isDeletedChannel(error)) throw error;
    }
    const channel = { platform: PLATFORM_NAME, name: id };
    const home: ChannelOnPlatform = { channel, kind: "channel", workspace: "" };
    return [{ event: { type: "channel_deletion", platform: PLATFORM_NAME, channel, id, at: now() }, home }];
  }

  async #home(message: MessagePayload): Promise<ChannelOnPlatform | null> {
    const { author, channel_id: id, guild_id: guildId, channel_type: channelType } = message;
    const name = author.global_name ?? author.username;
    return this.#parts.directory.where(id, guildId, { name, channelType });
  }
}

function signOf({ name, id }: ReactionPayload["emoji"]): string {
  return name ?? id ?? "?";
}
