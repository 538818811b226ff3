import type { Logger } from "pino";
import { backoffMs, jittered } from "../../async/backoff.ts";
import { unlessAborted } from "../../async/deadline.ts";
import { retry } from "../../async/retry.ts";
import { LatestOnly } from "../../async/latest-only.ts";
import type { ClusterConfig } from "../../config/config.ts";
import { errorMessage } from "../../core/errors.ts";
import type { ShardHomes, ShardListener } from "../../platforms/shared/shard-homes.ts";
import type { GatewayShardStore, TakenShard } from "../../store/channels/gateway-shards.ts";
import { Leases, type LeasesState } from "./leases.ts";
import type { DatabaseView } from "./database-watch.ts";
import type { Timing } from "./lease-queues.ts";
import { Names } from "./names.ts";
import { nameIn } from "./rabbit-homes.ts";

/** Limit for closing a shard that is handed on, ms: received events are logged first. */
const HAND_ON_MS = 10_000;
/** Delay between attempts to agree on a number of shards, ms. */
const BACKOFF = { fromMs: 200, toMs: 5000 };

/** State of a daemon's share of the connections to a platform. */
export interface ShardsVitals {
  readonly platform: string;
  readonly state: LeasesState;
  /** Number of shards among which the platform's servers are divided. */
  readonly of: number;
  readonly held: readonly number[];
  /** Daemons that share them, this one included; null: not known. */
  readonly members: number | null;
}

export interface RabbitShardsOptions extends Partial<Timing> {
  /** Whether the database answers. Default: not watched. */
  readonly database?: () => DatabaseView;
  readonly config: ClusterConfig;
  readonly platform: string;
  readonly log: Logger;
}

/** The store in which shards are taken, and the daemon that takes them. */
interface Taker {
  readonly shards: GatewayShardStore;
  readonly member: string;
}

/**
 * Divides the connections to a platform by RabbitMQ: the holder of a shard's lease takes the shard in the database, and opens it. Loads
 * `amqplib`: import this file only where a cluster is configured.
 */
export class RabbitShards implements ShardHomes {
  readonly #options: RabbitShardsOptions;
  readonly #name: string;
  #taker: Taker | null = null;
  #listener: ShardListener | null = null;
  #wanted = 0;
  /** 0: not known yet. */
  #of = 0;
  #leases: Leases | null = null;
  /** A shard that is lost during its acquisition is not opened. */
  readonly #acquiring = new LatestOnly<number>();
  readonly #epochs = new Map<number, number>();
  /** Running releases of shards that were lost during their acquisition. */
  readonly #releasing = new Set<Promise<void>>();
  #isResting = false;
  readonly #leaving = new AbortController();
  /** The last known number of members. */
  #members = 1;

  constructor(options: RabbitShardsOptions) {
    this.#options = options;
    this.#name = nameIn(options.config);
  }

  /** Call it before {@link start}, once the database is open. */
  bind(taker: Taker): void {
    this.#taker = taker;
  }

  async start(wanted: number, listener: ShardListener): Promise<number> {
    this.#listener = listener;
    this.#wanted = wanted;
    await this.#divide();
    return this.#of;
  }

  /** The last known number of members: without the broker each daemon continues with it. */
  members(): number {
    this.#members = Math.max(1, this.#leases?.members ?? this.#members);
    return this.#members;
  }

  async takeLogin(bucket: number, everyMs: number): Promise<number> {
    return this.#takes.shards.takeLogin(this.#options.platform, bucket, everyMs);
  }

  async retake(shard: number): Promise<number | null> {
    const { platform, log } = this.#options;
    if (this.#leases?.owns(shard) !== true || this.#acquiring.has(shard)) return null;
    try {
      const [held] = await this.#take([shard], this.#of);
      if (held !== undefined) log.warn({ platform, shard }, "shard_taken_anew");
      return held?.epoch ?? null;
    } catch (error) {
      log.debug({ platform, shard, why: errorMessage(error) }, "shard_not_taken_anew");
      return null;
    }
  }

  /** True: hands on all shards and takes none while there are other members. False: takes its share again. */
  rest(isResting: boolean): void {
    this.#isResting = isResting;
    this.#leases?.rest(isResting);
  }

  async leave(deadline: AbortSignal): Promise<void> {
    this.#leaving.abort();
    await this.#leases?.leave(deadline);
    await unlessAborted(Promise.all(this.#releasing), deadline);
  }

  /** Undefined: this daemon shares no connections of the platform yet. */
  vitals(): ShardsVitals | undefined {
    if (this.#leases === null) return undefined;
    const { state, owned: held, members } = this.#leases;
    return { platform: this.#options.platform, state, of: this.#of, held, members };
  }

  get #takes(): Taker {
    if (this.#taker === null) throw new Error("shards are shared before the database is open");
    return this.#taker;
  }

  /** Agrees with the other daemons on a number of shards, and queues for their leases. @throws WeirError if the database is away */
  async #divide(): Promise<void> {
    const { platform, log, config, ...timing } = this.#options;
    const of = await this.#takes.shards.agree(platform, this.#wanted);
    if (this.#leaving.signal.aborted) return;
    if (of !== this.#wanted) log.warn({ platform, wanted: this.#wanted, of }, "shards_agreed");
    const name = this.#name;
    const leases = new Leases({
      ...timing,
      handOnMs: timing.handOnMs ?? HAND_ON_MS,
      url: config.url,
      names: new Names(`${config.prefix}.${platform}`),
      count: of,
      name,
      purpose: platform,
      listener: {
        gained: async (shards) => this.#gain(shards, of),
        handingOn: async (shards, deadline) => this.#handOn(shards, deadline),
        lost: (shards) => void this.#lose(shards, AbortSignal.abort()),
      },
      onJoined: (members) => log.info({ platform, of, members }, "shards_shared"),
      onLost: (why, waitMs) => log.warn({ platform, why, waitMs }, "shards_not_shared"),
      log,
    });
    leases.rest(this.#isResting);
    this.#of = of;
    this.#leases = leases;
    // Not awaited: it waits for a broker without a limit.
    void leases.start();
  }

  async #gain(shards: readonly number[], of: number): Promise<readonly number[]> {
    const held = await this.#take(shards, of);
    if (held.length > 0) this.#listener?.gained(held, of);
    return held.map(({ shard }) => shard);
  }

  /** @returns the taken shards that were not lost during the acquisition @throws WeirError if the database is away */
  async #take(shards: readonly number[], of: number): Promise<TakenShard[]> {
    const { shards: store, member } = this.#takes;
    return this.#acquiring.run(shards, async (own) => {
      const taken = await store.take(this.#options.platform, shards, of, { owner: this.#name, member });
      if (taken === null) {
        void this.#divideAnew();
        return [];
      }
      // A leaving daemon keeps none: the loss of each is reported only later.
      const wanted = new Set(this.#leaving.signal.aborted ? [] : own());
      const held = taken.filter(({ shard }) => wanted.has(shard));
      for (const { shard, epoch } of held) this.#epochs.set(shard, epoch);
      // A row of this daemon in the database would bind all members to its number of shards. Not awaited: held shards may be lost
      // in the meantime.
      const releasing = this.#release(taken.filter(({ shard }) => !wanted.has(shard)));
      this.#releasing.add(releasing);
      void releasing.finally(() => this.#releasing.delete(releasing));
      return held;
    });
  }

  async #lose(shards: readonly number[], deadline: AbortSignal): Promise<void> {
    this.#acquiring.drop(shards);
    const lost = this.#listener?.lost(shards, deadline);
    for (const shard of shards) this.#epochs.delete(shard);
    await lost;
  }

  async #handOn(shards: readonly number[], deadline: AbortSignal): Promise<void> {
    const held = shards.flatMap((shard) => {
      const epoch = this.#epochs.get(shard);
      return epoch === undefined ? [] : [{ shard, epoch }];
    });
    await this.#lose(shards, deadline);
    await this.#release(held);
  }

  async #release(held: readonly TakenShard[]): Promise<void> {
    const { platform, log } = this.#options;
    if (held.length === 0) return;
    try {
      await this.#takes.shards.release(platform, held);
    } catch (error) {
      // Only delays the agreement on another number of shards.
      log.debug({ platform, why: errorMessage(error) }, "shards_not_released");
    }
  }

  /** Starts over: the members have agreed on another number of shards, which is possible while no shard is held. */
  async #divideAnew(): Promise<void> {
    const leases = this.#leases;
    this.#leases = null;
    if (leases === null) return;
    await leases.leave(AbortSignal.abort());
    const { signal } = this.#leaving;
    const waitMs = (_: unknown, failures: number): number => jittered(backoffMs(BACKOFF, failures));
    // It rejects only when the daemon leaves.
    await retry(async () => this.#divide(), waitMs, signal).catch(() => undefined);
  }
}
