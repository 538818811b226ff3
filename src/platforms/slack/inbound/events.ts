import type { Logger } from "pino";
import type { z } from "zod";
import { BoundedMap } from "../../../async/bounded-map.ts";
import { errorMessage } from "../../../core/errors.ts";
import { type ChannelOnPlatform, type InboundEvent, reactionId } from "../../../core/message.ts";
import type { Arrival, Heard, Intake } from "../../intake/intake.ts";
import { Unread } from "../../intake/unread.ts";
import type { CatchUpLedger, PlatformInbox } from "../../platform.ts";
import { addressOf, messageId, PLATFORM_NAME, type SlackPlace, timeOfTs } from "../address.ts";
import type { SlackApi } from "../web/api.ts";
import { shownEmoji } from "../outbound/emoji.ts";
import { isSpoken } from "./readable-text.ts";
import { isSameSaid } from "./visible-parts.ts";
import type { Names } from "../web/names.ts";
import {
  changedMessage,
  conversion,
  deletedMessage,
  eventCallback,
  goneEvent,
  messagePage,
  reactionEvent,
  renameEvent,
  saidMessage,
  slackMessage,
  type SlackMessage,
} from "./payload.ts";
import { isOwn, type MessageReader, placeOfMessage } from "./reader.ts";
import { FilePolicy } from "./file-policy.ts";

export interface EventsParts {
  readonly api: SlackApi;
  readonly names: Names;
  readonly reader: MessageReader;
  readonly intake: Pick<Intake, "hand">;
  readonly inbox: Pick<PlatformInbox, "meetChannels">;
  readonly ledger: Pick<CatchUpLedger, "policyOf">;
  readonly log: Logger;
}

/** A Slack event converted for Weir; null: irrelevant. */
type Converted = Heard | null;

/** Remembered events and messages, for deduplication. */
const MAX_SEEN = 10_000;
/** Messages whose thread is remembered, for their reactions. */
const MAX_THREADS = 5000;

const MESSAGE = { kind: "message", isFetchedIfUnread: true } as const;
const FETCHED = { kind: "change", isFetchedIfUnread: true } as const;
/** What is not acknowledged, Slack delivers again. */
const REDELIVERED = { kind: "change", isFetchedIfUnread: false } as const;

/** Takes in Slack's events: each once, per channel in order of arrival. */
export class SlackEvents {
  readonly #parts: EventsParts;
  readonly #unread: Unread;
  readonly #filePolicy: FilePolicy;
  /** By event id, and by message id, since a mention comes as `message` and as `app_mention`. */
  readonly #seen = new BoundedMap<Promise<boolean>>(MAX_SEEN);
  /** A message's thread, by the message's id; null: none. */
  readonly #threads = new BoundedMap<string | null>(MAX_THREADS);

  constructor(parts: EventsParts) {
    this.#parts = parts;
    this.#unread = new Unread(PLATFORM_NAME, parts.log);
    this.#filePolicy = new FilePolicy(parts);
  }

  /**
   * @param body an `event_callback`
   * @returns whether to acknowledge: the event is durable or irrelevant. Does not throw
   */
  async take(body: unknown): Promise<boolean> {
    const callback = eventCallback.safeParse(body);
    if (!callback.success) {
      this.#unread.tell("event", callback.error);
      return true;
    }
    const { event_id: eventId, event } = callback.data;
    return this.#once(eventId, async () => this.#dispatch(event));
  }

  /** Skips work that is done or under way; failed work is repeated at the next delivery. */
  async #once(key: string, work: () => Promise<boolean>): Promise<boolean> {
    const known = this.#seen.get(key);
    if (known !== undefined) return known;
    const doing = work().catch((error: unknown) => {
      this.#parts.log.warn({ platform: PLATFORM_NAME, why: errorMessage(error) }, "event_not_taken");
      return false;
    });
    this.#seen.set(key, doing);
    const isDone = await doing;
    if (!isDone && this.#seen.get(key) === doing) this.#seen.delete(key);
    return isDone;
  }

  async #dispatch(event: z.infer<typeof eventCallback>["event"]): Promise<boolean> {
    switch (event.type) {
      case "message":
      case "app_mention":
        return this.#message(event);
      case "reaction_added":
      case "reaction_removed":
        return this.#reaction(event);
      case "channel_deleted":
      case "group_deleted": {
        const deleted = this.#parse(goneEvent, event);
        return (
          deleted === null ||
          this.#hand(inChannel(deleted.channel), async () => this.#channelDeleted(deleted), REDELIVERED)
        );
      }
      case "channel_rename":
      case "group_rename": {
        const renamed = renameEvent.safeParse(event);
        if (renamed.success) this.#parts.names.forgetChannel(renamed.data.channel.id);
        return true;
      }
      default:
        return true;
    }
  }

  async #message(event: z.infer<typeof eventCallback>["event"]): Promise<boolean> {
    switch (event.subtype) {
      case "channel_convert_to_private":
      case "channel_convert_to_public": {
        const converted = this.#parse(conversion, event);
        if (converted !== null) this.#converted(converted);
        return true;
      }
      case "message_changed": {
        const changed = this.#parse(changedMessage, event);
        return (
          changed === null ||
          this.#hand(
            placeOfMessage(changed.channel, changed.message),
            async () => this.#changed(changed),
            FETCHED,
          )
        );
      }
      case "message_deleted": {
        const deleted = this.#parse(deletedMessage, event);
        return (
          deleted === null ||
          this.#hand(inChannel(deleted.channel), async () => this.#deleted(deleted), FETCHED)
        );
      }
      default: {
        const said = this.#parse(saidMessage, event);
        if (said === null || !isSpoken(said)) return true;
        // A mention comes under two event ids, with the same text.
        return this.#once(messageId(said.channel, said.ts), async () =>
          this.#hand(placeOfMessage(said.channel, said), async () => this.#said(said.channel, said), MESSAGE),
        );
      }
    }
  }

  #converted({ channel: id, subtype, ts }: z.infer<typeof conversion>): void {
    const channel = addressOf({ channel: id, threadTs: null });
    const isPrivate = subtype === "channel_convert_to_private";
    // A message of the same instant may have come before it.
    const at = ts == null ? null : new Date(timeOfTs(ts).getTime() + 1);
    this.#parts.names.forgetChannel(id);
    void this.#parts.inbox.meetChannels(PLATFORM_NAME, [{ channel, isPrivate, ...(at !== null && { at }) }]);
  }

  async #said(channel: string, message: SlackMessage): Promise<Converted> {
    const { reader, names } = this.#parts;
    const place = placeOfMessage(channel, message);
    this.#threads.set(messageId(channel, message.ts), place.threadTs);
    if (isOwn(message, await names.bot())) return null;
    const withFiles = await this.#filePolicy.readsFilesOf(channel, message);
    const event = await reader.read(channel, message, { withFiles });
    return event.text === "" && event.images === undefined ? null : { event, home: event };
  }

  /** A new preview is no edit. A deleted root that has replies becomes a tombstone. */
  async #changed(event: z.infer<typeof changedMessage>): Promise<Converted> {
    const { channel, message, previous_message: previous, event_ts: eventTs } = event;
    const { reader, names } = this.#parts;
    if (message.subtype === "tombstone") return this.#gone(channel, previous ?? message, message.ts, eventTs);
    if (isSameSaid(previous ?? null, message) || !isSpoken(message) || isOwn(message, await names.bot()))
      return null;
    const home = await reader.where(placeOfMessage(channel, message));
    const withFiles = await this.#filePolicy.readsFilesOf(channel, message, previous ?? message);
    const { text } = await reader.said(message, { withFiles });
    const at = timeOfTs(message.edited?.ts ?? eventTs);
    return {
      event: { type: "edit", platform: PLATFORM_NAME, id: messageId(channel, message.ts), text, at },
      home,
    };
  }

  async #deleted(event: z.infer<typeof deletedMessage>): Promise<Converted> {
    return this.#gone(event.channel, event.previous_message ?? null, event.deleted_ts, event.event_ts);
  }

  async #gone(channel: string, before: SlackMessage | null, ts: string, eventTs: string): Promise<Converted> {
    const { reader, names } = this.#parts;
    if (before !== null && isOwn(before, await names.bot())) return null;
    const home = await reader.where(
      before === null ? { channel, threadTs: null } : placeOfMessage(channel, before),
    );
    const at = timeOfTs(eventTs);
    return { event: { type: "deletion", platform: PLATFORM_NAME, id: messageId(channel, ts), at }, home };
  }

  /** Not for an archived channel, or a removed bot. */
  async #channelDeleted({ channel, event_ts: ts }: z.infer<typeof goneEvent>): Promise<Converted> {
    const { teamId } = await this.#parts.names.bot();
    const address = addressOf({ channel, threadTs: null });
    const home: ChannelOnPlatform = { channel: address, kind: "channel", workspace: teamId };
    const at = timeOfTs(ts);
    return {
      event: { type: "channel_deletion", platform: PLATFORM_NAME, channel: address, id: channel, at },
      home,
    };
  }

  async #reaction(event: { type: string }): Promise<boolean> {
    const parsed = this.#parse(reactionEvent, event);
    const { channel, ts } = parsed?.item ?? {};
    if (parsed?.item.type !== "message" || typeof channel !== "string" || typeof ts !== "string") return true;
    return this.#hand(inChannel(channel), async () => this.#reacted(parsed, channel, ts), REDELIVERED);
  }

  async #reacted(
    { type, user, reaction, event_ts: eventTs }: z.infer<typeof reactionEvent>,
    channel: string,
    ts: string,
  ): Promise<Converted> {
    const { reader, names } = this.#parts;
    if (user === (await names.bot()).userId) return null;
    const home = await reader.where({ channel, threadTs: await this.#threadOf(channel, ts) });
    const replyTo = messageId(channel, ts);
    const id = reactionId(replyTo, user, reaction);
    const at = timeOfTs(eventTs);
    if (type === "reaction_removed") {
      const reactions = { messageId: replyTo, person: user, emoji: reaction };
      return { event: { type: "deletion", platform: PLATFORM_NAME, id, at, reactions }, home };
    }
    const author = await reader.person(user);
    const text = `reacted with ${shownEmoji(reaction)}`;
    const event: InboundEvent = { type: "message", ...home, id, author, text, at, addressed: false, replyTo };
    return { event, home };
  }

  /** A reaction names no thread. */
  async #threadOf(channel: string, ts: string): Promise<string | null> {
    const id = messageId(channel, ts);
    const known = this.#threads.get(id);
    if (known !== undefined) return known;
    const args = { channel, ts, limit: 1, inclusive: true };
    const { messages } = await this.#parts.api.call("conversations.replies", args, messagePage);
    const message = messages.find((one) => one.ts === ts) ?? slackMessage.parse({ ts });
    const { threadTs } = placeOfMessage(channel, message);
    this.#threads.set(id, threadTs);
    return threadTs;
  }

  /**
   * Reads events concurrently. They are handed in in order of arrival in a channel with its threads, since a
   * reaction does not tell its thread.
   */
  async #hand(
    place: SlackPlace,
    convert: () => Promise<Converted>,
    how: Pick<Arrival, "kind" | "isFetchedIfUnread">,
  ): Promise<boolean> {
    const { intake, reader } = this.#parts;
    const converting = convert().then((heard) => (heard === null ? [] : [heard]));
    // This may fail while earlier events still run: prevents an unhandled rejection.
    converting.catch(() => undefined);
    const receipts = await intake.hand({
      lane: place.channel,
      read: async () => converting,
      name: addressOf(place).name,
      where: async () => [await reader.where(place)],
      ...how,
    });
    return receipts !== undefined;
  }

  #parse<Schema extends z.ZodType>(schema: Schema, event: { type: string }): z.output<Schema> | null {
    const parsed = schema.safeParse(event);
    if (parsed.success) return parsed.data;
    this.#unread.tell(event.type, parsed.error);
    return null;
  }
}

function inChannel(channel: string): SlackPlace {
  return { channel, threadTs: null };
}
