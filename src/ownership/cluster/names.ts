import type { Options } from "amqplib";
import type { Partition } from "../homes.ts";

/** Names and options of a cluster's queues and exchange in RabbitMQ; all names begin with the cluster's prefix. */

/**
 * Delivery limit of a lease queue. A lease is redelivered each time a daemon dies, and RabbitMQ 4 drops a message after 20
 * deliveries by default; 3.10 has no value for "unlimited".
 */
const DELIVERIES = 1_000_000_000;

/** Holds a lease. The single active consumer that holds the lease owns its partition or shard. */
export const BATON_QUEUE: Options.AssertQueue = {
  durable: true,
  // No length limit: a queue that drops its oldest message would drop a returned lease.
  arguments: { "x-queue-type": "quorum", "x-single-active-consumer": true, "x-delivery-limit": DELIVERIES },
};

/** Unread wakes of one partition. The home's poll each second covers dropped ones. */
const MOST_WAKES = 1000;
const WAKE_TTL_MS = 60_000;

/** Carries a partition's wakes to its home. Wakes are not stored on disk. */
export const WAKE_QUEUE: Options.AssertQueue = {
  durable: true,
  messageTtl: WAKE_TTL_MS,
  arguments: { "x-queue-type": "classic", "x-max-length": MOST_WAKES, "x-overflow": "drop-head" },
};

/**
 * Always empty: its consumers are the members. A quorum queue with a single active consumer would report one consumer only.
 */
export const MEMBER_QUEUE: Options.AssertQueue = { durable: true, arguments: { "x-queue-type": "classic" } };

/** A member's own queue for presence messages; the broker deletes it with the connection. */
export const PRESENCE_QUEUE: Options.AssertQueue = { exclusive: true, autoDelete: true, maxLength: 1000 };

/** An hour without a consumer: the queues outlive a restart of all daemons, and the next start makes missing ones. */
const EXPIRES_MS = 3_600_000;

export class Names {
  readonly #prefix: string;
  readonly #expiresMs: number;

  /** @param expiresMs for tests */
  constructor(prefix: string, expiresMs = EXPIRES_MS) {
    this.#prefix = prefix;
    this.#expiresMs = expiresMs;
  }

  /** The options of a queue that the broker deletes some time after the last daemon has left. */
  expiring(options: Options.AssertQueue): Options.AssertQueue {
    return { ...options, expires: this.#expiresMs };
  }

  /** @param id of a partition or a shard */
  lease(id: number): string {
    return `${this.#prefix}.baton.${id}`;
  }

  wakes(partition: Partition): string {
    return `${this.#prefix}.wakes.${partition}`;
  }

  get members(): string {
    return `${this.#prefix}.members`;
  }

  /** Exists while a daemon of that name is connected. */
  daemon(name: string): string {
    return `${this.#prefix}.daemon.${name}`;
  }

  /** Exists while a member creates the queues: a lock. */
  get setUp(): string {
    return `${this.#prefix}.set-up`;
  }

  get presence(): string {
    return `${this.#prefix}.presence`;
  }
}
