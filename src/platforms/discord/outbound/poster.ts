import { createHash } from "node:crypto";
import { Routes } from "discord.js";
import type { Logger } from "pino";
import { z } from "zod";
import { BoundedMap } from "../../../async/bounded-map.ts";
import { errorMessage } from "../../../core/errors.ts";
import { type ChannelAddress, formatAddress } from "../../../core/ids.ts";
import type { OutboundFile, OutboundMessage } from "../../../core/message.ts";
import { PlatformError } from "../../platform.ts";
import { type DiscordApi, DiscordRefusal, isReplyRefused, parsed } from "../rest/api.ts";
import type { Directory } from "../rest/directory.ts";
import { Emojis } from "../rest/emojis.ts";
import { hasOtherEmoji } from "../../shared/emoji.ts";
import { toCard } from "./card.ts";
import { isFormRefused, shownIn, textIn, toBox, toRows } from "./components.ts";
import { type Content, toDiscord, toPlainContent } from "./content.ts";
import { componentsPayload, type MessagePayload, messagesPayload } from "../inbound/payload.ts";
import type { People } from "../rest/people.ts";
import type { BotIdentity } from "../gateway/bot-identity.ts";
import { compareIds, idOfTime, isSnowflake } from "../snowflake.ts";
import type { DiscordTiming } from "../timing.ts";

interface PosterParts {
  readonly api: DiscordApi;
  readonly identity: BotIdentity;
  readonly directory: Directory;
  readonly people: People;
  readonly lastMessages: BoundedMap<string>;
  readonly timing: Pick<DiscordTiming, "nonceMs" | "typingMs">;
  readonly log: Logger;
}

const posted = z.object({ id: z.string(), content: z.string(), components: componentsPayload });

/** Maximum remembered sent messages. */
const MAX_REMEMBERED = 5000;
/** Pages of a channel searched for an earlier attempt. */
const MAX_PAGES = 3;
const PAGE = 100;
/** How far back the search goes for an answer to no message, ms. */
const LOOK_BACK_MS = 3_600_000;
/** Maximum typing signals a second: they are the least important calls. */
const MAX_TYPING = 10;

/** Posts the bot's messages, each once. All calls throw PlatformError. */
export class Poster {
  readonly #parts: PosterParts;
  readonly #emojis: Emojis;
  /** Time of a key's first attempt. */
  readonly #attempts = new BoundedMap<number>(MAX_REMEMBERED);
  /** The key of each acknowledged message. */
  readonly #keys = new BoundedMap<string>(MAX_REMEMBERED);
  /** Each message's content last confirmed by Discord, and whether it was a piece of an unfinished answer. */
  readonly #shown = new BoundedMap<{ readonly content: string; readonly isPiece: boolean }>(200);
  readonly #typedAt = new BoundedMap<number>(1000);
  /** Times of the last second's signals. */
  #typing: number[] = [];

  constructor(parts: PosterParts) {
    this.#parts = parts;
    this.#emojis = new Emojis(parts.api);
  }

  /** @returns the message's id */
  async send(message: OutboundMessage): Promise<string> {
    const { name } = message.channel;
    const content = await this.#convert(message);
    const id = (await this.#earlier(message, content)) ?? (await this.#post(message, content));
    this.#keys.set(id, message.idempotencyKey);
    const newest = this.#parts.lastMessages.get(name);
    if (newest === undefined || compareIds(newest, id) < 0) this.#parts.lastMessages.set(name, id);
    return id;
  }

  async edit(messageId: string, message: OutboundMessage): Promise<void> {
    const content = await this.#convert(message);
    const shown = this.#shown.get(messageId);
    // Somebody may have deleted the piece: Discord itself must confirm the final text.
    const isSame = shown?.content === content.content && message.actions === undefined;
    if (isSame && !(shown.isPiece && message.final)) return;
    const route = Routes.channelMessage(message.channel.name, messageId);
    await this.#inForm(message, content, async (body) =>
      this.#parts.api.call({ method: "PATCH", route, body }),
    );
    this.#shown.set(messageId, { content: content.content, isPiece: !message.final });
  }

  /** Does nothing if the message no longer exists. */
  async remove({ name }: ChannelAddress, messageId: string): Promise<void> {
    try {
      await this.#parts.api.call({ method: "DELETE", route: Routes.channelMessage(name, messageId) });
    } catch (error) {
      if (!(error instanceof PlatformError) || error.kind !== "gone") throw error;
    }
  }

  async react(channel: ChannelAddress, messageId: string, emoji: string): Promise<void> {
    const { name } = channel;
    const sign = await this.#emojis.sign(emoji, async () => this.#guildOf(channel));
    const route = Routes.channelMessageOwnReaction(name, messageId, encodeURIComponent(sign));
    await this.#parts.api.call({ method: "PUT", route });
  }

  /** Best effort and rate-limited: posts do not wait for it. */
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

  async #convert({ channel, text, plain, card }: OutboundMessage): Promise<Content> {
    if (card !== undefined) return { content: textIn(toCard(card).components), users: [] };
    if (plain === true) return toPlainContent(text);
    if (text.includes("@")) await this.#meetPeople(channel);
    const emoji = hasOtherEmoji(text) ? await this.#ownEmoji(channel) : undefined;
    return toDiscord(text, this.#parts.people.namesIn(channel.name), emoji);
  }

  /** Without them, their names stay words. */
  async #ownEmoji(channel: ChannelAddress): Promise<ReadonlyMap<string, string> | undefined> {
    try {
      return await this.#emojis.marks((await this.#guildOf(channel)) ?? "");
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      this.#parts.log.debug({ channel: formatAddress(channel), why: error.message }, "emoji_not_read");
      return undefined;
    }
  }

  /** Learns the people of a channel that this daemon may not hear. Without their names, the text mentions nobody. */
  async #meetPeople(channel: ChannelAddress): Promise<void> {
    const { directory, people, log } = this.#parts;
    const guildId = await this.#guildOf(channel);
    if (guildId === undefined || directory.isHeard(guildId)) return;
    try {
      await people.read(channel.name, guildId);
    } catch (error) {
      if (!(error instanceof PlatformError)) throw error;
      log.debug({ channel: formatAddress(channel), why: error.message }, "people_not_read");
    }
  }

  /** "": a DM; undefined: unknown. */
  async #guildOf({ name }: ChannelAddress): Promise<string | undefined> {
    return (await this.#parts.directory.find(name))?.guildId;
  }

  async #post(message: OutboundMessage, content: Content): Promise<string> {
    const { idempotencyKey: key, channel } = message;
    if (this.#attempts.get(key) === undefined) this.#attempts.set(key, performance.now());
    const files = message.file === undefined ? [] : [message.file];
    // What it refers to may be why it was refused.
    const reference = message.plain === true ? {} : await this.#reference(message);
    const there = await this.#inForm(message, content, async (form) => {
      const body = { ...form, nonce: nonceOf(key), enforce_nonce: true };
      return this.#put(channel, { ...body, ...reference }, body, files);
    });
    // For a known key, Discord returns the message first sent with it.
    this.#shown.set(there.id, { content: shownIn(there), isPiece: !message.final });
    return there.id;
  }

  /** A card, and a message with actions, is a box of components; where Discord refuses that of actions, and for all others, a text. */
  async #inForm<Answer>(
    message: OutboundMessage,
    content: Content,
    call: (body: object) => Promise<Answer>,
  ): Promise<Answer> {
    const { actions, channel, card } = message;
    const allowed_mentions = { parse: [], users: content.users.slice(0, 100), replied_user: true };
    const text = { content: content.content, allowed_mentions };
    // An earlier Weir has sent it as a text.
    const others = { content: null, embeds: null };
    if (card !== undefined) return call({ ...others, ...toCard(card), allowed_mentions });
    if (actions === undefined) return call(text);
    try {
      return await call({ ...others, ...toBox(content.content, actions), allowed_mentions });
    } catch (error) {
      if (!isFormRefused(error)) throw error;
      this.#parts.log.info({ channel: formatAddress(channel), why: error.message }, "components_refused");
      return call({ ...text, components: toRows(actions) });
    }
  }

  /** @param bare the body without a reference, which Discord rejects if the bot may not read the history */
  async #put(
    channel: ChannelAddress,
    body: object,
    bare: object,
    files: readonly OutboundFile[],
  ): Promise<z.infer<typeof posted>> {
    const { api, log } = this.#parts;
    const route = Routes.channelMessages(channel.name);
    try {
      return parsed(posted, await api.call({ method: "POST", route, body, files }));
    } catch (error) {
      if (!isReplyRefused(error)) throw error;
      log.warn({ channel: formatAddress(channel), why: error.message }, "sent_without_reference");
      return parsed(posted, await api.call({ method: "POST", route, body: bare, files }));
    }
  }

  /** Finds an earlier attempt. Discord itself deduplicates keys only for minutes. @returns null: none */
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
      const messages = await this.#parts.api.get(route, messagesPayload, query);
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

  /** Completes a piece that was shown. */
  async #completed(
    candidate: MessagePayload,
    message: OutboundMessage,
    { content }: Content,
  ): Promise<string> {
    const { id } = candidate;
    const there = shownIn(candidate);
    this.#shown.set(id, { content: there, isPiece: !message.final });
    if (!message.final || unnamed(there) === unnamed(content)) return id;
    try {
      await this.edit(id, message);
    } catch (error) {
      throw error instanceof DiscordRefusal ? error.ofEdit(id) : error;
    }
    return id;
  }

  /** A draft may show only the beginning. */
  #isIt(
    candidate: MessagePayload,
    { idempotencyKey, inReplyTo, mayBeInPart = false, file }: OutboundMessage,
    { content }: Content,
  ): boolean {
    const key = this.#keys.get(candidate.id);
    if (key !== undefined) return key === idempotencyKey;
    if (candidate.nonce != null && String(candidate.nonce) === nonceOf(idempotencyKey)) return true;
    const answered = candidate.message_reference?.message_id;
    if (answered !== undefined && !inReplyTo.includes(answered)) return false;
    // Discord may show a name in another form, and then has it as the title.
    if (file !== undefined)
      return candidate.attachments.some(
        ({ filename, title, size }) =>
          size === file.bytes.length && (filename === file.name || title === file.name),
      );
    // Discord trims texts.
    const there = unnamed(shownIn(candidate)).trim();
    const whole = unnamed(content).trim();
    return there !== "" && (mayBeInPart ? whole.startsWith(there) : whole === there);
  }

  /** In a server's channel, refers to the answered message, unless that message is the last. */
  async #reference({ channel, inReplyTo }: OutboundMessage): Promise<object> {
    const last = inReplyTo.findLast(isSnowflake);
    if (last === undefined || this.#parts.lastMessages.get(channel.name) === last) return {};
    if (((await this.#guildOf(channel)) ?? "") === "") return {};
    return { message_reference: { message_id: last, fail_if_not_exists: false } };
  }
}

/** At most 25 characters. */
function nonceOf(key: string): string {
  return createHash("sha256").update(key).digest("base64url").slice(0, 25);
}

/** Removes mentions: known names change with time. */
function unnamed(content: string): string {
  return content.trim().replaceAll(/<@!?\d+>/g, "@");
}
