import type { Logger } from "pino";
import { errorMessage, WeirError } from "../../core/errors.ts";
import type { ChannelAddress, ChannelId, Seq } from "../../core/ids.ts";
import type { PartitionStore, TakenPartition } from "../../store/channels/partitions.ts";
import { type Homes, type Partition, partitionOf } from "./homes.ts";

/** Another daemon is home of the channel: it does what is to be done there. */
export class NotHomeError extends WeirError {
  readonly retryable = false;
}

/** Of no partition: whichever daemon has it open is its home. */
const HERE = "here";

/** What a daemon of a cluster knows channels by. */
export interface ChannelHomesParts {
  readonly homes: Homes;
  readonly partitions: Pick<PartitionStore, "ofChannel">;
  /** Whether the people of a platform sit before this process, and no other daemon can reach them. */
  readonly isHere: (platform: string) => boolean;
  readonly log: Logger;
}

/**
 * Of which channels this daemon is home. It is so from the moment at which it has raised the epoch of their partition until it is told
 * to hand that on, or hears that it has lost it. A daemon that belongs to no cluster is home of all of them, and asks nobody.
 *
 * A channel whose people sit before a process (a terminal) is of no partition here: each daemon is home of its own ones, and two that
 * have the same one open take it from each other, as without a cluster.
 */
export class ChannelHomes {
  readonly #parts: ChannelHomesParts | null;
  /** Partitions of channels: a channel keeps its own for ever. */
  readonly #partitions = new Map<ChannelId, Partition | typeof HERE>();
  /** Partitions of this daemon, with the epochs with which it has taken them. */
  readonly #epochs = new Map<Partition, number>();

  /** @param parts default: it is home of all channels */
  constructor(parts?: ChannelHomesParts) {
    this.#parts = parts ?? null;
  }

  /** Of a cluster: the partitions that this daemon is home of. */
  get held(): readonly Partition[] {
    return [...this.#epochs.keys()];
  }

  /** Notes where a channel is, so that nobody has to look it up. */
  place(id: ChannelId, address: ChannelAddress): void {
    if (this.#parts === null) return;
    this.#partitions.set(id, this.#parts.isHere(address.platform) ? HERE : partitionOf(address));
  }

  /** Whether each daemon is home of the channels of a platform that it has itself. */
  isHere(platform: string): boolean {
    return this.#parts?.isHere(platform) ?? true;
  }

  /** Whether a channel is of one of these partitions, as far as is known: whoever has loaded it knows. */
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

  /** Another daemon is home of a channel, or nobody knows who is. Must not throw. */
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
   * Tells a channel's home, whichever daemon that is, to look at its log. Call it behind the commit. Returns at once, and must not throw.
   * @param seq the newest entry, or the one that has changed; 0: something beside the log
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

  /** From now on this daemon is home of these. */
  hold(taken: readonly TakenPartition[]): void {
    for (const { id, epoch } of taken) this.#epochs.set(id, Math.max(epoch, this.#epochs.get(id) ?? 0));
  }

  /** From now on it is home of these no more. */
  release(partitions: Iterable<Partition>): void {
    for (const partition of partitions) this.#epochs.delete(partition);
  }

  /**
   * The epoch with which this daemon has taken a channel's partition is over: it is home of it no more, unless it has taken it anew
   * meanwhile.
   * @returns the partition that it has lost, if any
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
