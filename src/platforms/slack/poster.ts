import type { Logger } from "pino";
import { BoundedMap } from "../../core/bounded-map.ts";
import type { ChannelAddress } from "../../core/ids.ts";
import type { OutboundMessage } from "../../core/message.ts";
import { compareTs, messageId, parseMessageId, placeOf, PLATFORM_NAME } from "./address.ts";
import { type SlackApi, SlackError } from "./api.ts";
import { Cache } from "./cache.ts";
import { emojiName } from "./emoji.ts";
import { type Names, nothing } from "./names.ts";
import { fitMrkdwn } from "./outbound.ts";
import { messagePage, posted, type SlackMessage } from "./payload.ts";
import type { People } from "./people.ts";
import { isOwn } from "./reader.ts";

export interface PosterParts {
  readonly api: SlackApi;
  readonly names: Names;
  readonly people: People;
  readonly log: Logger;
}

/** Longest text that `chat.update` takes, and that `chat.postMessage` does not split. */
export const MAX_POST_LENGTH = 4000;
const EVENT_TYPE = "weir_message";
const MAX_KEYS = 5000;
/** Pages in which an earlier attempt at a post is looked for. */
const MAX_PAGES = 10;
/** A status goes away by itself after two minutes; it is told again after so long, ms. */
const STATUS_AGAIN_MS = 45_000;
const MINUTES_10 = 600_000;
const STATUS = "is thinking…";

/** Posts, changes and takes back messages of the bot's. */
export class Poster {
  readonly #parts: PosterParts;
  /** Ids of what was posted, by idempotency key; null: nobody knows whether it was. */
  readonly #posts = new BoundedMap<string | null>(MAX_KEYS);
  readonly #statuses = new Cache<true>(1000);
  /** Threads that show a status, as far as we know. */
  readonly #working = new Set<string>();

  constructor(parts: PosterParts) {
    this.#parts = parts;
  }

  /**
   * Posts a text once a key: where an earlier attempt may have been taken, it is looked for by the key in its metadata.
   * @throws SlackError
   */
  async send(message: OutboundMessage): Promise<string> {
    const { idempotencyKey: key } = message;
    const known = this.#posts.get(key);
    if (typeof known === "string") return known;
    if (this.#working.delete(message.channel.name)) this.#statuses.delete(message.channel.name);
    const earlier = message.mayBeThere || known === null ? await this.#find(message) : null;
    const id = earlier ?? (await this.#post(message));
    this.#posts.set(key, id);
    return id;
  }

  /** @throws SlackError */
  async edit(id: string, message: OutboundMessage): Promise<void> {
    const { channel, ts } = ownMessage(id);
    await this.#parts.api.call("chat.update", { channel, ts, ...this.#body(message) }, nothing);
  }

  /** @throws SlackError */
  async remove(id: string): Promise<void> {
    const { channel, ts } = ownMessage(id);
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

  /** Says under a thread that an answer is being made. Slack takes the line back when something is posted there. */
  showWorking(address: ChannelAddress, isWorking: boolean): void {
    if (placeOf(address).threadTs === null) return;
    if (isWorking) {
      void this.#statuses.get(address.name, async () => {
        const isShown = await this.#tellStatus(address, STATUS);
        if (isShown) this.#working.add(address.name);
        // Where an app may not, it is no use to ask every few seconds.
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
    this.#posts.set(key, null);
    try {
      const args = {
        channel,
        ...(threadTs !== null && { thread_ts: threadTs }),
        ...this.#body(message),
        unfurl_links: false,
        unfurl_media: false,
      };
      const { ts, channel: where } = await this.#parts.api.call("chat.postMessage", args, posted);
      return messageId(where, ts);
    } catch (error) {
      // Slack has said no: there is nothing to look for.
      if (error instanceof SlackError && error.code !== null) this.#posts.delete(key);
      throw error;
    }
  }

  #body({ text, channel, idempotencyKey }: OutboundMessage): Record<string, unknown> {
    const names = this.#parts.people.of(placeOf(channel).channel);
    return {
      text: fitMrkdwn(text, names, MAX_POST_LENGTH),
      metadata: { event_type: EVENT_TYPE, event_payload: { key: idempotencyKey } },
    };
  }

  /** @returns the id of our own message with this key, if there is one behind what it answers */
  async #find(message: OutboundMessage): Promise<string | null> {
    const { channel, threadTs } = placeOf(message.channel);
    const oldest = newestTs(message.inReplyTo, channel);
    const isWanted = await this.#matcher(message.idempotencyKey);
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
      const found = answer?.messages.find(isWanted);
      if (found !== undefined) return messageId(channel, found.ts);
      cursor = answer?.response_metadata?.next_cursor ?? "";
      if (cursor === "") return null;
    }
    return null;
  }

  async #matcher(key: string): Promise<(message: SlackMessage) => boolean> {
    const bot = await this.#parts.names.bot();
    return (message) => isOwn(message, bot) && message.metadata?.event_payload?.key === key;
  }

  /** An app that may not read what was said must not fall silent for it. */
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

/** The newest of the messages that an answer is to, in its own channel. */
function newestTs(ids: readonly string[], channel: string): string | null {
  const all = ids.flatMap((id) => {
    const parsed = parseMessageId(id);
    return parsed === null || parsed.channel !== channel ? [] : [parsed.ts];
  });
  return all.toSorted(compareTs).at(-1) ?? null;
}
