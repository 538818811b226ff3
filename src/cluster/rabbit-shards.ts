import type { Logger } from "pino";
import { backoffMs, jittered } from "../async/backoff.ts";
import { unlessAborted } from "../async/deadline.ts";
import { retry } from "../async/retry.ts";
import { LatestOnly } from "../async/latest-only.ts";
import type { ClusterConfig } from "../config/config.ts";
import { errorMessage } from "../core/errors.ts";
import type { ShardHomes, ShardListener } from "../platforms/shared/shard-homes.ts";
import type { GatewayShardStore, TakenShard } from "../store/channels/gateway-shards.ts";
import { Batons, type BatonsState } from "./batons.ts";
import type { DatabaseView } from "./database-watch.ts";
import type { Timing } from "./lease-queues.ts";
import { Names } from "./names.ts";
import { nameIn } from "./rabbit-homes.ts";

/** A shard that is handed on in order may take so long to be closed, ms: what was heard gets into the log first. */
const HAND_ON_MS = 10_000;
/** Between attempts to agree with the others on a number of shards, ms. */
const BACKOFF = { fromMs: 200, toMs: 5000 };

/** How a daemon shares the connections to a platform. */
export interface ShardsVitals {
  readonly platform: string;
  readonly state: BatonsState;
  /** Among how many the platform's servers are divided. */
  readonly of: number;
  /** Those that this daemon has. */
  readonly held: readonly number[];
  /** Daemons that take their share of them, this one included; null: not known. */
  readonly members: number | null;
}

export interface RabbitShardsOptions extends Partial<Timing> {
  /** Whether the database is there. Default: nobody asks. */
  readonly database?: () => DatabaseView;
  readonly config: ClusterConfig;
  readonly platform: string;
  readonly log: Logger;
}

/** Where shards are taken, and by whom. */
interface Taker {
  readonly shards: GatewayShardStore;
  /** The daemon's row of `members`. */
  readonly member: string;
}

/** Makes what {@link RabbitShards.start} connects. A door to `amqplib`: import this file where a cluster is configured. */
export function openRabbitShards(options: RabbitShardsOptions): RabbitShards {
  return new RabbitShards(options);
}

/** Who has which connection to a platform, by RabbitMQ: whoever has the baton of a shard takes it in the database, and opens it. */
export class RabbitShards implements ShardHomes {
  readonly #options: RabbitShardsOptions;
  readonly #name: string;
  #taker: Taker | null = null;
  #listener: ShardListener | null = null;
  #wanted = 0;
  /** 0: not known yet. */
  #of = 0;
  #batons: Batons | null = null;
  /** One that is lost while it is being taken is not opened. */
  readonly #takings = new LatestOnly<number>();
  /** Epochs of the shards that the listener has. */
  readonly #epochs = new Map<number, number>();
  /** Of shards that were lost while they were being taken. */
  readonly #releasing = new Set<Promise<void>>();
  #isResting = false;
  readonly #leaving = new AbortController();
  /** As long as nobody tells another number. */
  #members = 1;

  constructor(options: RabbitShardsOptions) {
    this.#options = options;
    this.#name = nameIn(options.config);
  }

  /** To be called before {@link start}: the database is open. */
  bind(taker: Taker): void {
    this.#taker = taker;
  }

  async start(wanted: number, listener: ShardListener): Promise<number> {
    this.#listener = listener;
    this.#wanted = wanted;
    await this.#divide();
    return this.#of;
  }

  /** As last told: without the broker nobody knows who else is there, and each goes on as before. */
  members(): number {
    this.#members = Math.max(1, this.#batons?.members ?? this.#members);
    return this.#members;
  }

  async takeLogin(bucket: number, everyMs: number): Promise<number> {
    return this.#takes.shards.takeLogin(this.#options.platform, bucket, everyMs);
  }

  async retake(shard: number): Promise<number | null> {
    const { platform, log } = this.#options;
    if (this.#batons?.owns(shard) !== true || this.#takings.has(shard)) return null;
    try {
      const [held] = await this.#take([shard], this.#of);
      if (held !== undefined) log.warn({ platform, shard }, "shard_taken_anew");
      return held?.epoch ?? null;
    } catch (error) {
      log.debug({ platform, shard, why: errorMessage(error) }, "shard_not_taken_anew");
      return null;
    }
  }

  /** Hands on all shards and takes none while others are there to take them, or takes its share again. */
  rest(isResting: boolean): void {
    this.#isResting = isResting;
    this.#batons?.rest(isResting);
  }

  async leave(deadline: AbortSignal): Promise<void> {
    this.#leaving.abort();
    await this.#batons?.leave(deadline);
    await unlessAborted(Promise.all(this.#releasing), deadline);
  }

  /** Undefined: this daemon does not have the platform, or not yet. */
  vitals(): ShardsVitals | undefined {
    if (this.#batons === null) return undefined;
    const { state, owned: held, members } = this.#batons;
    return { platform: this.#options.platform, state, of: this.#of, held, members };
  }

  get #takes(): Taker {
    if (this.#taker === null) throw new Error("shards are shared before the database is open");
    return this.#taker;
  }

  /** Agrees with the other daemons on a number of shards, and gets in line for them. @throws WeirError if the database is away */
  async #divide(): Promise<void> {
    const { platform, log, config, ...timing } = this.#options;
    const of = await this.#takes.shards.agree(platform, this.#wanted);
    if (this.#leaving.signal.aborted) return;
    if (of !== this.#wanted) log.warn({ platform, wanted: this.#wanted, of }, "shards_agreed");
    const name = this.#name;
    const batons = new Batons({
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
    batons.rest(this.#isResting);
    this.#of = of;
    this.#batons = batons;
    // It waits for a broker as long as there is none.
    void batons.start();
  }

  async #gain(shards: readonly number[], of: number): Promise<readonly number[]> {
    const held = await this.#take(shards, of);
    if (held.length > 0) this.#listener?.gained(held, of);
    return held.map(({ shard }) => shard);
  }

  /** @returns those that were not lost meanwhile @throws WeirError if the database is away */
  async #take(shards: readonly number[], of: number): Promise<TakenShard[]> {
    const { shards: store, member } = this.#takes;
    return this.#takings.run(shards, async (own) => {
      const taken = await store.take(this.#options.platform, shards, of, { owner: this.#name, member });
      if (taken === null) {
        void this.#divideAnew();
        return [];
      }
      // Whoever leaves is told of each that it has lost only a little later.
      const wanted = new Set(this.#leaving.signal.aborted ? [] : own());
      const held = taken.filter(({ shard }) => wanted.has(shard));
      for (const { shard, epoch } of held) this.#epochs.set(shard, epoch);
      // The database has it as this daemon's, and would keep all to its number of shards. Not waited for: what is held may be lost meanwhile.
      const releasing = this.#release(taken.filter(({ shard }) => !wanted.has(shard)));
      this.#releasing.add(releasing);
      void releasing.finally(() => this.#releasing.delete(releasing));
      return held;
    });
  }

  async #lose(shards: readonly number[], deadline: AbortSignal): Promise<void> {
    this.#takings.drop(shards);
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
      // Another number of shards is agreed on a little later.
      log.debug({ platform, why: errorMessage(error) }, "shards_not_released");
    }
  }

  /** The others divide the servers among another number of shards by now, which they may as long as nobody has one. */
  async #divideAnew(): Promise<void> {
    const batons = this.#batons;
    this.#batons = null;
    if (batons === null) return;
    await batons.leave(AbortSignal.abort());
    const { signal } = this.#leaving;
    const waitMs = (_: unknown, failures: number): number => jittered(backoffMs(BACKOFF, failures));
    // What fails behind the wait has ended by leaving.
    await retry(async () => this.#divide(), waitMs, signal).catch(() => undefined);
  }
}
