import { createHash } from "node:crypto";
import { Routes } from "discord.js";
import type { Logger } from "pino";
import { z } from "zod";
import { BoundedMap } from "../../../async/bounded-map.ts";
import { errorMessage } from "../../../core/errors.ts";
import { type ChannelAddress, formatAddress } from "../../../core/ids.ts";
import type { OutboundMessage } from "../../../core/message.ts";
import { PlatformError } from "../../platform.ts";
import { type DiscordApi, isReplyRefused, parsed } from "../rest/api.ts";
import type { Directory } from "../rest/directory.ts";
import { Emojis } from "../rest/emojis.ts";
import { type Content, toDiscord } from "./content.ts";
import { type MessagePayload, messagePayload } from "../inbound/payload.ts";
import type { People } from "../rest/people.ts";
import type { BotIdentity } from "../gateway/bot-identity.ts";
import { compareIds, idOfTime, isSnowflake } from "../snowflake.ts";
import type { DiscordTiming } from "../timing.ts";

export interface PosterParts {
  readonly api: DiscordApi;
  readonly identity: BotIdentity;
  readonly directory: Directory;
  readonly people: People;
  readonly lastMessages: BoundedMap<string>;
  readonly timing: Pick<DiscordTiming, "nonceMs" | "typingMs">;
  readonly log: Logger;
}

const posted = z.object({ id: z.string(), content: z.string() });
const postedMessages = z.array(messagePayload);

/** Messages that are remembered, of those that were sent. */
const MAX_REMEMBERED = 5000;
/** Pages of a channel that are searched for a message that may be there. */
const MAX_PAGES = 3;
const PAGE = 100;
/** An answer to nobody is looked for this far back, ms. */
const LOOK_BACK_MS = 3_600_000;
/** Signs of typing in a second: of the calls that Discord allows they are the first to do without. */
const MAX_TYPING = 10;

/** Puts the bot's words into channels, each once. All calls throw PlatformError. */
export class Poster {
  readonly #parts: PosterParts;
  readonly #emojis: Emojis;
  /** When a key was first sent. */
  readonly #attempts = new BoundedMap<number>(MAX_REMEMBERED);
  /** The key of each message that was acknowledged. */
  readonly #keys = new BoundedMap<string>(MAX_REMEMBERED);
  /** What each message showed when Discord last said so, and whether that was a piece of an answer that was being written. */
  readonly #shown = new BoundedMap<{ readonly content: string; readonly isPiece: boolean }>(200);
  readonly #typedAt = new BoundedMap<number>(1000);
  /** When the last of them were sent. */
  #typing: number[] = [];

  constructor(parts: PosterParts) {
    this.#parts = parts;
    this.#emojis = new Emojis(parts.api);
  }

  /** @returns the message's id */
  async send(message: OutboundMessage): Promise<string> {
    const { name } = message.channel;
    const content = this.#convert(message);
    const id = (await this.#earlier(message, content)) ?? (await this.#post(message, content));
    this.#keys.set(id, message.idempotencyKey);
    const newest = this.#parts.lastMessages.get(name);
    if (newest === undefined || compareIds(newest, id) < 0) this.#parts.lastMessages.set(name, id);
    return id;
  }

  async edit(messageId: string, message: OutboundMessage): Promise<void> {
    const content = this.#convert(message);
    const shown = this.#shown.get(messageId);
    // Somebody may have deleted a piece meanwhile: that the final text is there, Discord itself has to say.
    if (shown?.content === content.content && !(shown.isPiece && message.final)) return;
    const route = Routes.channelMessage(message.channel.name, messageId);
    await this.#parts.api.call({ method: "PATCH", route, body: bodyOf(content) });
    this.#shown.set(messageId, { content: content.content, isPiece: !message.final });
  }

  /** Where there is none any more, nothing happens. */
  async remove({ name }: ChannelAddress, messageId: string): Promise<void> {
    try {
      await this.#parts.api.call({ method: "DELETE", route: Routes.channelMessage(name, messageId) });
    } catch (error) {
      if (!(error instanceof PlatformError) || error.kind !== "gone") throw error;
    }
  }

  async react({ name }: ChannelAddress, messageId: string, emoji: string): Promise<void> {
    const sign = await this.#emojis.sign(emoji, this.#parts.directory.known(name)?.guildId);
    const route = Routes.channelMessageOwnReaction(name, messageId, encodeURIComponent(sign));
    await this.#parts.api.call({ method: "PUT", route });
  }

  /** Best effort, and rarely: whoever posts does not wait for it. */
  showTyping(channel: ChannelAddress, isWorking: boolean): void {
    const { api, timing, log } = this.#parts;
    const { name } = channel;
    const last = this.#typedAt.get(name);
    const now = performance.now();
    const isShown = last !== undefined && now - last < timing.typingMs;
    this.#typing = this.#typing.filter((at) => now - at < 1000);
    if (!isWorking || isShown || this.#typing.length >= MAX_TYPING) return;
    this.#typedAt.set(name, now);
    this.#typing.push(now);
    api
      .call({ method: "POST", route: Routes.channelTyping(name) })
      .catch((error: unknown) =>
        log.debug({ channel: formatAddress(channel), why: errorMessage(error) }, "typing_not_shown"),
      );
  }

  #convert({ channel, text }: OutboundMessage): Content {
    return toDiscord(text, this.#parts.people.namesIn(channel.name));
  }

  async #post(message: OutboundMessage, content: Content): Promise<string> {
    const { idempotencyKey: key, channel } = message;
    if (this.#attempts.get(key) === undefined) this.#attempts.set(key, performance.now());
    const body = { ...bodyOf(content), nonce: nonceOf(key), enforce_nonce: true };
    const there = await this.#put(channel, { ...body, ...this.#reference(message) }, body);
    // For a key that Discord knows, this is what was sent with it first.
    this.#shown.set(there.id, { content: there.content, isPiece: !message.final });
    return there.id;
  }

  /** @param bare the same without a reference: Discord takes none from who may not read what was said before */
  async #put(channel: ChannelAddress, body: object, bare: object): Promise<z.infer<typeof posted>> {
    const { api, log } = this.#parts;
    const route = Routes.channelMessages(channel.name);
    try {
      return parsed(posted, await api.call({ method: "POST", route, body }));
    } catch (error) {
      if (!isReplyRefused(error)) throw error;
      log.warn({ channel: formatAddress(channel), why: error.message }, "sent_without_reference");
      return parsed(posted, await api.call({ method: "POST", route, body: bare }));
    }
  }

  /** Discord knows a key for some minutes; what may be older is looked for. @returns null: it is not there */
  async #earlier(message: OutboundMessage, content: Content): Promise<string | null> {
    const { mayBeThere, idempotencyKey: key, channel, inReplyTo } = message;
    const first = this.#attempts.get(key);
    const isFresh = first !== undefined && performance.now() - first < this.#parts.timing.nonceMs;
    if ((!mayBeThere && first === undefined) || isFresh) return null;
    const bot = await this.#parts.identity.bot();
    let after = inReplyTo.findLast(isSnowflake) ?? idOfTime(new Date(Date.now() - LOOK_BACK_MS));
    for (let page = 0; page < MAX_PAGES; page++) {
      const query = { after, limit: String(PAGE) };
      const route = Routes.channelMessages(channel.name);
      const messages = await this.#parts.api.get(route, postedMessages, query);
      const found = messages
        .toSorted((a, b) => compareIds(a.id, b.id))
        .filter(({ author }) => author.id === bot.user.id)
        .find((candidate) => this.#isIt(candidate, message, content));
      if (found !== undefined) return await this.#completed(found, message, content);
      after = messages.reduce((id, { id: other }) => (compareIds(id, other) < 0 ? other : id), after);
      if (messages.length < PAGE) return null;
    }
    return null;
  }

  /** A piece of it that was shown becomes the whole. */
  async #completed(
    { id, content: there }: MessagePayload,
    message: OutboundMessage,
    { content }: Content,
  ): Promise<string> {
    this.#shown.set(id, { content: there, isPiece: !message.final });
    if (message.final && unnamed(there) !== unnamed(content)) await this.edit(id, message);
    return id;
  }

  /** A draft of it may show the beginning alone. */
  #isIt(
    candidate: MessagePayload,
    { idempotencyKey, inReplyTo, mayBeInPart = false }: OutboundMessage,
    { content }: Content,
  ): boolean {
    const key = this.#keys.get(candidate.id);
    if (key !== undefined) return key === idempotencyKey;
    if (candidate.nonce != null && String(candidate.nonce) === nonceOf(idempotencyKey)) return true;
    const answered = candidate.message_reference?.message_id;
    if (answered !== undefined && !inReplyTo.includes(answered)) return false;
    // Discord takes the blanks off both ends.
    const there = unnamed(candidate.content).trim();
    const whole = unnamed(content).trim();
    return there !== "" && (mayBeInPart ? whole.startsWith(there) : whole === there);
  }

  /** In a channel with several voices, which of them is answered; not needed right behind it. */
  #reference({ channel: { name }, inReplyTo }: OutboundMessage): object {
    const { directory, lastMessages } = this.#parts;
    const last = inReplyTo.findLast(isSnowflake);
    const isGuilds = (directory.known(name)?.guildId ?? "") !== "";
    if (last === undefined || !isGuilds || lastMessages.get(name) === last) return {};
    return { message_reference: { message_id: last, fail_if_not_exists: false } };
  }
}

function bodyOf({ content, users }: Content): object {
  return { content, allowed_mentions: { parse: [], users: users.slice(0, 100), replied_user: true } };
}

/** At most 25 characters. */
function nonceOf(key: string): string {
  return createHash("sha256").update(key).digest("base64url").slice(0, 25);
}

/** Without mentions: who is known by name changes with time. */
function unnamed(content: string): string {
  return content.trim().replaceAll(/<@!?\d+>/g, "@");
}
