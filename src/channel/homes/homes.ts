import { createHash } from "node:crypto";
import { type ChannelAddress, type ChannelId, formatAddress, type Seq } from "../../core/ids.ts";

/** A fixed share of all channels, by a stable hash of their addresses: 0 to 63. */
export type Partition = number;

/** As many as the database has: `channels.partition` is computed with it. */
export const PARTITIONS = 64;

/** Says which daemon is home of a channel: the one that runs its turns. */
export interface Homes extends AsyncDisposable {
  /** Whether this daemon is home of a partition now. */
  owns(partition: Partition): boolean;
  /**
   * Tells the home of a channel that its log has something due. Returns at once; may be lost, doubled or late: the home's look each
   * second covers it.
   */
  wake(partition: Partition, channel: ChannelId, seq: Seq): void;
  /** Begins to take partitions. Resolves when this daemon is a member; it may own none yet. */
  start(listener: HomesListener): Promise<void>;
  /** Takes no more partitions and hands on all that it has, until the deadline. */
  leave(deadline: AbortSignal): Promise<void>;
}

/** What the channels' side does as partitions come and go. None may reject. */
export interface HomesListener {
  /**
   * Batons were received: raises the partitions' epochs in Postgres (one statement), then takes up what is due there. Resolves when
   * they are owned (not when the work is done). Returns those that it took: none that was told as lost meanwhile.
   */
  gained(partitions: readonly Partition[]): Promise<readonly Partition[]>;
  /**
   * Partitions are to be handed on: no new turns there; resolves when running ones have ended (or at the deadline) and their actors
   * are gone.
   */
  handingOn(partitions: readonly Partition[], deadline: AbortSignal): Promise<void>;
  /** Partitions were lost without warning (connection gone): actors' state is dropped at once. */
  lost(partitions: readonly Partition[]): void;
  /** A wake came for a channel. */
  woken(channel: ChannelId, seq: Seq): void;
}

/** Beside the daemons of a cluster, and no member: home of no partition. Nobody is woken. */
export const OUTSIDER: Homes = {
  owns: () => false,
  wake: () => undefined,
  start: async () => undefined,
  leave: async () => undefined,
  [Symbol.asyncDispose]: async () => undefined,
};

/** The partition of a channel's address, as `channels.partition` has it. Pure. */
export function partitionOf(address: ChannelAddress): Partition {
  const [first = 0] = createHash("md5").update(formatAddress(address)).digest();
  return first % PARTITIONS;
}
