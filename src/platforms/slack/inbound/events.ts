import type { Logger } from "pino";
import { z } from "zod";
import { BoundedMap } from "../../../async/bounded-map.ts";
import { errorMessage } from "../../../core/errors.ts";
import type { ChannelAddress } from "../../../core/ids.ts";
import { type ChannelOnPlatform, type InboundEvent, reactionId } from "../../../core/message.ts";
import { editOf } from "../../intake/asking-edits.ts";
import type { Arrival, Heard, Intake } from "../../intake/intake.ts";
import { Unread } from "../../intake/unread.ts";
import type { CatchUpLedger, PlatformInbox } from "../../platform.ts";
import {
  addressOf,
  isDm,
  messageId,
  PLATFORM_NAME,
  type SlackPlace,
  timeOfTs,
  tsOfTime,
} from "../address.ts";
import type { ChannelRenames } from "../channel-renames.ts";
import type { SlackApi } from "../web/api.ts";
import { shownEmoji } from "../outbound/emoji.ts";
import type { Feedback } from "../outbound/feedback.ts";
import { isSpoken } from "./readable-text.ts";
import { isSameSaid } from "./visible-parts.ts";
import type { Names } from "../web/names.ts";
import {
  type ButtonPress,
  changedMessage,
  conversion,
  deletedMessage,
  eventCallback,
  goneEvent,
  homeOpenedEvent,
  idChangedEvent,
  messagePage,
  reactionEvent,
  renameEvent,
  saidMessage,
  slackMessage,
  type SlackMessage,
  stoppedEvent,
  threadStartedEvent,
} from "./payload.ts";
import { isOwn, type MessageReader } from "./reader.ts";
import type { AgentView } from "./agent-view.ts";
import type { AgentThreads, ThreadPlace } from "../outbound/agent-threads.ts";
import { FilePolicy } from "./file-policy.ts";

interface EventsParts {
  readonly api: SlackApi;
  readonly names: Names;
  readonly reader: MessageReader;
  readonly intake: Pick<Intake, "hand">;
  readonly inbox: Pick<PlatformInbox, "meetChannels" | "transcripts">;
  readonly ledger: Pick<CatchUpLedger, "policyOf">;
  readonly renames: ChannelRenames;
  readonly log: Logger;
  readonly agentView: AgentView;
  readonly agentThreads: Pick<AgentThreads, "opened" | "started" | "said" | "deleted">;
  /** A reader has pressed Slack's own stop button. Must not throw. */
  readonly onStopped: (channel: ChannelAddress, user: string) => Promise<void>;
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

const CHANGED_ID = "channel_id_changed";

type SlackEvent = z.infer<typeof eventCallback>["event"];

const channelOf = z.object({
  channel: z.string().optional().catch(undefined),
  item: z.looseObject({ channel: z.string().optional() }).optional().catch(undefined),
});

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
    const { event_id: eventId, event, is_ext_shared_channel: isConnected } = callback.data;
    if (typeof isConnected === "boolean" && typeof event["channel"] === "string")
      this.#parts.names.noteConnected(event["channel"], isConnected);
    return this.#once(eventId, async () =>
      // At once: a message under the new id may be behind it in the same packet, and waits only for a change that has begun.
      event.type === CHANGED_ID ? this.#dispatch(event) : this.#dispatch(await this.#withFirstIds(event)),
    );
  }

  /** The event by Weir's ids of its channel. @throws WeirError if the database does not answer */
  async #withFirstIds(event: SlackEvent): Promise<SlackEvent> {
    const { renames } = this.#parts;
    const place = channelOf.safeParse(event).data ?? {};
    const id = place.channel ?? place.item?.channel;
    if (id === undefined) return event;
    await renames.meet(id);
    const channel = renames.firstId(id);
    if (channel === id) return event;
    return place.channel === undefined
      ? { ...event, item: { ...place.item, channel } }
      : { ...event, channel };
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

  async #dispatch(event: SlackEvent): Promise<boolean> {
    switch (event.type) {
      case "message":
      case "app_mention":
        return this.#message(event);
      case "reaction_added":
      case "reaction_removed":
        return this.#reaction(event);
      case "channel_deleted":
      case "group_deleted":
        return this.#read(goneEvent, event, async (deleted) =>
          this.#hand(inChannel(deleted.channel), async () => this.#channelDeleted(deleted), REDELIVERED),
        );
      case CHANGED_ID:
        return this.#read(idChangedEvent, event, async ({ old_channel_id: before, new_channel_id: now }) => {
          await this.#parts.renames.changed(before, now);
          this.#parts.names.forgetChannel(this.#parts.renames.firstId(now));
          return true;
        });
      case "channel_rename":
      case "group_rename": {
        const renamed = renameEvent.safeParse(event);
        if (renamed.success)
          this.#parts.names.forgetChannel(this.#parts.renames.firstId(renamed.data.channel.id));
        return true;
      }
      case "agent_session_stopped":
        return this.#read(stoppedEvent, event, async ({ channel, thread_ts: threadTs, user }) => {
          void this.#parts.onStopped(addressOf({ channel, threadTs: threadTs || null }), user);
          return true;
        });
      case "app_home_opened":
        return this.#read(homeOpenedEvent, event, async (opened) => this.#opened(opened));
      case "assistant_thread_started":
        return this.#read(threadStartedEvent, event, async ({ assistant_thread: started }) => {
          this.#parts.agentThreads.started(started.channel_id, started.thread_ts, started.user_id);
          return true;
        });
      case "app_context_changed":
        this.#parts.agentView.shown();
        return true;
      default:
        return true;
    }
  }

  /** A person has opened the bot's direct messages. */
  #opened({ channel, user, tab, context }: z.infer<typeof homeOpenedEvent>): true {
    const { agentView, agentThreads } = this.#parts;
    // The home tab of an app has no messages.
    if (tab !== "messages") return true;
    // Only an agent is sent what the person looks at.
    if (context != null) agentView.shown();
    if (agentView.isOn) agentThreads.opened(channel, user);
    return true;
  }

  async #message(event: SlackEvent): Promise<boolean> {
    switch (event.subtype) {
      case "channel_convert_to_private":
      case "channel_convert_to_public":
        return this.#read(conversion, event, async (converted) => this.#converted(converted));
      case "message_changed":
        return this.#read(changedMessage, event, async (changed) => {
          const place = this.#placeOf(changed.channel, changed.message);
          return this.#hand(place, async () => this.#changed(changed), FETCHED);
        });
      case "message_deleted":
        return this.#read(deletedMessage, event, async ({ channel, previous_message: before, ...at }) => {
          const gone = async (): Promise<Converted> =>
            this.#gone(channel, before ?? null, at.deleted_ts, at.event_ts);
          return this.#hand(inChannel(channel), gone, FETCHED);
        });
      default:
        return this.#read(saidMessage, event, async (said) => {
          if (!isSpoken(said)) return true;
          if (event.type === "app_mention" && said.edited != null)
            return this.#mentionedByEdit(said, said.edited.ts);
          const { channel } = said;
          // A mention comes under two event ids, with the same text.
          return this.#once(messageId(channel, said.ts), async () =>
            this.#hand(this.#placeOf(channel, said), async () => this.#said(channel, said), MESSAGE),
          );
        });
    }
  }

  /** Slack sends it besides `message_changed`, which an app with few events does not get. */
  async #mentionedByEdit(said: z.infer<typeof saidMessage>, at: string): Promise<boolean> {
    const { channel } = said;
    const place = this.#placeOf(channel, said);
    return this.#once(`${messageId(channel, said.ts)}/${at}`, async () =>
      this.#hand(place, async () => this.#edited(channel, said, said, timeOfTs(at)), FETCHED),
    );
  }

  #placeOf(channel: string, message: SlackMessage): SlackPlace {
    return this.#parts.agentView.placeOf(channel, message);
  }

  #converted({ channel: id, subtype, ts }: z.infer<typeof conversion>): true {
    const channel = addressOf({ channel: id, threadTs: null });
    const isPrivate = subtype === "channel_convert_to_private";
    // A message of the same instant may have come before it.
    const at = ts == null ? null : new Date(timeOfTs(ts).getTime() + 1);
    this.#parts.names.forgetChannel(id);
    void this.#parts.inbox.meetChannels(PLATFORM_NAME, [{ channel, isPrivate, ...(at !== null && { at }) }]);
    return true;
  }

  async #said(channel: string, message: SlackMessage): Promise<Converted> {
    const { reader, names, agentThreads } = this.#parts;
    const place = this.#placeOf(channel, message);
    this.#threads.set(messageId(channel, message.ts), place.threadTs);
    if (isOwn(message, await names.bot())) return null;
    const withFiles = await this.#filePolicy.readsFilesOf(channel, message);
    const event = await reader.read(channel, message, { withFiles });
    const thread = directThread(place);
    if (thread !== null) agentThreads.said(thread, message.ts, event.text);
    return event.text === "" && event.images === undefined ? null : { event, home: event };
  }

  /** A new preview is no edit. A deleted root that has replies becomes a tombstone. */
  async #changed(event: z.infer<typeof changedMessage>): Promise<Converted> {
    const { channel, message, previous_message: previous, event_ts: eventTs } = event;
    if (message.subtype === "tombstone") return this.#gone(channel, previous ?? message, message.ts, eventTs);
    const isSame = isSameSaid(previous ?? null, message, this.#parts.inbox.transcripts === undefined);
    if (isSame || !isSpoken(message)) return null;
    return this.#edited(channel, message, previous ?? message, timeOfTs(message.edited?.ts ?? eventTs));
  }

  async #edited(
    channel: string,
    message: SlackMessage,
    previous: SlackMessage,
    at: Date,
  ): Promise<Converted> {
    const { reader, names } = this.#parts;
    if (isOwn(message, await names.bot())) return null;
    const withFiles = await this.#filePolicy.readsFilesOf(channel, message, previous);
    const said = await reader.read(channel, message, { withFiles });
    const thread = directThread(this.#placeOf(channel, message));
    if (thread !== null) this.#parts.agentThreads.said(thread, message.ts, said.text);
    return { event: editOf(said, at), home: said };
  }

  async #gone(channel: string, before: SlackMessage | null, ts: string, eventTs: string): Promise<Converted> {
    const { reader, names } = this.#parts;
    if (before !== null && isOwn(before, await names.bot())) return null;
    const home = await reader.where(
      before === null ? { channel, threadTs: null } : this.#placeOf(channel, before),
    );
    const thread = before === null ? null : directThread(this.#placeOf(channel, before));
    if (thread !== null) this.#parts.agentThreads.deleted(thread, ts);
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

  async #reaction(event: SlackEvent): Promise<boolean> {
    return this.#read(reactionEvent, event, async (reaction) => {
      const { type, channel, ts } = reaction.item;
      if (type !== "message" || typeof channel !== "string" || typeof ts !== "string") return true;
      return this.#hand(inChannel(channel), async () => this.#reacted(reaction, channel, ts), REDELIVERED);
    });
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

  /**
   * Somebody has pressed a feedback button: the same as a reaction, which takes the place of the opposite one.
   * @returns whether it is stored. Does not throw
   */
  async rated({ emoji, opposite }: Feedback, press: ButtonPress): Promise<boolean> {
    const { channel_id: channel, message_ts: ts } = press.container;
    const { user, actions } = press;
    const at = actions[0]?.action_ts ?? tsOfTime(new Date());
    const reacted = async (type: string, reaction: string): Promise<boolean> => {
      const item = { type: "message", channel, ts };
      return this.#reaction({ type, user: user.id, reaction, item, event_ts: at });
    };
    try {
      return (await reacted("reaction_removed", opposite)) && (await reacted("reaction_added", emoji));
    } catch (error) {
      this.#parts.log.warn({ platform: PLATFORM_NAME, why: errorMessage(error) }, "event_not_taken");
      return false;
    }
  }

  /** A reaction names no thread. */
  async #threadOf(channel: string, ts: string): Promise<string | null> {
    const id = messageId(channel, ts);
    const known = this.#threads.get(id);
    if (known !== undefined) return known;
    const args = { channel, ts, limit: 1, inclusive: true };
    const { messages } = await this.#parts.api.call("conversations.replies", args, messagePage);
    const message = messages.find((one) => one.ts === ts) ?? slackMessage.parse({ ts });
    const { threadTs } = this.#placeOf(channel, message);
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

  /** @returns what `work` returns; true: the event is unreadable, and would be so again */
  async #read<Schema extends z.ZodType>(
    schema: Schema,
    event: SlackEvent,
    work: (event: z.output<Schema>) => Promise<boolean>,
  ): Promise<boolean> {
    const parsed = schema.safeParse(event);
    if (parsed.success) return work(parsed.data);
    this.#unread.tell(event.type, parsed.error);
    return true;
  }
}

/** A thread in direct messages; null: it is none. */
function directThread({ channel, threadTs }: SlackPlace): ThreadPlace | null {
  return isDm(channel) && threadTs !== null ? { channel, threadTs } : null;
}

function inChannel(channel: string): SlackPlace {
  return { channel, threadTs: null };
}
