import type { ChannelAddress } from "../../core/ids.ts";
import type { ChannelOnPlatform, InboundMessage } from "../../core/message.ts";
import type { Pace } from "./pace.ts";

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
  /** Nothing at all is shown, and it cannot be told whether there is nothing. Left out: false. */
  readonly isBlank?: boolean;
}

/** What an adapter can read of what was said. All calls throw PlatformError. */
export interface ChatHistory {
  /** Most messages that one call can bring. */
  readonly pageSize: number;
  /** Counts the calls, and spaces catch-ups that nobody waits for: some platforms allow less than a call a second. Left out: no need. */
  readonly pace?: Pace;
  newest(channel: MaybeGap, limit: number): Promise<NewestMessages>;
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
  /** Which of two messages of a channel was said first, by their ids: below 0, 0, above 0. */
  compare(a: string, b: string): number;
  /**
   * The channel whose catch-up brings what was missed in a thread, too; null: it is no thread. Left out: what was missed
   * in a thread is always looked for in the thread itself.
   */
  parentOf?(channel: ChannelAddress): ChannelAddress | null;
  /** A call has failed because the channel, or thread, was deleted: a permission that is lost may come back. */
  isDeleted(error: unknown): boolean;
  /** False: in a thread it is background, a message of the parent. */
  isOwn(channel: ChannelOnPlatform, id: string): boolean;
}
