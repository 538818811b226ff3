import type { Channel, ConsumeMessage } from "amqplib";
import { BackoffTimer } from "../../async/backoff.ts";
import type { Partition } from "../homes.ts";
import { type ChannelId, channelId, type Seq } from "../../core/ids.ts";
import type { BrokerConnection } from "./broker-connection.ts";
import { declareQueue } from "./declare-queue.ts";
import { type Names, WAKE_QUEUE } from "./names.ts";

/** Asks a channel's home to read its log: the channel's id, and the sequence number up to which to read. */
export interface Wake {
  readonly channel: ChannelId;
  readonly seq: Seq;
}

export function wakeBytes({ channel, seq }: Wake): Buffer {
  return Buffer.from(`${channel}:${seq}`);
}

/** @returns null: not a wake */
export function parseWake(content: Buffer): Wake | null {
  if (content.length > 40) return null;
  const [, channel, seq] = /^([1-9]\d{0,15}):(\d{1,16})$/.exec(content.toString("latin1")) ?? [];
  const wake = { channel: channelId(Number(channel)), seq: Number(seq) };
  return Number.isSafeInteger(wake.channel) && Number.isSafeInteger(wake.seq) ? wake : null;
}

const BACKOFF = { fromMs: 200, toMs: 5000 };

/**
 * Reads the wakes of the partitions of which this daemon is home. It uses an AMQP channel of its own, which is opened again after a
 * failure: a failure costs wakes, which may be lost, but no partition.
 */
export class WakeReader {
  readonly #connection: BrokerConnection;
  readonly #names: Names;
  readonly #read: (content: Buffer) => void;
  readonly #tags = new Map<Partition, string>();
  readonly #again = new BackoffTimer(BACKOFF);
  #channel: Channel | null = null;
  #isOpening = false;
  #subscriptions = 0;

  /** @param read called with the content of each message, valid or not; must not throw */
  constructor(connection: BrokerConnection, names: Names, read: (content: Buffer) => void) {
    this.#connection = connection;
    this.#names = names;
    this.#read = read;
  }

  add(partition: Partition): void {
    this.#tags.set(partition, "");
    if (this.#channel === null) void this.#open();
    else void this.#subscribe(this.#channel, partition);
  }

  /** Resolves when the partition's wakes are no longer read. Never rejects. */
  async remove(partition: Partition): Promise<void> {
    const tag = this.#tags.get(partition) ?? "";
    this.#tags.delete(partition);
    // A failure has closed the channel, and the subscription with it.
    if (tag !== "") await this.#channel?.cancel(tag).catch(() => undefined);
  }

  async #open(): Promise<void> {
    if (this.#isOpening || !this.#connection.isOpen) return;
    this.#isOpening = true;
    try {
      const channel = await this.#connection.openChannel();
      channel.on("close", () => {
        if (this.#channel === channel) this.#channel = null;
        this.#retry();
      });
      this.#channel = channel;
      await Promise.all(this.#tags.keys().map(async (partition) => this.#subscribe(channel, partition)));
      if (this.#channel === channel) this.#again.succeeded();
    } catch {
      this.#retry();
    } finally {
      this.#isOpening = false;
    }
  }

  #retry(): void {
    if (this.#connection.isOpen) this.#again.schedule(() => void this.#open());
  }

  async #subscribe(channel: Channel, partition: Partition): Promise<void> {
    this.#subscriptions += 1;
    const tag = `wakes-${partition}-${this.#subscriptions}`;
    this.#tags.set(partition, tag);
    const queue = this.#names.wakes(partition);
    const read = (message: ConsumeMessage | null): void => {
      if (message !== null) this.#read(message.content);
      // The queue was deleted: subscribing creates it again.
      else if (this.#tags.get(partition) === tag) void this.#subscribe(channel, partition);
    };
    try {
      await declareQueue(this.#connection, queue, this.#names.expiring(WAKE_QUEUE));
      if (this.#tags.get(partition) !== tag) return;
      await channel.consume(queue, read, { noAck: true, consumerTag: tag });
    } catch {
      await closeAfterFailure(channel);
    }
  }
}

/** Closes the channel, so that it is opened again, unless the failure has closed it already. */
async function closeAfterFailure(channel: Channel): Promise<void> {
  try {
    await channel.close();
  } catch {
    // It is closed.
  }
}
