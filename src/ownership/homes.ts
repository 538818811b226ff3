/**
 * Ownership: which daemon runs which channel, its home. Without a cluster one daemon has all of them; in a cluster (`cluster/`) daemons
 * take partitions of channels by leases in RabbitMQ. This room knows partitions and rows of daemons, and nothing of turns.
 */

import { createHash } from "node:crypto";
import { type ChannelAddress, type ChannelId, formatAddress, type Seq } from "../core/ids.ts";

/** A fixed share of all channels, by a stable hash of their addresses: 0 to 63. */
export type Partition = number;

/** Number of partitions; the computed column `channels.partition` uses the same. */
export const PARTITIONS = 64;

/** Says which daemon is home of a channel: the one that runs its turns. */
export interface Homes extends AsyncDisposable {
  owns(partition: Partition): boolean;
  /**
   * Notifies the home of a channel that its log has something due. Returns at once. The wake may be lost, doubled or late: the home
   * polls each second.
   */
  wake(partition: Partition, channel: ChannelId, seq: Seq): void;
  /** Begins to take partitions. Resolves when this daemon is a member; it may own none yet. */
  start(listener: HomesListener): Promise<void>;
  /** Takes no more partitions, and hands on all that it has until the deadline. */
  leave(deadline: AbortSignal): Promise<void>;
}

/** Called as this daemon gains and loses partitions. None may reject. */
export interface HomesListener {
  /**
   * Leases were received: raises the partitions' epochs in Postgres (one statement), then resumes due work. Resolves when they are
   * owned (not when the work is done). Returns the taken partitions, without those reported as lost meanwhile.
   */
  gained(partitions: readonly Partition[]): Promise<readonly Partition[]>;
  /**
   * Partitions must be handed on: no new turns begin there. Resolves when running turns have ended (or at the deadline) and the actors
   * are closed.
   */
  handingOn(partitions: readonly Partition[], deadline: AbortSignal): Promise<void>;
  /** Partitions were lost without warning (connection lost): their actors are dropped at once. */
  lost(partitions: readonly Partition[]): void;
  woken(channel: ChannelId, seq: Seq): void;
}

/** For a process beside a cluster that is no member: home of no partition, and wakes no channel. */
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
