import { Routes } from "discord.js";
import type { ChannelAddress } from "../../../core/ids.ts";
import type { ChannelOnPlatform, InboundMessage } from "../../../core/message.ts";
import type {
  ChatHistory,
  HistoryMessage,
  HistoryPage,
  MaybeGap,
  NewestMessages,
} from "../../intake/history.ts";
import { RateLimiter } from "../../shared/rate-limiter.ts";
import { type DiscordApi, isDeletedChannel } from "./api.ts";
import { isSpoken } from "../inbound/readable-text.ts";
import { channelPayload, type MessagePayload, messagePayload, messagesPayload } from "../inbound/payload.ts";
import type { MessageReader } from "../inbound/reader.ts";
import type { Bot, BotIdentity } from "../gateway/bot-identity.ts";
import { compareIds, idOfTime, timeOfId } from "../snowflake.ts";

export interface HistoryParts {
  readonly api: DiscordApi;
  readonly reader: MessageReader;
  readonly identity: BotIdentity;
}

/** Maximum share of calls for catch-ups that no event waits for. */
const BACKGROUND_SHARE = 0.4;
/** Discord's limit per page. */
const PAGE = 100;
/** Maximum pages without people's messages that are skipped. */
const MAX_EMPTY_PAGES = 5;

/** Reads Discord's message history, without the bot's messages and Discord's notices. */
export class DiscordHistory implements ChatHistory {
  readonly pageSize = PAGE;
  readonly rateLimiter: RateLimiter;
  readonly #parts: HistoryParts;

  constructor(parts: HistoryParts) {
    this.#parts = parts;
    this.rateLimiter = new RateLimiter(() => 1000 / (parts.api.callsPerSecond * BACKGROUND_SHARE));
  }

  async newest(channel: MaybeGap, limit: number, reach = limit): Promise<NewestMessages> {
    const bot = await this.#parts.identity.bot();
    const { afterId } = channel;
    const found: MessagePayload[] = [];
    let before: string | null = null;
    const mostPages = Math.ceil(reach / limit) - 1 + MAX_EMPTY_PAGES;
    for (let page = 0; page < mostPages && (page < MAX_EMPTY_PAGES || found.length > 0); page++) {
      const payloads: MessagePayload[] = await this.#page(channel.channel.name, {
        limit: String(limit),
        ...(before !== null && { before }),
      });
      // An empty page may also mean that the bot may not read the history. So a complete deletion is not noticed:
      // otherwise a lost permission would blank the log.
      if (payloads.length === 0 && before === null) return this.#blank(channel);
      found.unshift(...payloads.filter((payload) => isPeoples(payload, bot)));
      before = payloads[0]?.id ?? null;
      const isAll = payloads.length < limit;
      const isReached = afterId === undefined || before === null || compareIds(before, afterId) <= 0;
      if (isAll || (found.length > 0 && (isReached || found.length >= reach)))
        return { messages: this.#toHistory(channel, found, bot), isAll };
    }
    return { messages: this.#toHistory(channel, found, bot), isAll: false };
  }

  async inGap(
    gap: MaybeGap & { readonly afterId: string },
    untilId: string | null,
    limit: number,
  ): Promise<HistoryPage> {
    const page = await this.after(gap, gap.afterId, limit);
    const before = untilId === null ? page : page.filter(({ id }) => compareIds(id, untilId) < 0);
    const throughId = before.at(-1)?.id ?? gap.afterId;
    const isEnd = page.length < limit || before.length < page.length;
    // The gap's end message and all later ones are missing: deleted, or no longer readable.
    const isHidden = page.length === 0 && untilId !== null;
    return { messages: before, throughId, isEnd, ...(isHidden && { hiddenTo: timeOfId(untilId) }) };
  }

  /** A channel shows its last message's id even to a bot that may not read it. */
  async #blank({ channel }: MaybeGap): Promise<NewestMessages> {
    const place = await this.#parts.api.find(Routes.channel(channel.name), channelPayload);
    return { messages: [], isAll: false, isBlank: true, lastId: place?.last_message_id ?? null };
  }

  async after(channel: MaybeGap, id: string, limit: number): Promise<readonly HistoryMessage[]> {
    const bot = await this.#parts.identity.bot();
    const found: MessagePayload[] = [];
    for (let from = id; found.length < limit;) {
      const payloads = await this.#page(channel.channel.name, { after: from, limit: String(limit) });
      found.push(...payloads.filter((payload) => isPeoples(payload, bot)));
      const last = payloads.at(-1);
      if (last === undefined || payloads.length < limit) break;
      from = last.id;
    }
    return this.#toHistory(channel, found.slice(0, limit), bot);
  }

  async background(
    channel: ChannelOnPlatform,
    first: InboundMessage,
    limit: number,
  ): Promise<readonly InboundMessage[]> {
    const bot = await this.#parts.identity.bot();
    const { name } = channel.channel;
    const own = await this.#before(name, first.id, limit);
    const spoken = own.filter((payload) => isPeoples(payload, bot));
    const parent = channel.place?.parent ?? null;
    const around =
      channel.kind !== "thread" || parent === null ? [] : await this.#ofParent(name, parent.id, limit);
    const known = new Set(around.map(({ id }) => id));
    const all = [...around, ...spoken.filter(({ id }) => !known.has(id))].filter(({ id }) => id !== first.id);
    return Promise.all(
      all.map(async (payload) =>
        this.#parts.reader.read(payload, channel, { bot, isFull: isEdited(payload) }),
      ),
    );
  }

  idBefore(_: ChannelAddress, at: Date): string {
    return idOfTime(at);
  }

  timeOf(id: string): Date {
    return timeOfId(id);
  }

  isDeleted(error: unknown): boolean {
    return isDeletedChannel(error);
  }

  compare(a: string, b: string): number {
    return compareIds(a, b);
  }

  /** A thread has its root message's id, so its own messages have later ids. */
  isOwn({ kind, channel }: ChannelOnPlatform, id: string): boolean {
    return kind !== "thread" || compareIds(id, channel.name) > 0;
  }

  /** The parent's messages before a thread, and the thread's root: also the bot's. */
  async #ofParent(threadId: string, parentId: string, limit: number): Promise<MessagePayload[]> {
    const { api } = this.#parts;
    const before = await this.#before(parentId, threadId, limit);
    const root =
      (await api.find(Routes.channelMessage(parentId, threadId), messagePayload)) ??
      // A forum post contains its root message.
      (await api.find(Routes.channelMessage(threadId, threadId), messagePayload));
    return [...before, ...(root === null ? [] : [root])].filter(isSpoken);
  }

  async #before(channelId: string, id: string, limit: number): Promise<MessagePayload[]> {
    return limit === 0
      ? []
      : await this.#page(channelId, { before: id, limit: String(Math.min(limit, PAGE)) });
  }

  /** Oldest first. */
  async #page(channelId: string, query: Readonly<Record<string, string>>): Promise<MessagePayload[]> {
    this.rateLimiter.called();
    const page = await this.#parts.api.get(Routes.channelMessages(channelId), messagesPayload, query);
    return page.toSorted((a, b) => compareIds(a.id, b.id));
  }

  /** Only messages that the log may lack are read with files and roles. */
  #toHistory(
    { afterId = "0", ...channel }: MaybeGap,
    payloads: readonly MessagePayload[],
    bot: Bot,
  ): HistoryMessage[] {
    return payloads.map((payload) => {
      const isFull = isEdited(payload) || compareIds(payload.id, afterId) > 0;
      return {
        id: payload.id,
        editedAt: editedAt(payload),
        read: async () => this.#parts.reader.read(payload, channel, { bot, isFull }),
      };
    });
  }
}

function isPeoples(payload: MessagePayload, bot: Bot): boolean {
  return payload.author.id !== bot.user.id && isSpoken(payload);
}

function isEdited(payload: MessagePayload): boolean {
  return editedAt(payload) !== null;
}

function editedAt({ edited_timestamp: at }: MessagePayload): Date | null {
  return at == null ? null : new Date(at);
}
