import type { Channel } from "amqplib";
import type { BrokerConnection } from "./broker-connection.ts";
import { declareQueue } from "./declare-queue.ts";
import { MEMBER_QUEUE, type Names } from "./names.ts";

/**
 * Counts the members of the cluster: each consumes from one queue, whose number of consumers the broker reports. A killed member
 * leaves the count when its leases return.
 */
export class MemberCount {
  readonly #connection: BrokerConnection;
  readonly #names: Names;
  #channel: Channel | null = null;
  #pending: Promise<number | null> | null = null;
  #tag: string | null = null;
  #isMember = true;

  constructor(connection: BrokerConnection, names: Names) {
    this.#connection = connection;
    this.#names = names;
  }

  /**
   * Includes this daemon unless {@link setMember} excluded it. Concurrent calls share one request.
   * @returns null: the broker refused the request
   * @throws Error if the connection is over
   */
  async count(): Promise<number | null> {
    this.#pending ??= this.#ask().finally(() => {
      this.#pending = null;
    });
    return this.#pending;
  }

  /** Includes this daemon in the count, or excludes it. @throws Error if the connection is over */
  async setMember(isMember: boolean): Promise<void> {
    this.#isMember = isMember;
    await this.#pending;
    await this.count();
  }

  async #ask(): Promise<number | null> {
    try {
      const channel = this.#channel ?? (await this.#open());
      if (this.#isMember) await this.#consume(channel);
      else await this.#cancel(channel);
      const { consumerCount } = await channel.checkQueue(this.#names.members);
      return consumerCount;
    } catch (error) {
      // The queue was deleted, or its node is down: the next count creates it again.
      if (this.#connection.isOpen) return null;
      throw error;
    }
  }

  async #open(): Promise<Channel> {
    await declareQueue(this.#connection, this.#names.members, this.#names.expiring(MEMBER_QUEUE));
    const channel = await this.#connection.openChannel();
    channel.on("close", () => {
      if (this.#channel !== channel) return;
      this.#channel = null;
      this.#tag = null;
    });
    this.#channel = channel;
    return channel;
  }

  async #cancel(channel: Channel): Promise<void> {
    const tag = this.#tag;
    this.#tag = null;
    if (tag !== null) await channel.cancel(tag);
  }

  async #consume(channel: Channel): Promise<void> {
    if (this.#tag !== null) return;
    const onMessage = (message: unknown): void => {
      // The queue was deleted: the next count creates it again.
      if (message === null) void channel.close().catch(() => undefined);
    };
    const { consumerTag } = await channel.consume(this.#names.members, onMessage, { noAck: true });
    this.#tag = consumerTag;
  }
}
