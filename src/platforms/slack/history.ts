import type { ChannelAddress } from "../../core/ids.ts";
import type { ChannelOnPlatform, InboundMessage } from "../../core/message.ts";
import type { ChatHistory, HistoryMessage, MaybeGap, NewestMessages } from "../chat/history.ts";
import type { Pace } from "../chat/pace.ts";
import {
  addressOf,
  compareTs,
  messageId,
  placeOf,
  type SlackPlace,
  timeOfTs,
  tsOf,
  tsOfTime,
} from "./address.ts";
import { type SlackApi, SlackError } from "./api.ts";
import { isSpoken } from "./inbound.ts";
import { DELETED } from "./refusals.ts";
import type { Names } from "./names.ts";
import { PageReader } from "./pages.ts";
import type { SlackMessage } from "./payload.ts";
import { isOwn, type MessageReader } from "./reader.ts";

/** Messages of one page as Weir asks for them; Slack allows 1,000 and recommends 200. */
const PAGE = 200;
const LARGE_PAGE = 999;
/** Earlier replies that a thread begins with. */
const EARLIER_REPLIES = 50;
/** Threads of one channel that are looked into after an interruption. */
const MAX_THREADS = 20;

/** So far before a gap's beginning people still begin threads, ms. */
const ROOTS_MS = 7 * 86_400_000;

export interface HistoryParts {
  readonly api: SlackApi;
  readonly reader: MessageReader;
  readonly names: Names;
  /** Between two calls, over time, ms. */
  readonly readEveryMs: number;
}

/** Reads what was said by `conversations.history` and `conversations.replies`. Our own messages are in the log already. */
export class SlackHistory implements ChatHistory {
  readonly pageSize = PAGE;
  readonly pace: Pace;
  readonly #parts: HistoryParts;
  readonly #pages: PageReader;
  /** What is left of a gap that is read page by page, by the channel's name. */
  readonly #rest = new Map<
    string,
    { readonly afterId: string; readonly messages: readonly SlackMessage[] }
  >();

  constructor(parts: HistoryParts) {
    this.#parts = parts;
    this.#pages = new PageReader(parts.api, parts.readEveryMs);
    this.pace = this.#pages.pace;
  }

  /** Replies that came after a gap's beginning to threads of the page are among them, as messages of their threads. */
  async newest(channel: MaybeGap, limit: number): Promise<NewestMessages> {
    const place = placeOf(channel.channel);
    const { messages, roots, isAll } =
      place.threadTs === null
        ? await this.#newestOfChannel(place, limit)
        : { ...(await this.#newestOfThread(place.channel, place.threadTs, limit)), roots: [] };
    const afterId = channel.afterId ?? null;
    const replies = afterId === null ? [] : await this.#newestReplies(place, roots, tsOf(afterId), isAll);
    const all = [...messages, ...replies].toSorted((a, b) => compareTs(a.ts, b.ts));
    return { messages: this.#toHistory(place.channel, all, afterId), isAll };
  }

  /**
   * Slack does not say whether the oldest or the newest page comes first where only `oldest` is given: the whole gap is
   * read, and handed out by pages.
   */
  async after({ channel }: ChannelOnPlatform, id: string, limit: number): Promise<readonly HistoryMessage[]> {
    const place = placeOf(channel);
    const rest = this.#rest.get(channel.name);
    this.#rest.delete(channel.name);
    const messages = rest?.afterId === id ? rest.messages : await this.#allAfter(place, tsOf(id));
    const page = messages.slice(0, limit);
    const last = page.at(-1);
    if (last !== undefined && page.length < messages.length) {
      const afterId = messageId(place.channel, last.ts);
      this.#rest.set(channel.name, { afterId, messages: messages.slice(limit) });
    }
    return this.#toHistory(place.channel, page, id);
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
    const thread =
      place.threadTs === null ? [] : await this.#threadBefore(place.channel, place.threadTs, first.id);
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

  isDeleted(error: unknown): boolean {
    return error instanceof SlackError && DELETED.has(error.code ?? "");
  }

  parentOf(address: ChannelAddress): ChannelAddress | null {
    const { channel, threadTs } = placeOf(address);
    return threadTs === null ? null : addressOf({ channel, threadTs: null });
  }

  /** What the parent said stands before the thread's root. */
  isOwn({ channel }: ChannelOnPlatform, id: string): boolean {
    const { threadTs } = placeOf(channel);
    return threadTs === null || compareTs(tsOf(id), threadTs) >= 0;
  }

  /** A thread's root, also where it is ours, and what was said in it before a message. */
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
    /** Our own messages, too: people reply under them. */
    readonly roots: readonly SlackMessage[];
    readonly isAll: boolean;
  }> {
    const args = { channel, limit: PAGE, ...(latest !== undefined && { latest }) };
    const { messages, isAll } = await this.#pages.read("conversations.history", args, limit);
    const wanted = await this.#ofPeople(messages, { channel, threadTs: null });
    return { messages: wanted.slice(-limit), roots: messages, isAll: isAll && wanted.length <= limit };
  }

  /** Slack gives a thread from its beginning only: of one that is too long for that, the newest are not found. */
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

  async #allAfter({ channel, threadTs }: SlackPlace, oldest: string): Promise<readonly SlackMessage[]> {
    const args = { channel, oldest, limit: LARGE_PAGE };
    const messages =
      threadTs === null
        ? (await this.#pages.read("conversations.history", args)).messages
        : await this.#repliesAfter(channel, threadTs, oldest);
    const older = threadTs === null ? await this.#rootsBefore(channel, messages, oldest) : [];
    const replies = threadTs === null ? await this.#replies(channel, [...older, ...messages], oldest) : [];
    const wanted = await this.#ofPeople(messages, { channel, threadTs });
    return [...wanted, ...replies]
      .filter(({ ts }) => compareTs(ts, oldest) > 0)
      .toSorted((a, b) => compareTs(a.ts, b.ts));
  }

  /** To the end, however long that takes: the oldest come first, and what stands behind the last page would count as never said. */
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

  /** A gap that is longer than the newest page is read as a whole later. */
  async #newestReplies(
    { channel, threadTs }: SlackPlace,
    newest: readonly SlackMessage[],
    oldest: string,
    isAll: boolean,
  ): Promise<readonly SlackMessage[]> {
    if (threadTs !== null) return [];
    const reachesBack = newest.some(({ ts }) => compareTs(ts, oldest) <= 0);
    const older = reachesBack && !isAll ? await this.#rootsBefore(channel, newest, oldest) : [];
    return this.#replies(channel, [...older, ...newest], oldest);
  }

  /** What came after a gap's beginning in threads whose root is among these: nobody else would look there. */
  async #replies(
    channel: string,
    roots: readonly SlackMessage[],
    oldest: string,
  ): Promise<readonly SlackMessage[]> {
    const known = new Map(roots.map((root) => [root.ts, root]));
    const live = [...known.values()]
      .filter(({ latest_reply: latest }) => (latest ? compareTs(latest, oldest) > 0 : false))
      .toSorted((a, b) => compareTs(a.ts, b.ts));
    const found = await Promise.all(
      live.slice(-MAX_THREADS).map(async ({ ts }) => {
        try {
          return await this.#allAfter({ channel, threadTs: ts }, oldest);
        } catch (error) {
          // It was deleted since the page was read: the channel itself is still there.
          if (error instanceof SlackError && error.code === "thread_not_found") return [];
          throw error;
        }
      }),
    );
    return found.flat().filter(({ ts }) => !known.has(ts));
  }

  /** One more page of roots: Slack does not tell where else somebody has begun a thread. In a quiet channel it is not needed. */
  async #rootsBefore(
    channel: string,
    newest: readonly SlackMessage[],
    gapTs: string,
  ): Promise<readonly SlackMessage[]> {
    const first = newest.map(({ ts }) => ts).reduce((a, b) => (compareTs(a, b) < 0 ? a : b), gapTs);
    const from = tsOfTime(new Date(timeOfTs(gapTs).getTime() - ROOTS_MS));
    if (compareTs(first, from) <= 0) return [];
    const args = { channel, oldest: from, latest: first, inclusive: true, limit: LARGE_PAGE };
    return (await this.#pages.read("conversations.history", args, 1)).messages;
  }

  /**
   * What people said in a place, and a thread's root whoever said it, oldest first; a reply that is shown in the channel,
   * too, belongs to its thread alone.
   */
  async #ofPeople(messages: readonly SlackMessage[], { threadTs }: SlackPlace): Promise<SlackMessage[]> {
    const bot = await this.#parts.names.bot();
    // A thread's root comes on each of its pages.
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

  /** @param afterId what stands before it is in the log already: its files are not fetched again */
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

function isReply({ ts, thread_ts: threadTs }: SlackMessage): boolean {
  return typeof threadTs === "string" && threadTs !== ts;
}
