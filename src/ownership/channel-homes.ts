import type { Logger } from "pino";
import { errorMessage, WeirError } from "../core/errors.ts";
import type { ChannelAddress, ChannelId, Seq } from "../core/ids.ts";
import type { PartitionStore, TakenPartition } from "../store/channels/partitions.ts";
import { type Homes, type Partition, partitionOf } from "./homes.ts";

/** Another daemon is home of the channel, and does its work. */
export class NotHomeError extends WeirError {
  readonly retryable = false;
}

/** Marks a channel without a partition: each daemon is home of its own ones. */
const HERE = "here";

/** What a daemon of a cluster needs to find a channel's home. */
export interface ChannelHomesParts {
  readonly homes: Homes;
  readonly partitions: Pick<PartitionStore, "ofChannel">;
  /** Whether only this process can reach the people of a platform (a terminal). */
  readonly isHere: (platform: string) => boolean;
  readonly log: Logger;
}

/**
 * The channels of which this daemon is home: from raising the epoch of their partition until the partition is handed on or lost. A
 * daemon outside a cluster is home of all channels.
 *
 * A channel that only one process can reach (a terminal) has no partition: each daemon is home of its own ones, and two daemons that
 * open the same one take it from each other, as without a cluster.
 */
export class ChannelHomes {
  readonly #parts: ChannelHomesParts | null;
  /** Partitions of channels; a channel's partition never changes. */
  readonly #partitions = new Map<ChannelId, Partition | typeof HERE>();
  /** Partitions of this daemon, and the epochs with which it took them. */
  readonly #epochs = new Map<Partition, number>();

  /** @param parts default: it is home of all channels */
  constructor(parts?: ChannelHomesParts) {
    this.#parts = parts ?? null;
  }

  /** Whether it is outside a cluster. */
  get isAlone(): boolean {
    return this.#parts === null;
  }

  /** The partitions that this daemon runs; empty without a cluster. */
  get held(): readonly Partition[] {
    return [...this.#epochs.keys()];
  }

  /** Remembers a channel's partition, which saves a query. */
  place(id: ChannelId, address: ChannelAddress): void {
    if (this.#parts === null) return;
    this.#partitions.set(id, this.#parts.isHere(address.platform) ? HERE : partitionOf(address));
  }

  /** Whether each daemon is home of the channels of a platform that it has itself. */
  isHere(platform: string): boolean {
    return this.#parts?.isHere(platform) ?? true;
  }

  /** Whether a channel belongs to one of these partitions. Known for every channel that was loaded here. */
  isIn(id: ChannelId, partitions: ReadonlySet<Partition>): boolean {
    const partition = this.#partitions.get(id);
    return typeof partition === "number" && partitions.has(partition);
  }

  /** Whether this daemon is home of a channel that it has loaded. */
  holds(id: ChannelId): boolean {
    if (this.#parts === null) return true;
    const partition = this.#partitions.get(id);
    return partition === HERE || (partition !== undefined && this.#epochs.has(partition));
  }

  /** Whether this daemon is home of a channel. @throws WeirError if that cannot be read */
  async isHome(id: ChannelId): Promise<boolean> {
    if (this.#parts === null) return true;
    const partition = await this.#partitionOf(this.#parts, id);
    return partition === HERE || this.#epochs.has(partition);
  }

  /** Whether another daemon is home of a channel, or its home is unknown. Must not throw. */
  async isElsewhere(id: ChannelId): Promise<boolean> {
    try {
      return !(await this.isHome(id));
    } catch (error) {
      this.#parts?.log.warn({ id, why: errorMessage(error) }, "channel_home_unknown");
      return true;
    }
  }

  /**
   * The epoch with which this daemon has taken a channel's partition; null: it needs none.
   * @throws NotHomeError if it has not, WeirError if that cannot be read
   */
  async epochOf(id: ChannelId): Promise<number | null> {
    if (this.#parts === null) return null;
    const partition = await this.#partitionOf(this.#parts, id);
    if (partition === HERE) return null;
    const epoch = this.#epochs.get(partition);
    if (epoch === undefined) throw new NotHomeError(`another daemon is home of channel ${id}`);
    return epoch;
  }

  /**
   * Makes a channel's home, on any daemon, read its log. Call it after the commit. Returns at once, and must not throw.
   * @param seq the newest entry, or the one that has changed; 0: no entry changed, but something outside of the log did
   */
  wake(id: ChannelId, seq: Seq): void {
    const parts = this.#parts;
    if (parts === null) return;
    const send = (partition: Partition | typeof HERE): void => {
      if (partition !== HERE) parts.homes.wake(partition, id, seq);
    };
    const known = this.#partitions.get(id);
    if (known !== undefined) send(known);
    else
      this.#partitionOf(parts, id)
        .then(send)
        .catch((error: unknown) => parts.log.warn({ id, why: errorMessage(error) }, "channel_not_woken"));
  }

  hold(taken: readonly TakenPartition[]): void {
    for (const { id, epoch } of taken) this.#epochs.set(id, Math.max(epoch, this.#epochs.get(id) ?? 0));
  }

  release(partitions: Iterable<Partition>): void {
    for (const partition of partitions) this.#epochs.delete(partition);
  }

  /**
   * Releases a channel's partition because its epoch is over, unless this daemon has taken the partition again since.
   * @returns the lost partition, if any
   */
  releaseOf(id: ChannelId, epoch: number | null): ReadonlySet<Partition> {
    const partition = this.#partitions.get(id);
    const isLost = typeof partition === "number" && this.#epochs.get(partition) === epoch;
    const released = new Set(isLost ? [partition] : []);
    this.release(released);
    return released;
  }

  async #partitionOf(
    { partitions, isHere }: ChannelHomesParts,
    id: ChannelId,
  ): Promise<Partition | typeof HERE> {
    const known = this.#partitions.get(id);
    if (known !== undefined) return known;
    const place = await partitions.ofChannel(id);
    if (place === undefined) throw new NotHomeError(`channel ${id} does not exist`);
    const found = isHere(place.platform) ? HERE : place.partition;
    this.#partitions.set(id, found);
    return found;
  }
}
