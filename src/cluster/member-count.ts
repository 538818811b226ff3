import type { Channel } from "amqplib";
import type { BrokerConnection } from "./broker-connection.ts";
import { MEMBER_QUEUE, type Names } from "./names.ts";

/**
 * Counts the members, of which this is one: each consumes from one queue, and the broker tells how many do. It knows of a member that
 * was killed as soon as of its batons.
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
   * Counts this one as well, unless that is switched off. Those who ask at the same time get the same answer.
   * @returns null: the broker cannot tell now, though it has answered
   * @throws Error if the connection is over
   */
  async count(): Promise<number | null> {
    this.#pending ??= this.#ask().finally(() => {
      this.#pending = null;
    });
    return this.#pending;
  }

  /** Is counted no more, or again. @throws Error if the connection is over */
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
      // Its queue is gone, or on a node that is: asked again, it is made anew.
      if (this.#connection.isOpen) return null;
      throw error;
    }
  }

  async #open(): Promise<Channel> {
    const channel = await this.#connection.openChannel();
    channel.on("close", () => {
      if (this.#channel !== channel) return;
      this.#channel = null;
      this.#tag = null;
    });
    this.#channel = channel;
    await channel.assertQueue(this.#names.members, MEMBER_QUEUE);
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
      // The queue was deleted: the next count makes it anew.
      if (message === null) void channel.close().catch(() => undefined);
    };
    const { consumerTag } = await channel.consume(this.#names.members, onMessage, { noAck: true });
    this.#tag = consumerTag;
  }
}
