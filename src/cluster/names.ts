import type { Options } from "amqplib";
import type { Partition } from "../channel/homes/homes.ts";

/** What a cluster has in the broker, by its prefix. */

/**
 * RabbitMQ 4 drops what was delivered twenty times, unless a queue says otherwise; 3.10 knows no "never". A baton comes again with
 * each daemon that dies.
 */
const DELIVERIES = 1_000_000_000;

/** Holds a baton. Whoever is its single active consumer, and has the baton, has what it is of. */
export const BATON_QUEUE: Options.AssertQueue = {
  durable: true,
  // Never with a bound: one that drops the oldest would drop a baton that was given back.
  arguments: { "x-queue-type": "quorum", "x-single-active-consumer": true, "x-delivery-limit": DELIVERIES },
};

/** Wakes that nobody has read yet, of one partition. The look each second finds what is dropped. */
const MOST_WAKES = 1000;
const WAKE_TTL_MS = 60_000;

/** Carries wakes, which are not kept on a disk; only the home reads them. */
export const WAKE_QUEUE: Options.AssertQueue = {
  durable: true,
  messageTtl: WAKE_TTL_MS,
  arguments: { "x-queue-type": "classic", "x-max-length": MOST_WAKES, "x-overflow": "drop-head" },
};

/** Holds nothing: a quorum queue with a single active consumer tells of one, so members are counted by those of this one. */
export const MEMBER_QUEUE: Options.AssertQueue = { durable: true, arguments: { "x-queue-type": "classic" } };

/** A member's own, gone with its connection. */
export const PRESENCE_QUEUE: Options.AssertQueue = { exclusive: true, autoDelete: true, maxLength: 1000 };

export class Names {
  readonly #prefix: string;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Of a partition, or of a shard. */
  baton(id: number): string {
    return `${this.#prefix}.baton.${id}`;
  }

  wakes(partition: Partition): string {
    return `${this.#prefix}.wakes.${partition}`;
  }

  get members(): string {
    return `${this.#prefix}.members`;
  }

  /** Is there while a daemon of that name is. */
  daemon(name: string): string {
    return `${this.#prefix}.daemon.${name}`;
  }

  /** Is there while one of them makes the queues. */
  get setUp(): string {
    return `${this.#prefix}.set-up`;
  }

  /** The exchange by which members tell each other who they are. */
  get presence(): string {
    return `${this.#prefix}.presence`;
  }
}
