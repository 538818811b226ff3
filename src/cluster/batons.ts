import { randomUUID } from "node:crypto";
import type { Logger } from "pino";
import { backoffMs, jittered } from "../async/backoff.ts";
import { pause, steadyNow } from "../async/clock.ts";
import { withDeadline } from "../async/deadline.ts";
import type { HomesListener } from "../channel/homes.ts";
import { errorMessage } from "../core/errors.ts";
import { type BrokerConnection, openBroker } from "./broker-connection.ts";
import { type BatonListener, Gains } from "./gains.ts";
import type { Timing } from "./line.ts";
import { Membership, type MembershipCounts, type MembershipParts } from "./membership.ts";
import type { Names } from "./names.ts";
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
  /** Told of each wake. Default: none is sent. */
  readonly woken?: HomesListener["woken"];
  /** It takes its share from now on. */
  readonly onJoined: (members: number) => void;
  /** It has nothing, and tries to join again. */
  readonly onLost: (why: string, waitMs: number) => void;
  readonly log: Logger;
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
  /** The connection of who is about to be a member. */
  #joining: BrokerConnection | null = null;
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
    await this.#membership?.leave(deadline);
    await this.#over;
    await this.sender.close();
    this.#state = "left";
  }

  /** Is a member, again and again, until it leaves. */
  async #run(onJoined: () => void): Promise<void> {
    const { listener, log, onLost } = this.#options;
    const gains = new Gains(listener, log);
    const { signal } = this.#leaving;
    for (let failures = 0; !signal.aborted;) {
      const beganAt = steadyNow();
      const why = await this.#beMember(gains, onJoined);
      if (signal.aborted) return;
      failures = steadyNow() - beganAt > LASTING_MS ? 0 : failures + 1;
      const waitMs = jittered(backoffMs(BACKOFF, failures));
      onLost(why, waitMs);
      await pause(waitMs, signal);
    }
  }

  /** @returns why it is over */
  async #beMember(gains: Gains, onJoined: () => void): Promise<string> {
    const { names, count, listener, woken = null, log } = this.#options;
    let connection: BrokerConnection | null = null;
    try {
      connection = await this.#connect(this.#options.purpose);
      this.#joining = connection;
      if (this.#leaving.signal.aborted) return "it leaves";
      // Queues that are empty are given batons by it.
      await this.sender.untilFlowing(FLOWING_MS);
      const membership = await Membership.join({
        connection,
        names,
        count,
        self: this.#self,
        sender: this.sender,
        gains,
        listener,
        woken,
        counts: this.counts,
        isResting: () => this.#isResting,
        timing: this.#timing,
        deleteQueue: async (baton) => this.#deleteQueue(baton),
        log,
      });
      return await this.#stay(membership, onJoined);
    } catch (error) {
      return errorMessage(error);
    } finally {
      this.#joining = null;
      await connection?.close();
    }
  }

  async #connect(what: string): Promise<BrokerConnection> {
    return openBroker(this.#options.url, `weir ${this.#self.name}: ${what}`);
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
