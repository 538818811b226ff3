import { randomUUID } from "node:crypto";
import { hostname } from "node:os";
import type { Logger } from "pino";
import { backoffMs, jittered } from "../async/backoff.ts";
import { pause, steadyNow } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
import type { Homes, HomesListener, Partition } from "../channel/homes.ts";
import type { ClusterConfig } from "../config/config.ts";
import { errorMessage } from "../core/errors.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import { type BrokerConnection, openBroker } from "./broker-connection.ts";
import { type DatabaseView, DatabaseWatch, UNWATCHED } from "./database-watch.ts";
import { Gains } from "./gains.ts";
import type { Timing } from "./line.ts";
import { Membership, type MembershipCounts, type MembershipParts } from "./membership.ts";
import { Names } from "./names.ts";
import { NameTakenError, takeName } from "./own-name.ts";
import { Sender } from "./sender.ts";

/** Waits between attempts to join, ms. Short: meanwhile somebody's channels may have no home. */
const BACKOFF = { fromMs: 100, toMs: 2000 };
/** The connection for publishing is waited for so long, ms. */
const FLOWING_MS = 5000;
/** A broker that cannot delete a queue says so by closing the connection, ms. */
const DELETED_MS = 30_000;
const TIMING: Omit<Timing, "handOnMs"> = { renewMs: 300_000, proofMs: 10_000, orphanMs: 5000 };
/** A time in the cluster that was so long was none that failed, ms. */
const LASTING_MS = 10_000;

/** How a daemon fares in its cluster. Numbers since the start. */
export interface ClusterVitals {
  readonly name: string;
  /** `joining`: there is no broker, or it is being asked. */
  readonly state: "joining" | "member" | "leaving" | "left";
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
  readonly log: Logger;
}

/** A connection to the broker under this daemon's name. */
interface Named {
  readonly connection: BrokerConnection;
  readonly giveBackName: () => Promise<void>;
}

/** Makes what {@link RabbitHomes.start} connects. The one door to `amqplib`: import this file where a cluster is configured. */
export function openRabbitHomes(options: RabbitHomesOptions): RabbitHomes {
  return new RabbitHomes(options);
}

/** Who is home, by RabbitMQ: {@link Membership} says how. Lives through the loss of its broker, and joins again. */
export class RabbitHomes implements Homes {
  readonly #url: string;
  readonly #names: Names;
  readonly #self: MembershipParts["self"];
  readonly #timing: Timing;
  readonly #sender: Sender;
  readonly #livingMs: number | undefined;
  readonly #log: Logger;
  readonly #counts: MembershipCounts = {
    gained: 0,
    passedOn: 0,
    handedOn: 0,
    lost: 0,
    renewed: 0,
    made: 0,
    wakesReceived: 0,
    foreign: 0,
  };
  readonly #leaving = new AbortController();
  #isResting = false;
  #state: ClusterVitals["state"] = "joining";
  #membership: Membership | null = null;
  /** What has ended the last attempt, or the last time in the cluster. */
  #why: string | null = null;
  /** The connection of who is about to be a member. */
  #joining: BrokerConnection | null = null;
  #named: Named | null = null;
  #database: DatabaseView = UNWATCHED;
  #over: Promise<void> | null = null;

  constructor({ config, log, livingMs, ...timing }: RabbitHomesOptions) {
    this.#url = config.url;
    this.#names = new Names(config.prefix);
    const name = config.name ?? `${hostname()}-${process.pid}`;
    this.#self = { id: randomUUID(), name, since: steadyNow() };
    this.#timing = { ...TIMING, ...timing };
    this.#livingMs = livingMs;
    this.#log = log;
    this.#sender = new Sender(this.#names, config.url, `weir ${name}: publishes`, log);
  }

  owns(partition: Partition): boolean {
    return this.#membership?.owns(partition) === true;
  }

  wake(partition: Partition, channel: ChannelId, seq: Seq): void {
    this.#sender.wake(partition, { channel, seq });
  }

  /**
   * Takes this daemon's name, before {@link start}. A broker that is not there is no reason not to start: whoever joins takes it then.
   * @throws NameTakenError if another daemon has it, and lives
   */
  async claim(): Promise<void> {
    try {
      await this.#open();
    } catch (error) {
      if (error instanceof NameTakenError) throw error;
      this.#log.warn({ why: errorMessage(error) }, "name_not_taken");
    }
  }

  /**
   * Asks from now on whether the database is there: who does not reach it leaves what it has to those that do. Call it before {@link start}.
   * @param ask whether it has answered; must not reject, nor take longer than some seconds
   * @returns ends that
   */
  watchDatabase(ask: () => Promise<boolean>): DatabaseView & AsyncDisposable {
    const watch = new DatabaseWatch(ask);
    this.#database = watch;
    return watch;
  }

  /** Waits for a broker as long as there is none, and says so in the log; {@link leave} ends that. */
  async start(listener: HomesListener): Promise<void> {
    this.#sender.start();
    const joined = Promise.withResolvers<void>();
    const run = this.#run(listener, joined.resolve);
    this.#over = run;
    await Promise.race([joined.promise, run]);
  }

  /** Hands on all partitions and takes none while others are there to take them, or takes its share again. It stays a member that publishes. */
  rest(isResting: boolean): void {
    this.#isResting = isResting;
    this.#membership?.restChanged();
  }

  async leave(deadline: AbortSignal): Promise<void> {
    if (this.#state === "left") return;
    this.#state = "leaving";
    this.#leaving.abort();
    this.#joining?.cut();
    // Whoever comes in its place may start while it hands on what it has.
    await this.#named?.giveBackName();
    await this.#membership?.leave(deadline);
    await this.#over;
    await this.#named?.connection.close();
    await this.#sender.close();
    this.#state = "left";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.leave(AbortSignal.abort());
  }

  vitals(): ClusterVitals {
    const { wakesReceived: received, foreign, ...partitions } = this.#counts;
    return {
      name: this.#self.name,
      state: this.#state,
      isResting: this.#isResting,
      why: this.#state === "joining" ? this.#why : null,
      owned: this.#membership?.owned ?? 0,
      members: this.#membership?.members ?? null,
      isPublishing: this.#sender.isFlowing,
      partitions,
      wakes: { ...this.#sender.counts, received },
      foreign,
    };
  }

  /** Is a member, again and again, until it leaves. */
  async #run(listener: HomesListener, onJoined: () => void): Promise<void> {
    const gains = new Gains(listener, this.#log);
    const { signal } = this.#leaving;
    for (let failures = 0; !signal.aborted;) {
      // It could take up nothing.
      await this.#database.untilBack(signal);
      if (signal.aborted) return;
      const beganAt = steadyNow();
      const why = await this.#beMember(gains, listener, onJoined);
      this.#why = why;
      if (signal.aborted) return;
      failures = steadyNow() - beganAt > LASTING_MS ? 0 : failures + 1;
      const waitMs = jittered(backoffMs(BACKOFF, failures));
      this.#log.warn(
        { why, waitMs },
        "Not in the cluster: this daemon is home of no channel, and tries to join",
      );
      await pause(waitMs, signal);
    }
  }

  /** @returns why it is over */
  async #beMember(gains: Gains, listener: HomesListener, onJoined: () => void): Promise<string> {
    try {
      const connection = await this.#open();
      if (this.#leaving.signal.aborted) return "it leaves";
      // Queues that are empty are given batons by it.
      await this.#sender.untilFlowing(FLOWING_MS);
      const membership = await Membership.join({
        connection,
        names: this.#names,
        self: this.#self,
        sender: this.#sender,
        gains,
        listener,
        counts: this.#counts,
        isResting: () => this.#isResting,
        database: this.#database,
        timing: this.#timing,
        deleteQueue: async (partition) => this.#deleteQueue(partition),
        log: this.#log,
      });
      return await this.#stay(membership, onJoined);
    } catch (error) {
      return errorMessage(error);
    } finally {
      this.#joining = null;
      const named = this.#named;
      this.#named = null;
      await named?.connection.close();
    }
  }

  /** @returns the connection that {@link claim} has opened, if it still stands @throws Error if the broker refuses */
  async #open(): Promise<BrokerConnection> {
    if (this.#named?.connection.isOpen === true) return this.#named.connection;
    const { name } = this.#self;
    const connection = await openBroker(this.#url, `weir ${name}: home`);
    this.#joining = connection;
    try {
      const parts = { log: this.#log, ...(this.#livingMs !== undefined && { livingMs: this.#livingMs }) };
      const giveBackName = await takeName(connection, this.#names, name, parts);
      this.#named = { connection, giveBackName };
      return connection;
    } catch (error) {
      await connection.close();
      throw error;
    }
  }

  async #deleteQueue(partition: Partition): Promise<void> {
    let connection: BrokerConnection | null = null;
    try {
      connection = await openBroker(this.#url, `weir ${this.#self.name}: repairs`);
      const channel = await connection.openChannel();
      await withDeadline(channel.deleteQueue(this.#names.baton(partition)), DELETED_MS);
    } catch (error) {
      // It may be deleted all the same; else it is tried again.
      this.#log.warn({ partition, why: errorMessage(error) }, "Deleting the queue of a partition failed");
    } finally {
      await connection?.close();
    }
  }

  async #stay(membership: Membership, onJoined: () => void): Promise<string> {
    this.#membership = membership;
    this.#joining = null;
    if (this.#leaving.signal.aborted) await membership.leave(AbortSignal.abort());
    else {
      this.#state = "member";
      this.#log.info({ name: this.#self.name, members: membership.members }, "In the cluster");
      onJoined();
    }
    const why = await membership.ended;
    this.#membership = null;
    if (!this.#leaving.signal.aborted) this.#state = "joining";
    return why;
  }
}
