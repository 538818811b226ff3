import type { ChannelAddress } from "../../core/ids.ts";
import type { ChannelOnPlatform, InboundMessage } from "../../core/message.ts";
import type { RateLimiter } from "../shared/rate-limiter.ts";

export interface HistoryMessage {
  readonly id: string;
  /** Time of the last edit; null: no edit. */
  readonly editedAt: Date | null;
  /** Fetches the message's files and names. A page of pictures would be too much. Throws PlatformError. */
  readonly read: () => Promise<InboundMessage>;
}

/** A channel, with the last message before its gap if it has a gap: earlier messages were read already. */
export interface MaybeGap extends ChannelOnPlatform {
  readonly afterId?: string;
}

export interface NewestMessages {
  /** Oldest first. */
  readonly messages: readonly HistoryMessage[];
  /** No earlier messages exist, not even messages hidden by the platform. */
  readonly isAll: boolean;
  /** The platform shows no messages; whether any exist is unknown. Default: false. */
  readonly isBlank?: boolean;
  /** If blank: the id of the channel's last message, shown or not; null: none. */
  readonly lastId?: string | null;
  /** The channel's threads with messages since the gap began that `messages` lacks. Default: none. */
  readonly threads?: readonly ActiveThread[];
}

/** A thread whose new messages must be fetched from the thread itself. */
export interface ActiveThread extends ChannelOnPlatform {
  /** Its last message's id. */
  readonly latestId: string;
}

/** A page of a gap's messages. */
export interface HistoryPage {
  /** Oldest first. */
  readonly messages: readonly HistoryMessage[];
  /** The gap is filled up to this message: the page's last message, or a message of an ignored author. */
  readonly throughId: string;
  /** This page fills the gap. */
  readonly isEnd: boolean;
  /** The platform hides messages from the gap's beginning up to this time. Default: it hides none. */
  readonly hiddenTo?: Date;
  /** As in `NewestMessages`. */
  readonly threads?: readonly ActiveThread[];
}

/** Reads a platform's message history. All calls throw PlatformError. */
export interface ChatHistory {
  /** Maximum messages per call. */
  readonly pageSize: number;
  /**
   * Counts calls and spaces unawaited catch-ups: some platforms allow under a call a second. Default: none.
   */
  readonly rateLimiter?: RateLimiter;
  /** @param reach maximum messages if the gap begins before the newest `limit`; default: `limit` */
  newest(channel: MaybeGap, limit: number, reach?: number): Promise<NewestMessages>;
  /** The first messages of a gap, at most `limit`. @param untilId the gap's exclusive end; null: no end */
  inGap(
    gap: MaybeGap & { readonly afterId: string },
    untilId: string | null,
    limit: number,
  ): Promise<HistoryPage>;
  /** The first messages after `id`, oldest first. */
  after(channel: ChannelOnPlatform, id: string, limit: number): Promise<readonly HistoryMessage[]>;
  /**
   * The messages before `first`, the first message that Weir sees of a channel, oldest first, at most
   * `limit`. In a thread: earlier messages of its parent, and, not counted in `limit`, the root message and
   * the thread's earlier messages. All are handed in as messages of `channel`.
   */
  background(
    channel: ChannelOnPlatform,
    first: InboundMessage,
    limit: number,
  ): Promise<readonly InboundMessage[]>;
  /** An id that sorts before the ids of the channel's messages from `at` on. */
  idBefore(channel: ChannelAddress, at: Date): string;
  timeOf(id: string): Date;
  /** Compares the ids of two messages of a channel by time; below 0: `a` is older. */
  compare(a: string, b: string): number;
  /**
   * The channel whose catch-up also fetches a thread's missed messages; null: not a thread. Default: a
   * thread's missed messages are always fetched from the thread itself.
   */
  parentOf?(channel: ChannelAddress): ChannelAddress | null;
  /** True: the channel or thread was deleted. A lost permission does not count: it may come back. */
  isDeleted(error: unknown): boolean;
  /** False: in a thread, the message is background from its parent. */
  isOwn(channel: ChannelOnPlatform, id: string): boolean;
}
