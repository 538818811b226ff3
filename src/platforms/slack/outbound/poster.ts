import type { Logger } from "pino";
import { BoundedMap } from "../../../async/bounded-map.ts";
import { errorMessage } from "../../../core/errors.ts";
import type { ChannelAddress } from "../../../core/ids.ts";
import type { OutboundMessage } from "../../../core/message.ts";
import { compareTs, messageId, parseMessageId, placeOf, PLATFORM_NAME } from "../address.ts";
import type { SlackApi } from "../web/api.ts";
import { SlackError } from "../web/slack-error.ts";
import { Cache } from "../../../async/cache.ts";
import { emojiName } from "./emoji.ts";
import { type Names, nothing } from "../web/names.ts";
import { unescapeText } from "../inbound/readable-text.ts";
import { MAX_SECTION, toButtonBlocks } from "./buttons.ts";
import { toBlocks } from "./card.ts";
import { fitMrkdwn } from "./mrkdwn.ts";
import { messagePage, posted, type SlackMessage } from "../inbound/payload.ts";
import type { People } from "../web/people.ts";
import { isOwn } from "../inbound/reader.ts";
import type { UpdateBudget } from "../web/update-budget.ts";

export interface PosterParts {
  readonly api: SlackApi;
  /** With a longer timeout. */
  readonly patient: SlackApi;
  readonly names: Names;
  readonly people: People;
  readonly budget: UpdateBudget;
  /** Delays after a second attempt at a post before checks for a late first post, ms. */
  readonly lookAgainMs: readonly number[];
  readonly log: Logger;
}

/** Longest text that `chat.update` accepts and `chat.postMessage` does not split. */
export const MAX_POST_LENGTH = 4000;
const EVENT_TYPE = "weir_message";
const MAX_KEYS = 5000;
/** Pages searched for an earlier attempt at a post. */
const MAX_PAGES = 10;
/** Interval at which a status is renewed, ms: it expires after two minutes. */
const STATUS_AGAIN_MS = 45_000;
const MINUTES_10 = 600_000;
const STATUS = "is thinking…";

interface Post {
  readonly channel: string;
  /** Null: whether it was made is unknown. */
  readonly id: string | null;
}

/** An earlier attempt at a post, found by its key, or by its text if Slack returns no key. */
interface Found {
  readonly id: string;
  readonly by: "key" | "text";
}

/** Posts, edits and deletes the bot's messages. */
export class Poster {
  readonly #parts: PosterParts;
  /** Posts, by idempotency key. */
  readonly #posts = new BoundedMap<Post>(MAX_KEYS);
  /** Keys of answers that show pieces, by message id. */
  readonly #pieces = new BoundedMap<string>(MAX_KEYS);
  readonly #looks = new Set<NodeJS.Timeout>();
  readonly #statuses = new Cache<true>(1000);
  /** Threads believed to show a status. */
  readonly #working = new Set<string>();

  constructor(parts: PosterParts) {
    this.#parts = parts;
  }

  /**
   * Posts a text once per key. If an earlier attempt may have succeeded, it is searched for by the key in its
   * metadata.
   * @throws SlackError
   */
  async send(message: OutboundMessage): Promise<string> {
    const { idempotencyKey: key } = message;
    const known = this.#posts.get(key);
    if (typeof known?.id === "string") return known.id;
    if (this.#working.delete(message.channel.name)) this.#statuses.delete(message.channel.name);
    const isAgain = message.mayBeThere || known !== undefined;
    const earlier = isAgain ? (await this.#find(message)).at(0)?.id : undefined;
    const id = earlier ?? (await this.#post(message));
    this.#posts.set(key, { channel: message.channel.name, id });
    if (message.final) this.#parts.budget.ended(key);
    else this.#pieces.set(id, key);
    if (isAgain && earlier === undefined) this.#lookAgain(id, message);
    return id;
  }

  close(): void {
    for (const look of this.#looks) clearTimeout(look);
    this.#looks.clear();
  }

  /** @throws SlackError */
  async edit(id: string, message: OutboundMessage): Promise<void> {
    const { channel, ts } = ownMessage(id);
    const { api, budget } = this.#parts;
    budget.updated(message.idempotencyKey, message.final);
    try {
      await api.call(
        "chat.update",
        { channel, ts, ...this.#body(message), ...this.#buttons(message) },
        nothing,
      );
    } catch (error) {
      if (error instanceof SlackError && error.code === "ratelimited")
        budget.limited(error.retryAfterMs ?? 0);
      throw error;
    }
  }

  /** @throws SlackError */
  async remove(id: string): Promise<void> {
    const { channel, ts } = ownMessage(id);
    const key = this.#pieces.get(id);
    if (key !== undefined) this.#parts.budget.ended(key);
    try {
      await this.#parts.api.call("chat.delete", { channel, ts }, nothing);
    } catch (error) {
      if (!(error instanceof SlackError && error.code === "message_not_found")) throw error;
    }
  }

  /** @throws SlackError */
  async react(id: string, emoji: string): Promise<void> {
    const { channel, ts: timestamp } = ownMessage(id);
    const name = emojiName(emoji);
    if (name === null) throw new SlackError("rejected", "Slack's name of this emoji is not known.", {});
    try {
      await this.#parts.api.call("reactions.add", { channel, timestamp, name }, nothing);
    } catch (error) {
      if (!(error instanceof SlackError && error.code === "already_reacted")) throw error;
    }
  }

  /** Shows under a thread that an answer is being written. Slack removes the line at the next post there. */
  showTyping(address: ChannelAddress, isWorking: boolean): void {
    if (placeOf(address).threadTs === null) return;
    if (isWorking) {
      void this.#statuses.get(address.name, async () => {
        const isShown = await this.#tellStatus(address, STATUS);
        if (isShown) this.#working.add(address.name);
        // If the app lacks the permission, frequent retries are useless.
        return { value: true, forMs: isShown ? STATUS_AGAIN_MS : MINUTES_10 };
      });
    } else if (this.#working.delete(address.name)) {
      this.#statuses.delete(address.name);
      void this.#tellStatus(address, "");
    }
  }

  /** Does not throw. */
  async #tellStatus(address: ChannelAddress, status: string): Promise<boolean> {
    const { channel, threadTs } = placeOf(address);
    try {
      const args = { channel_id: channel, thread_ts: threadTs, status };
      await this.#parts.api.call("assistant.threads.setStatus", args, nothing);
      return true;
    } catch {
      return false;
    }
  }

  async #post(message: OutboundMessage): Promise<string> {
    const { channel, threadTs } = placeOf(message.channel);
    const { idempotencyKey: key } = message;
    this.#posts.set(key, { channel: message.channel.name, id: null });
    try {
      const args = {
        channel,
        ...(threadTs !== null && { thread_ts: threadTs }),
        ...this.#body(message),
        ...(message.card !== undefined && { blocks: toBlocks(message.card) }),
        ...this.#buttons(message),
        unfurl_links: false,
        unfurl_media: false,
      };
      const { ts, channel: where } = await this.#parts.patient.call("chat.postMessage", args, posted);
      return messageId(where, ts);
    } catch (error) {
      // Slack refused, so no post exists.
      if (error instanceof SlackError && error.code !== null) this.#posts.delete(key);
      throw error;
    }
  }

  #body({ text, channel, idempotencyKey }: OutboundMessage): { text: string; metadata: object } {
    const names = this.#parts.people.of(placeOf(channel).channel);
    return {
      text: fitMrkdwn(text, names, MAX_POST_LENGTH),
      metadata: { event_type: EVENT_TYPE, event_payload: { key: idempotencyKey } },
    };
  }

  #buttons({ text, channel, actions }: OutboundMessage): object {
    if (actions === undefined) return {};
    const names = this.#parts.people.of(placeOf(channel).channel);
    return { blocks: toButtonBlocks(fitMrkdwn(text, names, MAX_SECTION), actions) };
  }

  /** A post that timed out may still appear long after its retry: the surplus post is deleted. Best effort, in memory. */
  #lookAgain(id: string, message: OutboundMessage): void {
    for (const afterMs of this.#parts.lookAgainMs) {
      const look = setTimeout(() => {
        this.#looks.delete(look);
        void this.#takeBackOthers(id, message);
      }, afterMs);
      look.unref();
      this.#looks.add(look);
    }
  }

  /** Does not throw. */
  async #takeBackOthers(id: string, message: OutboundMessage): Promise<void> {
    const { log } = this.#parts;
    try {
      const found = await this.#find(message, id);
      // If post `id` is not found (deleted, or out of range), none counts as surplus.
      if (!found.some((one) => one.id === id)) return;
      for (const other of found) {
        if (other.id === id || (other.by === "text" && this.#mayBeAnothers(other.id, message))) continue;
        await this.remove(other.id);
        log.info({ platform: PLATFORM_NAME, channel: message.channel.name }, "late_post_taken_back");
      }
    } catch (error) {
      log.warn({ platform: PLATFORM_NAME, why: errorMessage(error) }, "late_post_not_looked_for");
    }
  }

  /**
   * Whether the found message may belong to another post: it is known as that post's, or the id of another post to the
   * same channel is not known yet.
   */
  #mayBeAnothers(id: string, { channel, idempotencyKey }: OutboundMessage): boolean {
    return [...this.#posts.entries()].some(
      ([key, post]) =>
        key !== idempotencyKey && (post.id === id || (post.id === null && post.channel === channel.name)),
    );
  }

  /**
   * @param known the post to keep, if known
   * @returns the bot's messages with this key, after those it answers: one, or all if `known` is given
   */
  async #find(message: OutboundMessage, known?: string): Promise<Found[]> {
    const { channel, threadTs } = placeOf(message.channel);
    const oldest = newestTs(message.inReplyTo, channel);
    const match = await this.#matcher(message, known);
    const found: Found[] = [];
    const args = {
      channel,
      include_all_metadata: true,
      limit: 200,
      ...(oldest !== null && { oldest, inclusive: false }),
      ...(threadTs !== null && { ts: threadTs }),
    };
    const method = threadTs === null ? "conversations.history" : "conversations.replies";
    let cursor = "";
    for (let page = 0; page < MAX_PAGES; page++) {
      const answer = await this.#look(method, { ...args, ...(cursor !== "" && { cursor }) });
      found.push(...(answer?.messages ?? []).flatMap((one) => match(one) ?? []));
      cursor = answer?.response_metadata?.next_cursor ?? "";
      if (cursor === "" || (found.length > 0 && known === undefined)) break;
    }
    return found;
  }

  /** By the key; if Slack returns no metadata, by the same text that is no other answer's. */
  async #matcher(message: OutboundMessage, known?: string): Promise<(one: SlackMessage) => Found | null> {
    const bot = await this.#parts.names.bot();
    const { text } = this.#body(message);
    const { channel } = placeOf(message.channel);
    const others = new Set([...this.#posts.entries()].map(([, post]) => post.id));
    const whole = unescapeText(text).trim();
    return (one) => {
      if (!isOwn(one, bot)) return null;
      const key = one.metadata?.event_payload?.key;
      const id = messageId(channel, one.ts);
      if (key !== undefined || id === known)
        return id === known || key === message.idempotencyKey ? { id, by: "key" } : null;
      const there = unescapeText(one.text ?? "").trim();
      const isPiece = message.mayBeInPart === true && there !== "" && whole.startsWith(there);
      return (there === whole || isPiece) && !others.has(id) ? { id, by: "text" } : null;
    };
  }

  /** An app without the history scopes must still answer. */
  async #look(
    method: string,
    args: Record<string, unknown>,
  ): Promise<ReturnType<typeof messagePage.parse> | null> {
    try {
      return await this.#parts.api.call(method, args, messagePage);
    } catch (error) {
      if (!(error instanceof SlackError && error.code === "missing_scope")) throw error;
      this.#parts.log.warn({ platform: PLATFORM_NAME, needed: error.needed }, "earlier_post_not_looked_for");
      return null;
    }
  }
}

function ownMessage(id: string): { readonly channel: string; readonly ts: string } {
  const parsed = parseMessageId(id);
  if (parsed === null) throw new SlackError("gone", "This is no message of Slack's.", {});
  return parsed;
}

/** The newest of the messages answered, in the answer's channel. */
function newestTs(ids: readonly string[], channel: string): string | null {
  const all = ids.flatMap((id) => {
    const parsed = parseMessageId(id);
    return parsed === null || parsed.channel !== channel ? [] : [parsed.ts];
  });
  return all.toSorted(compareTs).at(-1) ?? null;
}
