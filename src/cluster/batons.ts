import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { backoffMs, jittered } from "../async/backoff.ts";
import { pause, steadyNow } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
import type { HomesListener } from "../channel/homes/homes.ts";
import { errorMessage } from "../core/errors.ts";
import { type BrokerConnection, openBroker } from "./broker-connection.ts";
import { type DatabaseView, UNWATCHED } from "./database-watch.ts";
import { type BatonListener, AcquisitionBatcher } from "./acquisition-batcher.ts";
import type { Timing } from "./lease-queues.ts";
import { Membership, type MembershipCounts, type MembershipParts } from "./membership.ts";
import type { Names } from "./names.ts";
import { NameTakenError, takeName } from "./own-name.ts";
import { Sender } from "./sender.ts";

/** Waits between attempts to join, ms. Short: meanwhile nobody may have what the batons are of. */
const BACKOFF = { fromMs: 100, toMs: 2000 };
/** The connection for publishing is waited for so long, ms. */
const FLOWING_MS = 5000;
/** A broker that cannot delete a queue says so by closing the connection, ms. */
const DELETED_MS = 30_000;
const TIMING: Omit<Timing, "handOnMs"> = { renewMs: 300_000, proofMs: 10_000, orphanMs: 5000 };
/** A time in the cluster that was so long was none that failed, ms. */
const LASTING_MS = 10_000;

export interface BatonsOptions extends Partial<Timing> {
  /** The broker's. */
  readonly url: string;
  readonly names: Names;
  /** How many there are; they are numbered from 0. */
  readonly count: number;
  /** This daemon's name among those that share the batons. */
  readonly name: string;
  /** What the batons are of, for the broker's list of connections. */
  readonly purpose: string;
  /** One that is handed on for balance is waited for so long, ms. */
  readonly handOnMs: number;
  readonly listener: BatonListener;
  /** It takes its name too, as long as it is connected, and is no member where another daemon has that. Default: names are not looked at. */
  readonly holdsName?: boolean;
  /** Who has had a name for so long while it was asked for lives, ms; default: 10 s. */
  readonly livingMs?: number | undefined;
  /** Who does not reach the database leaves what it has to those that do. Default: nobody asks. */
  readonly database?: () => DatabaseView;
  /** Told of each wake. Default: none is sent. */
  readonly woken?: HomesListener["woken"];
  /** Told where another daemon has its name, and when that is its own again. Default: nobody is told. */
  readonly onName?: (isOurs: boolean) => void;
  /** It takes its share from now on. */
  readonly onJoined: (members: number) => void;
  /** It has nothing, and tries to join again. */
  readonly onLost: (why: string, waitMs: number) => void;
  readonly log: Logger;
}

/** A connection to the broker, under this daemon's name. */
interface Named {
  readonly connection: BrokerConnection;
  readonly giveBackName: () => Promise<void>;
}

/** `joining`: there is no broker, or it is being asked. */
export type BatonsState = "joining" | "member" | "leaving" | "left";

/**
 * This daemon's share of a set of batons, by RabbitMQ: {@link Membership} says how. Lives through the loss of its broker, and joins again.
 */
export class Batons {
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
  readonly #options: BatonsOptions;
  readonly #self: MembershipParts["self"];
  readonly #timing: Timing;
  readonly #leaving = new AbortController();
  #isResting = false;
  #state: BatonsState = "joining";
  #membership: Membership | null = null;
  /** What has ended the last attempt, or the last time as a member. */
  #why: string | null = null;
  /** The connection of who is about to be a member. */
  #joining: BrokerConnection | null = null;
  #named: Named | null = null;
  #over: Promise<void> | null = null;

  constructor(options: BatonsOptions) {
    const { url, names, name, purpose, log, handOnMs } = options;
    this.#options = options;
    this.#self = { id: randomUUID(), name, since: steadyNow() };
    const { renewMs = TIMING.renewMs, proofMs = TIMING.proofMs, orphanMs = TIMING.orphanMs } = options;
    this.#timing = { renewMs, proofMs, orphanMs, handOnMs };
    this.sender = new Sender(names, url, `weir ${name}: publishes for ${purpose}`, log);
  }

  get state(): BatonsState {
    return this.#state;
  }

  /** Of one that is joining: what has kept it from it last; null: nothing has. */
  get why(): string | null {
    return this.#state === "joining" ? this.#why : null;
  }

  get isResting(): boolean {
    return this.#isResting;
  }

  /** Those that it has. */
  get owned(): readonly number[] {
    return this.#membership?.owned ?? [];
  }

  /** Daemons that take their share, this one included; null: not known. */
  get members(): number | null {
    return this.#membership?.members ?? null;
  }

  owns(baton: number): boolean {
    return this.#membership?.owns(baton) === true;
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
      this.#options.log.warn({ why: errorMessage(error) }, "name_not_taken");
    }
  }

  /** Resolves when it is a member. Waits for a broker as long as there is none; {@link leave} ends that. */
  async start(): Promise<void> {
    this.sender.start();
    const joined = Promise.withResolvers<void>();
    const run = this.#run(joined.resolve);
    this.#over = run;
    await Promise.race([joined.promise, run]);
  }

  /** Hands on all and takes none while others are there to take them, or takes its share again. It stays a member that publishes. */
  rest(isResting: boolean): void {
    this.#isResting = isResting;
    this.#membership?.restChanged();
  }

  /** Hands on all that it has, until the deadline. May be called twice. */
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
    await this.sender.close();
    this.#state = "left";
  }

  /** Is a member, again and again, until it leaves. */
  async #run(onJoined: () => void): Promise<void> {
    const { onLost } = this.#options;
    const { signal } = this.#leaving;
    for (let failures = 0; !signal.aborted;) {
      // It could take up nothing.
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

  /** @returns why it is over */
  async #beMember(onJoined: () => void): Promise<string> {
    const { names, count, listener, woken = null, log } = this.#options;
    try {
      const connection = await this.#open();
      if (this.#leaving.signal.aborted) return "it leaves";
      // Queues that are empty are given batons by it.
      await this.sender.untilFlowing(FLOWING_MS, this.#leaving.signal);
      const membership = await Membership.join({
        connection,
        names,
        count,
        self: this.#self,
        sender: this.sender,
        // What hangs in an earlier one keeps nobody waiting.
        gains: new AcquisitionBatcher(listener, log),
        listener,
        woken,
        counts: this.counts,
        isResting: () => this.#isResting,
        database: this.#database,
        timing: this.#timing,
        deleteQueue: async (baton) => this.#deleteQueue(baton),
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

  /** @returns the connection that {@link claim} has opened, if it still stands @throws Error if the broker refuses */
  async #open(): Promise<BrokerConnection> {
    if (this.#named?.connection.isOpen === true) return this.#named.connection;
    const { names, name, purpose, holdsName = false, livingMs, onName, log } = this.#options;
    const { signal } = this.#leaving;
    const connection = await this.#connect(purpose);
    this.#joining = connection;
    try {
      // Whoever leaves has found no connection to cut.
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

  async #deleteQueue(baton: number): Promise<void> {
    const { names, log } = this.#options;
    let connection: BrokerConnection | null = null;
    try {
      connection = await this.#connect("repairs");
      const channel = await connection.openChannel();
      await withDeadline(channel.deleteQueue(names.baton(baton)), DELETED_MS);
    } catch (error) {
      // It may be deleted all the same; else it is tried again.
      const why = errorMessage(error);
      log.warn({ baton: names.baton(baton), why }, "Deleting the queue of a baton failed");
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
