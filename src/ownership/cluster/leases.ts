/*
 * Divides partitions and platform shards among the daemons of a cluster by RabbitMQ. This room alone uses `amqplib`; of the
 * database it knows the members' rows and the shards' rows, and the channels only through `Homes`.
 */

import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { backoffMs, jittered } from "../../async/backoff.ts";
import { pause, steadyNow } from "../../async/clock.ts";
import { withDeadline } from "../../async/deadline.ts";
import type { HomesListener } from "../homes.ts";
import { errorMessage } from "../../core/errors.ts";
import { type BrokerConnection, openBroker } from "./broker-connection.ts";
import { type DatabaseView, UNWATCHED } from "./database-watch.ts";
import { type LeaseListener, AcquisitionBatcher } from "./acquisition-batcher.ts";
import type { Timing } from "./lease-queues.ts";
import { Membership, type MembershipCounts, type MembershipParts } from "./membership.ts";
import type { Names } from "./names.ts";
import { NameTakenError, takeName } from "./own-name.ts";
import { Sender } from "./sender.ts";

/** Delay between attempts to join, ms. Short: the partitions may have no home in the meantime. */
const BACKOFF = { fromMs: 100, toMs: 2000 };
/** Longest wait for the publishing connection, ms. */
const FLOWING_MS = 5000;
/** Deadline for the deletion of a queue, ms. A broker that cannot delete it closes the connection. */
const DELETED_MS = 30_000;
const TIMING: Omit<Timing, "handOnMs"> = { renewMs: 300_000, proofMs: 10_000, orphanMs: 5000 };
/** A membership that lasted longer than this is not a failed attempt, ms. */
const LASTING_MS = 10_000;

export interface LeasesOptions extends Partial<Timing> {
  readonly url: string;
  readonly names: Names;
  /** How many there are; they are numbered from 0. */
  readonly count: number;
  /** This daemon's name among those that share the leases. */
  readonly name: string;
  /** Shown in the broker's list of connections. */
  readonly purpose: string;
  readonly handOnMs: number;
  readonly listener: LeaseListener;
  /** Also holds the daemon's name while connected, and does not join while another daemon holds it. Default: false. */
  readonly holdsName?: boolean;
  /** A daemon that keeps a requested name for longer is alive, ms; default: 10 s. */
  readonly livingMs?: number | undefined;
  /** A member that cannot reach the database leaves its leases to those that can. Default: not watched. */
  readonly database?: () => DatabaseView;
  /** Called for each wake. Default: no wakes are read. */
  readonly woken?: HomesListener["woken"];
  /** Called with false when another daemon holds this name, and with true when this daemon takes it. */
  readonly onName?: (isOurs: boolean) => void;
  readonly onJoined: (members: number) => void;
  /** Called when it has lost its membership or failed to join; it retries after `waitMs`. */
  readonly onLost: (why: string, waitMs: number) => void;
  readonly log: Logger;
}

/** A connection to the broker that holds this daemon's name. */
interface Named {
  readonly connection: BrokerConnection;
  readonly giveBackName: () => Promise<void>;
}

/** `joining`: waits for the broker, or for the database. */
export type LeasesState = "joining" | "member" | "leaving" | "left";

/**
 * This daemon's share of a set of leases. Survives the loss of the broker, and joins again; {@link Membership} is one connection's
 * part of it.
 */
export class Leases {
  readonly counts: MembershipCounts = {
    gained: 0,
    passedOn: 0,
    handedOn: 0,
    lost: 0,
    renewed: 0,
    made: 0,
    wakesReceived: 0,
    foreign: 0,
  };
  readonly sender: Sender;
  readonly #options: LeasesOptions;
  readonly #self: MembershipParts["self"];
  readonly #timing: Timing;
  readonly #leaving = new AbortController();
  #isResting = false;
  #state: LeasesState = "joining";
  #membership: Membership | null = null;
  /** Why the last attempt or the last membership ended. */
  #why: string | null = null;
  #joining: BrokerConnection | null = null;
  #named: Named | null = null;
  #over: Promise<void> | null = null;

  constructor(options: LeasesOptions) {
    const { url, names, name, purpose, log, handOnMs } = options;
    this.#options = options;
    this.#self = { id: randomUUID(), name, since: steadyNow() };
    const { renewMs = TIMING.renewMs, proofMs = TIMING.proofMs, orphanMs = TIMING.orphanMs } = options;
    this.#timing = { renewMs, proofMs, orphanMs, handOnMs };
    this.sender = new Sender(names, url, `weir ${name}: publishes for ${purpose}`, log);
  }

  get state(): LeasesState {
    return this.#state;
  }

  /** While joining, why the last attempt failed; null: none failed. */
  get why(): string | null {
    return this.#state === "joining" ? this.#why : null;
  }

  get isResting(): boolean {
    return this.#isResting;
  }

  get owned(): readonly number[] {
    return this.#membership?.owned ?? [];
  }

  /** Daemons in the cluster, this one included; null: not known. */
  get members(): number | null {
    return this.#membership?.members ?? null;
  }

  owns(lease: number): boolean {
    return this.#membership?.owns(lease) === true;
  }

  /**
   * Takes this daemon's name before {@link start}. Resolves also without a broker: joining takes the name then.
   * @throws NameTakenError if a live daemon holds it
   */
  async claim(): Promise<void> {
    try {
      await this.#open();
    } catch (error) {
      if (error instanceof NameTakenError) throw error;
      this.#options.log.warn({ why: errorMessage(error) }, "name_not_taken");
    }
  }

  /** Resolves when it is a member. Waits for a broker without a limit; {@link leave} ends the wait. */
  async start(): Promise<void> {
    this.sender.start();
    const joined = Promise.withResolvers<void>();
    const run = this.#run(joined.resolve);
    this.#over = run;
    await Promise.race([joined.promise, run]);
  }

  /** True: hands on all leases and takes none while there are other members; it still publishes. False: takes its share again. */
  rest(isResting: boolean): void {
    this.#isResting = isResting;
    this.#membership?.restChanged();
  }

  /** Hands on all leases until the deadline, and disconnects. May be called twice. */
  async leave(deadline: AbortSignal): Promise<void> {
    if (this.#state === "left") return;
    this.#state = "leaving";
    this.#leaving.abort();
    this.#joining?.cut();
    // Frees the name first: a successor may start while this daemon hands on.
    await this.#named?.giveBackName();
    await this.#membership?.leave(deadline);
    await this.#over;
    await this.#named?.connection.close();
    await this.sender.close();
    this.#state = "left";
  }

  /** Joins, and joins again after each loss, until it leaves. */
  async #run(onJoined: () => void): Promise<void> {
    const { onLost } = this.#options;
    const { signal } = this.#leaving;
    for (let failures = 0; !signal.aborted;) {
      // A member without the database could acquire nothing.
      await this.#database.untilBack(signal);
      if (signal.aborted) return;
      const beganAt = steadyNow();
      const why = await this.#beMember(onJoined);
      this.#why = why;
      if (signal.aborted) return;
      failures = steadyNow() - beganAt > LASTING_MS ? 0 : failures + 1;
      const waitMs = jittered(backoffMs(BACKOFF, failures));
      onLost(why, waitMs);
      await pause(waitMs, signal);
    }
  }

  /** One membership. @returns why it ended */
  async #beMember(onJoined: () => void): Promise<string> {
    const { names, count, listener, woken = null, log } = this.#options;
    try {
      const connection = await this.#open();
      if (this.#leaving.signal.aborted) return "it leaves";
      // Joining publishes leases to empty queues.
      await this.sender.untilFlowing(FLOWING_MS, this.#leaving.signal);
      const membership = await Membership.join({
        connection,
        names,
        count,
        self: this.#self,
        sender: this.sender,
        // New for each membership: a call that hangs from an earlier one blocks nothing.
        acquisitions: new AcquisitionBatcher(listener, log),
        listener,
        woken,
        counts: this.counts,
        isResting: () => this.#isResting,
        database: this.#database,
        timing: this.#timing,
        deleteQueue: async (lease) => this.#deleteQueue(lease),
        log,
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

  get #database(): DatabaseView {
    return this.#options.database?.() ?? UNWATCHED;
  }

  /** @returns the connection of {@link claim} if it is still open, else a new one @throws Error if the broker refuses */
  async #open(): Promise<BrokerConnection> {
    if (this.#named?.connection.isOpen === true) return this.#named.connection;
    const { names, name, purpose, holdsName = false, livingMs, onName, log } = this.#options;
    const { signal } = this.#leaving;
    const connection = await this.#connect(purpose);
    this.#joining = connection;
    try {
      // `leave` has found no connection to cut if it ran during the attempt.
      signal.throwIfAborted();
      const giveBackName = holdsName
        ? await takeName(connection, names, name, { log, livingMs, signal })
        : async (): Promise<void> => undefined;
      if (holdsName) onName?.(true);
      this.#named = { connection, giveBackName };
      return connection;
    } catch (error) {
      if (error instanceof NameTakenError) onName?.(false);
      await connection.close();
      throw error;
    }
  }

  async #connect(what: string): Promise<BrokerConnection> {
    return openBroker(this.#options.url, `weir ${this.#self.name}: ${what}`, this.#leaving.signal);
  }

  async #deleteQueue(lease: number): Promise<void> {
    const { names, log } = this.#options;
    let connection: BrokerConnection | null = null;
    try {
      connection = await this.#connect("repairs");
      const channel = await connection.openChannel();
      await withDeadline(channel.deleteQueue(names.lease(lease)), DELETED_MS);
    } catch (error) {
      // The queue may be deleted nevertheless; if not, the deletion is retried.
      const why = errorMessage(error);
      log.warn({ lease: names.lease(lease), why }, "Deleting the queue of a lease failed");
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
      this.#options.onJoined(membership.members);
      onJoined();
    }
    const why = await membership.ended;
    this.#membership = null;
    if (!this.#leaving.signal.aborted) this.#state = "joining";
    return why;
  }
}
