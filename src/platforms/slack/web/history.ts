import type { ChannelAddress } from "../../../core/ids.ts";
import type { ChannelOnPlatform, InboundMessage } from "../../../core/message.ts";
import type {
  ChatHistory,
  HistoryMessage,
  HistoryPage,
  MaybeGap,
  NewestMessages,
  ActiveThread,
} from "../../intake/history.ts";
import type { RateLimiter } from "../../shared/rate-limiter.ts";
import {
  addressOf,
  compareTs,
  messageId,
  placeOf,
  type SlackPlace,
  timeOfTs,
  tsOf,
  tsOfTime,
} from "../address.ts";
import type { SlackApi } from "./api.ts";
import { SlackError } from "./slack-error.ts";
import { isSpoken } from "../inbound/readable-text.ts";
import { DELETED } from "./api-errors.ts";
import type { Names } from "./names.ts";
import { PageReader } from "./pages.ts";
import { readRange } from "./time-ranges.ts";
import type { SlackMessage } from "../inbound/payload.ts";
import { isOwn, type MessageReader } from "../inbound/reader.ts";

/** Messages per page that Weir requests; Slack allows 1,000 and recommends 200. */
const PAGE = 200;
const LARGE_PAGE = 999;
/** Earlier replies fetched for a new thread. */
const EARLIER_REPLIES = 50;
/** Threads read together with their channel's newest messages; other threads are read separately. */
const MAX_THREADS = 20;
/** Age up to which a limited plan shows messages, ms. */
const SHOWN_FOR_MS = 90 * 86_400_000;
/** How far before a gap thread roots are looked for, ms. */
const ROOTS_MS = 7 * 86_400_000;

export interface HistoryParts {
  readonly api: SlackApi;
  readonly reader: MessageReader;
  readonly names: Names;
  /** Average time between calls, ms. */
  readonly readEveryMs: number;
}

/** Messages read from a long gap and not yet returned. */
interface GapWindow {
  /** The last message returned. */
  readonly afterId: string;
  readonly messages: readonly SlackMessage[];
  /** Read up to here; null: up to the gap's end. */
  readonly toTs: string | null;
  /** Length of the next window, ms; null: the whole rest. */
  readonly lengthMs: number | null;
}

/**
 * Reads `conversations.history` and `conversations.replies`. The bot's own messages are in the log already.
 */
export class SlackHistory implements ChatHistory {
  readonly pageSize = PAGE;
  readonly rateLimiter: RateLimiter;
  readonly #parts: HistoryParts;
  readonly #pages: PageReader;
  /** The windows of gaps read page by page, by channel name. */
  readonly #windows = new Map<string, GapWindow>();

  constructor(parts: HistoryParts) {
    this.#parts = parts;
    this.#pages = new PageReader(parts.api, parts.readEveryMs);
    this.rateLimiter = this.#pages.rateLimiter;
  }

  /**
   * Includes replies since the gap's beginning in threads of the page, as messages of their threads. If there
   * are too many threads, only names the others.
   */
  async newest(channel: MaybeGap, limit: number, reach = limit): Promise<NewestMessages> {
    const place = placeOf(channel.channel);
    const afterId = channel.afterId ?? null;
    if (place.threadTs !== null) {
      const { messages, isAll } = await this.#newestOfThread(place.channel, place.threadTs, reach);
      return { messages: this.#toHistory(place.channel, messages, afterId), isAll };
    }
    let { messages, roots, isAll } = await this.#newestOfChannel(place, limit);
    const [first] = messages;
    const isShort =
      afterId !== null && !isAll && first !== undefined && compareTs(first.ts, tsOf(afterId)) > 0;
    if (isShort && reach > limit) ({ messages, roots, isAll } = await this.#newestOfChannel(place, reach));
    const live = afterId === null ? [] : await this.#liveThreads(place.channel, roots, tsOf(afterId), isAll);
    const replies = await this.#replies(place.channel, live.slice(-MAX_THREADS), roots, tsOf(afterId ?? "0"));
    const all = [...messages, ...replies].toSorted((a, b) => compareTs(a.ts, b.ts));
    const threads = await this.#spokenThreads(place.channel, live.slice(0, -MAX_THREADS));
    return { messages: this.#toHistory(place.channel, all, afterId), isAll, threads };
  }

  /** Reads all that Slack returns at once, then cuts to `limit`. */
  async after({ channel }: ChannelOnPlatform, id: string, limit: number): Promise<readonly HistoryMessage[]> {
    const place = placeOf(channel);
    const messages = await this.#allAfter(place, tsOf(id));
    return this.#toHistory(place.channel, messages.slice(0, limit), id);
  }

  /**
   * Slack does not document which page comes first if only `oldest` is given, so a window of the gap is read
   * whole and returned in pages.
   */
  async inGap(
    { channel, afterId }: MaybeGap & { readonly afterId: string },
    untilId: string | null,
    limit: number,
  ): Promise<HistoryPage> {
    const place = placeOf(channel);
    const untilTs = untilId === null ? null : tsOf(untilId);
    const known = this.#windows.get(channel.name);
    let window = known?.afterId === afterId ? known : null;
    let more: Pick<HistoryPage, "hiddenTo" | "threads"> = {};
    if (window === null || (window.messages.length === 0 && window.toTs !== null)) {
      const read = await this.#readWindow(place, { afterId, untilTs }, window);
      ({ window, more } = read);
    }
    const page = window.messages.slice(0, limit);
    const left = window.messages.slice(limit);
    const last = page.at(-1)?.ts;
    const isEnd = left.length === 0 && window.toTs === null;
    const windowEnd = left.length === 0 && window.toTs !== null ? window.toTs : null;
    const throughTs = windowEnd ?? last ?? tsOf(afterId);
    const throughId = messageId(place.channel, throughTs);
    if (isEnd) this.#windows.delete(channel.name);
    else this.#windows.set(channel.name, { ...window, afterId: throughId, messages: left });
    return { messages: this.#toHistory(place.channel, page, afterId), throughId, isEnd, ...more };
  }

  async background(
    { channel }: ChannelOnPlatform,
    first: InboundMessage,
    limit: number,
  ): Promise<readonly InboundMessage[]> {
    const place = placeOf(channel);
    const before = place.threadTs ?? tsOf(first.id);
    const above =
      limit === 0 ? [] : (await this.#newestOfChannel({ ...place, threadTs: null }, limit, before)).messages;
    // An agent's thread begins with its root.
    const isFirst = place.threadTs === null || place.threadTs === tsOf(first.id);
    const thread = isFirst ? [] : await this.#threadBefore(place.channel, before, first.id);
    const where = { channel, kind: first.kind, workspace: first.workspace };
    return await Promise.all(
      [...above, ...thread].map(async (message) => ({
        ...(await this.#parts.reader.read(place.channel, message, { withFiles: false })),
        ...where,
        ...(first.place !== undefined && { place: first.place }),
      })),
    );
  }

  idBefore(channel: ChannelAddress, at: Date): string {
    return messageId(placeOf(channel).channel, tsOfTime(at));
  }

  compare(a: string, b: string): number {
    return compareTs(tsOf(a), tsOf(b));
  }

  timeOf(id: string): Date {
    return timeOfTs(tsOf(id));
  }

  isDeleted(error: unknown): boolean {
    return error instanceof SlackError && DELETED.has(error.code ?? "");
  }

  parentOf(address: ChannelAddress): ChannelAddress | null {
    const { channel, threadTs } = placeOf(address);
    return threadTs === null ? null : addressOf({ channel, threadTs: null });
  }

  /** The parent's messages precede the thread's root. */
  isOwn({ channel }: ChannelOnPlatform, id: string): boolean {
    const { threadTs } = placeOf(channel);
    return threadTs === null || compareTs(tsOf(id), threadTs) >= 0;
  }

  /** A thread's root, even if it is the bot's, and the thread's messages before a message. */
  async #threadBefore(channel: string, threadTs: string, firstId: string): Promise<readonly SlackMessage[]> {
    const bot = await this.#parts.names.bot();
    const pages = await this.#pages.read("conversations.replies", {
      channel,
      ts: threadTs,
      latest: tsOf(firstId),
      limit: LARGE_PAGE,
    });
    const replies = new Map(pages.messages.map((message) => [message.ts, message]));
    const root = replies.get(threadTs);
    replies.delete(threadTs);
    const said = [...replies.values()].filter(
      (message) => isSpoken(message) && !isOwn(message, bot) && compareTs(message.ts, tsOf(firstId)) < 0,
    );
    return [...(root !== undefined && isSpoken(root) ? [root] : []), ...said.slice(-EARLIER_REPLIES)];
  }

  async #newestOfChannel(
    { channel }: SlackPlace,
    limit: number,
    latest?: string,
  ): Promise<{
    readonly messages: readonly SlackMessage[];
    /** Includes the bot's messages: people reply to them. */
    readonly roots: readonly SlackMessage[];
    readonly isAll: boolean;
  }> {
    const size = Math.min(LARGE_PAGE, Math.max(PAGE, limit));
    const args = { channel, limit: size, ...(latest !== undefined && { latest }) };
    const { messages, isAll } = await this.#pages.read("conversations.history", args, limit);
    const wanted = await this.#ofPeople(messages, { channel, threadTs: null });
    return { messages: wanted.slice(-limit), roots: messages, isAll: isAll && wanted.length <= limit };
  }

  /** Slack returns threads from the beginning: the newest messages of too long a thread are not found. */
  async #newestOfThread(
    channel: string,
    threadTs: string,
    limit: number,
  ): Promise<{ readonly messages: readonly SlackMessage[]; readonly isAll: boolean }> {
    const args = { channel, ts: threadTs, limit: LARGE_PAGE };
    const { messages, isAll, isEnd } = await this.#pages.read("conversations.replies", args);
    if (!isEnd) return { messages: [], isAll: false };
    const wanted = await this.#ofPeople(messages, { channel, threadTs });
    return { messages: wanted.slice(-limit), isAll: isAll && wanted.length <= limit };
  }

  async #allAfter(place: SlackPlace, oldest: string): Promise<readonly SlackMessage[]> {
    const { channel, threadTs } = place;
    const messages =
      threadTs === null
        ? (await this.#pages.read("conversations.history", { channel, oldest, limit: LARGE_PAGE })).messages
        : await this.#repliesAfter(channel, threadTs, oldest);
    return this.#ofPeopleAfter(messages, place, oldest);
  }

  async #ofPeopleAfter(
    messages: readonly SlackMessage[],
    place: SlackPlace,
    oldest: string,
  ): Promise<SlackMessage[]> {
    return (await this.#ofPeople(messages, place)).filter(({ ts }) => compareTs(ts, oldest) > 0);
  }

  async #readWindow(
    place: SlackPlace,
    { afterId, untilTs }: { readonly afterId: string; readonly untilTs: string | null },
    known: GapWindow | null,
  ): Promise<{ readonly window: GapWindow; readonly more: Pick<HistoryPage, "hiddenTo" | "threads"> }> {
    const { channel, threadTs } = place;
    const oldest = tsOf(afterId);
    const isBefore = ({ ts }: SlackMessage): boolean => untilTs === null || compareTs(ts, untilTs) < 0;
    if (threadTs !== null) {
      const messages = (await this.#allAfter(place, oldest)).filter(isBefore);
      return { window: { afterId, messages, toTs: null, lengthMs: null }, more: {} };
    }
    const range = { channel, oldest, untilTs };
    const read = await readRange(this.#pages, range, known?.lengthMs ?? null);
    const { messages: raw, toTs, nextMs: lengthMs, isLimited } = read;
    const messages = (await this.#ofPeopleAfter(raw, place, oldest)).filter(isBefore);
    // For a later window, an earlier window has found the threads above it.
    const above = known === null ? await this.#rootsBefore(channel, raw, oldest) : [];
    const live = spokenSince([...above, ...raw], oldest);
    const threads = await this.#spokenThreads(channel, live);
    const shownFrom = earliest(raw, untilTs ?? oldest);
    const mayBeHidden = isLimited && Date.now() - timeOfTs(oldest).getTime() > SHOWN_FOR_MS;
    const isHidden = mayBeHidden && compareTs(shownFrom, oldest) > 0;
    const hidden = isHidden ? { hiddenTo: timeOfTs(shownFrom) } : {};
    return { window: { afterId, messages, toTs, lengthMs }, more: { threads, ...hidden } };
  }

  /** Reads to the end, however long: the oldest come first, and unread replies would count as nonexistent. */
  async #repliesAfter(channel: string, ts: string, oldest: string): Promise<readonly SlackMessage[]> {
    const found: SlackMessage[] = [];
    for (let from = oldest; ;) {
      const args = { channel, ts, oldest: from, limit: LARGE_PAGE };
      const { messages, isEnd } = await this.#pages.read("conversations.replies", args);
      found.push(...messages);
      const last = messages.at(-1)?.ts ?? from;
      if (isEnd || compareTs(last, from) <= 0) return found;
      from = last;
    }
  }

  /** Threads with replies after a gap's beginning, in order of their start. */
  async #liveThreads(
    channel: string,
    newest: readonly SlackMessage[],
    oldest: string,
    isAll: boolean,
  ): Promise<readonly SlackMessage[]> {
    const reachesBack = newest.some(({ ts }) => compareTs(ts, oldest) <= 0);
    const older = reachesBack && !isAll ? await this.#rootsBefore(channel, newest, oldest) : [];
    return spokenSince([...older, ...newest], oldest);
  }

  /** Thread replies after a gap's beginning: nothing else fetches them. */
  async #replies(
    channel: string,
    threads: readonly SlackMessage[],
    roots: readonly SlackMessage[],
    oldest: string,
  ): Promise<readonly SlackMessage[]> {
    const known = new Set([...threads, ...roots].map(({ ts }) => ts));
    const found = await Promise.all(
      threads.map(async ({ ts }) => {
        try {
          return await this.#allAfter({ channel, threadTs: ts }, oldest);
        } catch (error) {
          // The thread was deleted after the page was read: the channel still exists.
          if (error instanceof SlackError && error.code === "thread_not_found") return [];
          throw error;
        }
      }),
    );
    return found.flat().filter(({ ts }) => !known.has(ts));
  }

  async #spokenThreads(channel: string, roots: readonly SlackMessage[]): Promise<ActiveThread[]> {
    return Promise.all(
      roots.map(async ({ ts, latest_reply: latest }) => ({
        ...(await this.#parts.reader.where({ channel, threadTs: ts })),
        latestId: messageId(channel, latest ?? ts),
      })),
    );
  }

  /** One more page of roots: Slack does not list other new threads. Not needed in a quiet channel. */
  async #rootsBefore(
    channel: string,
    newest: readonly SlackMessage[],
    gapTs: string,
  ): Promise<readonly SlackMessage[]> {
    const first = earliest(newest, gapTs);
    const from = tsOfTime(new Date(timeOfTs(gapTs).getTime() - ROOTS_MS));
    if (compareTs(first, from) <= 0) return [];
    const args = { channel, oldest: from, latest: first, inclusive: true, limit: LARGE_PAGE };
    return (await this.#pages.read("conversations.history", args, 1)).messages;
  }

  /**
   * People's messages in a place, and a thread's root by any author, oldest first. A reply also shown in the
   * channel belongs to its thread alone.
   */
  async #ofPeople(messages: readonly SlackMessage[], { threadTs }: SlackPlace): Promise<SlackMessage[]> {
    const bot = await this.#parts.names.bot();
    // Each page of a thread repeats its root.
    const once = new Map(messages.map((message) => [message.ts, message]));
    return [...once.values()]
      .filter(
        (message) =>
          isSpoken(message) &&
          (!isOwn(message, bot) || message.ts === threadTs) &&
          (threadTs !== null || (message.subtype !== "thread_broadcast" && !isReply(message))),
      )
      .toSorted((a, b) => compareTs(a.ts, b.ts));
  }

  /** @param afterId messages up to this one are in the log: their files are not fetched again */
  #toHistory(channel: string, messages: readonly SlackMessage[], afterId: string | null): HistoryMessage[] {
    return messages.map((message) => {
      const isKnown = afterId !== null && compareTs(message.ts, tsOf(afterId)) <= 0;
      const editedTs = message.edited?.ts ?? null;
      const withFiles = !isKnown || editedTs !== null;
      return {
        id: messageId(channel, message.ts),
        editedAt: editedTs === null ? null : timeOfTs(editedTs),
        read: async () => this.#parts.reader.read(channel, message, { withFiles }),
      };
    });
  }
}

/** Roots of threads with replies after `oldest`, oldest first. Pure. */
function spokenSince(roots: readonly SlackMessage[], oldest: string): SlackMessage[] {
  const known = new Map(roots.map((root) => [root.ts, root]));
  return [...known.values()]
    .filter(({ latest_reply: latest }) => (latest ? compareTs(latest, oldest) > 0 : false))
    .toSorted((a, b) => compareTs(a.ts, b.ts));
}

function earliest(messages: readonly SlackMessage[], end: string): string {
  return messages.reduce((first, { ts }) => (compareTs(ts, first) < 0 ? ts : first), end);
}

function isReply({ ts, thread_ts: threadTs }: SlackMessage): boolean {
  return typeof threadTs === "string" && threadTs !== ts;
}
