import { hostname } from "node:os";
import process from "node:process";
import { type Homes, type HomesListener, type Partition, PARTITIONS } from "../homes.ts";
import type { ClusterConfig } from "../../config/config.ts";
import type { ChannelId, Seq } from "../../core/ids.ts";
import { Leases, type LeasesOptions, type LeasesState } from "./leases.ts";
import type { Timing } from "./lease-queues.ts";
import type { MembershipCounts } from "./membership.ts";
import { Names } from "./names.ts";

/** A daemon's state in its cluster. Counts since the start. */
export interface HomesVitals {
  readonly name: string;
  readonly state: LeasesState;
  /** It hands on its partitions and takes none, as long as there are other members. */
  readonly isResting: boolean;
  /** While joining, why the last attempt failed; null: none failed. */
  readonly why: string | null;
  readonly owned: number;
  /** Daemons in the cluster, this one included; null: not known. */
  readonly members: number | null;
  readonly isPublishing: boolean;
  readonly partitions: Omit<MembershipCounts, "wakesReceived" | "foreign">;
  readonly wakes: { readonly sent: number; readonly received: number; readonly dropped: number };
  /** Messages in the cluster's queues that come from no daemon. */
  readonly foreign: number;
}

export interface RabbitHomesOptions
  extends
    Partial<Omit<Timing, "handOnMs">>,
    Pick<LeasesOptions, "handOnMs" | "livingMs" | "onName" | "database" | "log"> {
  readonly config: ClusterConfig;
}

export function nameIn({ name }: Pick<ClusterConfig, "name">): string {
  return name ?? `${hostname()}-${process.pid}`;
}

/**
 * Decides by RabbitMQ which daemon is home of a partition: the holder of its lease. Loads `amqplib`: import this file only where a
 * cluster is configured.
 */
export class RabbitHomes implements Homes {
  readonly #name: string;
  readonly #leases: Leases;
  #listener: HomesListener | null = null;

  constructor({ config, log, ...timing }: RabbitHomesOptions) {
    const name = nameIn(config);
    this.#name = name;
    this.#leases = new Leases({
      ...timing,
      url: config.url,
      names: new Names(config.prefix),
      count: PARTITIONS,
      name,
      purpose: "home",
      holdsName: true,
      listener: {
        gained: async (partitions) => (await this.#listener?.gained(partitions)) ?? [],
        handingOn: async (partitions, deadline) => this.#listener?.handingOn(partitions, deadline),
        lost: (partitions) => this.#listener?.lost(partitions),
      },
      woken: (channel, seq) => this.#listener?.woken(channel, seq),
      onJoined: (members) => log.info({ name, members }, "In the cluster"),
      onLost: (why, waitMs) =>
        log.warn({ why, waitMs }, "Not in the cluster: this daemon is home of no channel, and tries to join"),
      log,
    });
  }

  owns(partition: Partition): boolean {
    return this.#leases.owns(partition);
  }

  wake(partition: Partition, channel: ChannelId, seq: Seq): void {
    this.#leases.sender.wake(partition, { channel, seq });
  }

  async claim(): Promise<void> {
    await this.#leases.claim();
  }

  /** Waits for a broker without a limit, and logs that; {@link leave} ends the wait. */
  async start(listener: HomesListener): Promise<void> {
    this.#listener = listener;
    await this.#leases.start();
  }

  /** True: hands on all partitions and takes none while there are other members; it still publishes. False: takes its share again. */
  rest(isResting: boolean): void {
    this.#leases.rest(isResting);
  }

  async leave(deadline: AbortSignal): Promise<void> {
    await this.#leases.leave(deadline);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave(AbortSignal.abort());
  }

  vitals(): HomesVitals {
    const { state, isResting, why, owned, members, sender, counts } = this.#leases;
    const { wakesReceived: received, foreign, ...partitions } = counts;
    return {
      name: this.#name,
      state,
      isResting,
      why,
      owned: owned.length,
      members,
      isPublishing: sender.isFlowing,
      partitions,
      wakes: { ...sender.counts, received },
      foreign,
    };
  }
}
