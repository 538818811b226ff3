import type { ChannelAddress } from "../../core/ids.ts";
import type { ChannelOnPlatform, InboundMessage } from "../../core/message.ts";
import type { RateLimiter } from "../shared/rate-limiter.ts";

/** A message as the platform's history has it. */
export interface HistoryMessage {
  readonly id: string;
  /** When it was last changed; null: never. */
  readonly editedAt: Date | null;
  /** Fetches what belongs to it: files, names. A page of pictures would be too much at once. Throws PlatformError. */
  readonly read: () => Promise<InboundMessage>;
}

/** A channel, with the last message before its gap, where it has one: what stands before that was read already. */
export interface MaybeGap extends ChannelOnPlatform {
  readonly afterId?: string;
}

/** The newest messages of a channel. */
export interface NewestMessages {
  /** Oldest first. */
  readonly messages: readonly HistoryMessage[];
  /** There is nothing before them: neither further back nor hidden by the platform. */
  readonly isAll: boolean;
  /** Nothing at all is shown, and it cannot be told whether there is nothing. Default: false. */
  readonly isBlank?: boolean;
  /** Where it is blank: the last message that was said there, shown or not; null: there is none. */
  readonly lastId?: string | null;
  /** Threads of the channel in which more was said since the gap began than is shown here. Default: none. */
  readonly threads?: readonly ActiveThread[];
}

/** A thread in which something was said that is to be looked for in the thread itself. */
export interface ActiveThread extends ChannelOnPlatform {
  /** The last message in it. */
  readonly latestId: string;
}

/** A page of what was said in a gap. */
export interface HistoryPage {
  /** Oldest first. */
  readonly messages: readonly HistoryMessage[];
  /** Up to which message the gap is filled with this page; the last of its messages, or one of somebody who does not count. */
  readonly throughId: string;
  /** The gap is filled with this page. */
  readonly isEnd: boolean;
  /** The platform does not show what was said from the beginning of the gap up to that time. Default: it shows all. */
  readonly hiddenTo?: Date;
  /** As for the newest messages. */
  readonly threads?: readonly ActiveThread[];
}

/** What an adapter can read of what was said. All calls throw PlatformError. */
export interface ChatHistory {
  /** Most messages that one call can bring. */
  readonly pageSize: number;
  /** Counts the calls, and spaces catch-ups that nobody waits for: some platforms allow less than a call a second. Default: no need. */
  readonly rateLimiter?: RateLimiter;
  /** @param reach most messages, where the gap of the channel begins before the first `limit`; default: `limit` */
  newest(channel: MaybeGap, limit: number, reach?: number): Promise<NewestMessages>;
  /** The first messages of a gap, at most `limit`. @param untilId the message before which it ends; null: the last one does */
  inGap(
    gap: MaybeGap & { readonly afterId: string },
    untilId: string | null,
    limit: number,
  ): Promise<HistoryPage>;
  /** The first messages after that one, oldest first. */
  after(channel: ChannelOnPlatform, id: string, limit: number): Promise<readonly HistoryMessage[]>;
  /**
   * What was said before the first message that Weir sees of a channel, oldest first, at most `limit`: in a thread
   * its root message and what stands in it before that (over and above `limit`), and what its parent said before; elsewhere
   * what stands before it.
   * All of it is handed in as messages of `channel`.
   */
  background(
    channel: ChannelOnPlatform,
    first: InboundMessage,
    limit: number,
  ): Promise<readonly InboundMessage[]>;
  /** An id of a channel that comes before those of all that is said there from then on. */
  idBefore(channel: ChannelAddress, at: Date): string;
  /** When a message was said, by its id. */
  timeOf(id: string): Date;
  /** Which of two messages of a channel was said first, by their ids: below 0, 0, above 0. */
  compare(a: string, b: string): number;
  /**
   * The channel whose catch-up brings what was missed in a thread, too; null: it is no thread. Default: what was missed
   * in a thread is always looked for in the thread itself.
   */
  parentOf?(channel: ChannelAddress): ChannelAddress | null;
  /** A call has failed because the channel, or thread, was deleted: a permission that is lost may come back. */
  isDeleted(error: unknown): boolean;
  /** False: in a thread it is background, a message of the parent. */
  isOwn(channel: ChannelOnPlatform, id: string): boolean;
}
