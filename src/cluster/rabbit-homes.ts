import { hostname } from "node:os";
import process from "node:process";
import type { Logger } from "pino";
import { type Homes, type HomesListener, type Partition, PARTITIONS } from "../channel/homes/homes.ts";
import type { ClusterConfig } from "../config/config.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import { Batons, type BatonsState } from "./batons.ts";
import type { DatabaseView } from "./database-watch.ts";
import type { Timing } from "./lease-queues.ts";
import type { MembershipCounts } from "./membership.ts";
import { Names } from "./names.ts";

/** How a daemon fares in its cluster. Numbers since the start. */
export interface HomesVitals {
  readonly name: string;
  readonly state: BatonsState;
  /** It hands on what it has, and takes nothing, as long as there are others. */
  readonly isResting: boolean;
  /** Of one that is joining: what has kept it from it last; null: nothing has. */
  readonly why: string | null;
  readonly owned: number;
  /** Daemons in the cluster, this one included; null: not known. */
  readonly members: number | null;
  /** Whether the broker takes what is published. */
  readonly isPublishing: boolean;
  readonly partitions: Omit<MembershipCounts, "wakesReceived" | "foreign">;
  readonly wakes: { readonly sent: number; readonly received: number; readonly dropped: number };
  /** Messages in the cluster's queues that no daemon has sent. */
  readonly foreign: number;
}

export interface RabbitHomesOptions extends Partial<Timing> {
  readonly config: ClusterConfig;
  /** Turns that run may go on for so long where a partition is handed on for balance, ms. */
  readonly handOnMs: number;
  /** Who has had a name for so long while it was asked for lives, ms; default: 10 s. */
  readonly livingMs?: number;
  /** Told where another daemon has its name, and when that is its own again. Default: nobody is told. */
  readonly onName?: (isOurs: boolean) => void;
  /** Whether the database is there. Default: nobody asks. */
  readonly database?: () => DatabaseView;
  readonly log: Logger;
}

/** Makes what {@link RabbitHomes.start} connects. A door to `amqplib`: import this file where a cluster is configured. */
export function openRabbitHomes(options: RabbitHomesOptions): RabbitHomes {
  return new RabbitHomes(options);
}

/** This daemon's name in the cluster. */
export function nameIn({ name }: Pick<ClusterConfig, "name">): string {
  return name ?? `${hostname()}-${process.pid}`;
}

/** Who is home, by RabbitMQ: whoever has the baton of a partition. */
export class RabbitHomes implements Homes {
  readonly #name: string;
  readonly #batons: Batons;
  #listener: HomesListener | null = null;

  constructor({ config, log, ...timing }: RabbitHomesOptions) {
    const name = nameIn(config);
    this.#name = name;
    this.#batons = new Batons({
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
    return this.#batons.owns(partition);
  }

  wake(partition: Partition, channel: ChannelId, seq: Seq): void {
    this.#batons.sender.wake(partition, { channel, seq });
  }

  /** See {@link Batons.claim}. */
  async claim(): Promise<void> {
    await this.#batons.claim();
  }

  /** Waits for a broker as long as there is none, and says so in the log; {@link leave} ends that. */
  async start(listener: HomesListener): Promise<void> {
    this.#listener = listener;
    await this.#batons.start();
  }

  /** Hands on all partitions and takes none while others are there to take them, or takes its share again. It stays a member that publishes. */
  rest(isResting: boolean): void {
    this.#batons.rest(isResting);
  }

  async leave(deadline: AbortSignal): Promise<void> {
    await this.#batons.leave(deadline);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave(AbortSignal.abort());
  }

  vitals(): HomesVitals {
    const { state, isResting, why, owned, members, sender, counts } = this.#batons;
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
