import type { Channel, ConsumeMessage } from "amqplib";
import type { Logger } from "pino";
import { jittered } from "../async/backoff.ts";
import { steadyNow } from "../async/clock.ts";
import { abortedAfter, unlessAborted, withDeadline } from "../async/deadline.ts";
import { errorMessage } from "../core/errors.ts";
import type { BatonListener, AcquisitionBatcher } from "./acquisition-batcher.ts";
import { BATON_QUEUE, type Names } from "./names.ts";
import {
  HAS_BATON,
  IS_KEPT,
  IS_TOLD,
  newLeaseSlot,
  type LeaseSlot,
  type LeaseSlotState,
} from "./lease-slot.ts";
import type { Sender } from "./sender.ts";
import type { WakeReader } from "./wakes.ts";

/*
 * Each partition, and each shard of a platform, has a queue with a single active consumer. Its message, the baton, is not
 * acknowledged while it is held: the member that received it owns the partition or shard. All members consume from all queues, so
 * the broker redelivers the baton of a lost member within milliseconds. A member that has its share passes a new baton on; a member
 * that has more returns some, a few at a time.
 *
 * A member creates a baton for a queue without messages and consumers, or when no member has held the baton for a while. Two
 * members may create two: the queue has one active consumer, which receives both and acknowledges the older. A renewal uses this:
 * the holder publishes a second baton, and its delivery proves that the holder is still the active consumer. It also keeps every
 * message younger than the broker's delivery timeout.
 */

/** Times in ms. */
export interface Timing {
  /** Age at which a baton is renewed: well below the broker's delivery timeout of 30 minutes. */
  readonly renewMs: number;
  /** Deadline for the delivery of a renewal that the broker confirmed; after it the baton counts as another member's. */
  readonly proofMs: number;
  /** A baton that no member has held for this time is created again. */
  readonly orphanMs: number;
  /** Limit for running turns where a baton is handed on for balance. */
  readonly handOnMs: number;
}

/** A baton that returns within this after this member passed it on is taken despite the share: all others passed it on too, ms. */
const ROUND_MS = 1000;
/** Delay before a baton whose acquisition failed is passed on, ms. */
const REFUSED_MS = 1000;
/** Deadline for publishing the first baton to a queue, ms; after it the queue counts as stuck. */
const MADE_MS = 5000;
/** Delay before a stuck queue is retried, ms. */
const STUCK_MS = 3000;
/** Batons that are handed on concurrently. */
const STEP = 8;
/** AMQP channels among which the queues are divided: calls on one channel run one after another. */
const CHANNELS = 8;
/** Unacknowledged messages a consumer may have: the held baton, and its renewal. */
const PREFETCH = 2;

export interface LeaseCounts {
  gained: number;
  passedOn: number;
  handedOn: number;
  lost: number;
  renewed: number;
  /** Batons that were created for queues without one. */
  made: number;
}

export interface LeaseQueuesParts {
  readonly names: Names;
  /** How many batons there are; they are numbered from 0. */
  readonly count: number;
  /** Content of a new baton, for people who inspect the queue; Weir does not read it. */
  readonly baton: Buffer;
  readonly sender: Pick<Sender, "baton">;
  readonly gains: AcquisitionBatcher;
  readonly listener: BatonListener;
  /** Reads the wakes of owned partitions; null: none are sent. */
  readonly wakes: Pick<WakeReader, "add" | "remove"> | null;
  readonly counts: LeaseCounts;
  readonly timing: Timing;
  readonly log: Logger;
  /** Opens a channel whose end ends the membership. */
  readonly openChannel: () => Promise<Channel>;
  /** The number of batons that this member may hold; null: it takes none yet, and returns none. */
  readonly share: () => number | null;
  /** Asks the broker for the number of members. @throws Error if the connection is over */
  readonly ask: () => Promise<void>;
  /** An acquisition succeeded or failed. */
  readonly onTaken: (isTaken: boolean) => void;
  /** The broker refused a call: the membership is void. */
  readonly fail: (why: string) => void;
}

/** One member's consumers on all baton queues, for as long as a connection lasts. */
export class LeaseQueues {
  readonly #parts: LeaseQueuesParts;
  readonly #seats: LeaseSlot[] = [];
  #tags = 0;
  #isOver = false;
  #isLeaving = false;

  constructor(parts: LeaseQueuesParts) {
    this.#parts = parts;
  }

  /** Consumes from all queues. @throws Error if the broker refuses */
  async enter(): Promise<void> {
    const { names, count, openChannel } = this.#parts;
    const length = Math.min(CHANNELS, count);
    const channels = await Promise.all(Array.from({ length }, openChannel));
    const entered = channels.map(async (channel, first) => {
      const empty: boolean[] = [];
      await channel.prefetch(PREFETCH);
      for (let id = first; id < count; id += CHANNELS) {
        const queue = await channel.assertQueue(names.baton(id), BATON_QUEUE);
        this.#seats[id] = newLeaseSlot(id, channel);
        empty[id] = queue.messageCount === 0 && queue.consumerCount === 0;
      }
      const seats = this.#seats.filter((seat) => seat.channel === channel);
      await Promise.all(seats.map(async (seat) => this.#enterFirst(seat, empty[seat.id] === true)));
    });
    await Promise.all(entered);
  }

  /** Batons whose queues accept no message: a broker killed during the creation of a queue lists it, and cannot serve it. */
  get stuck(): number[] {
    return this.#seatsIn("stuck").map(({ id }) => id);
  }

  /** Tries again to consume from the stuck queues whose delay is over. */
  retryStuck(): void {
    const now = steadyNow();
    for (const seat of this.#seatsIn("stuck")) {
      if (now < seat.retryAt) continue;
      seat.retryAt = Number.POSITIVE_INFINITY;
      void this.#guarded(async () => {
        await seat.channel.assertQueue(this.#parts.names.baton(seat.id), BATON_QUEUE);
        await this.#enterFirst(seat, true);
      });
    }
  }

  owns(id: number): boolean {
    return this.#seats[id]?.state === "owned";
  }

  get owned(): readonly number[] {
    return this.#seatsIn("owned").map(({ id }) => id);
  }

  /** Ids of the batons that this member holds, in any state. */
  get held(): number[] {
    return this.#seats.flatMap(({ state, id }) => (HAS_BATON.has(state) ? [id] : []));
  }

  /** Creates a baton for a queue that seems to have none. Returns at once. */
  make(id: number): void {
    void this.#made(id);
  }

  /** Resolves with whether the broker confirmed the baton. Does not resolve while the queue is stuck. */
  async #made(id: number): Promise<boolean> {
    const isThere = await this.#parts.sender.baton(id, this.#parts.baton);
    if (isThere) this.#parts.counts.made += 1;
    return isThere;
  }

  renewOld(): void {
    const now = steadyNow();
    for (const seat of this.#seatsIn("owned")) if (now >= seat.renewAt) void this.#renew(seat);
  }

  /** Another member claims these batons: a renewal shows which of the two is the active consumer. */
  contest(ids: readonly number[]): void {
    // Both members report a baton for a moment after it was handed on.
    const settled = steadyNow() - this.#parts.timing.proofMs;
    for (const id of ids) {
      const seat = this.#seats[id];
      if (seat?.state === "owned" && seat.gainedAt < settled) void this.#renew(seat);
    }
  }

  /** Returns the batons above the share, a few at a time, the newest first. */
  balance(): void {
    const share = this.#parts.share();
    if (this.#isOver || this.#isLeaving || share === null) return;
    const step = Math.min(this.#kept - share, STEP - this.#seatsIn("handingOn").length);
    if (step <= 0) return;
    // A baton that all others just refused would return at once.
    const round = steadyNow() - ROUND_MS;
    const given = this.#seatsIn("owned")
      .filter(({ passedAt }) => passedAt < round)
      .toSorted((a, b) => b.gainedAt - a.gainedAt)
      .slice(0, step);
    for (const seat of given)
      void this.#guarded(async () => {
        await this.#handOn(seat, abortedAfter(this.#parts.timing.handOnMs));
        this.balance();
      });
  }

  /** Hands on all batons until the deadline, and stops consuming. @throws Error if the connection is lost meanwhile */
  async leave(deadline: AbortSignal): Promise<void> {
    this.#isLeaving = true;
    const idle = this.#seats.filter(({ state }) => state === "waiting" || state === "deciding");
    await Promise.all(idle.map(async (seat) => this.#pass(seat)));
    await unlessAborted(this.#parts.gains.settled(), deadline);
    const held = this.#seats.filter(({ state }) => IS_KEPT.has(state));
    const handOnInTurn = async (): Promise<void> => {
      for (let seat = held.shift(); seat !== undefined; seat = held.shift())
        await this.#handOn(seat, deadline);
    };
    await Promise.all(Array.from({ length: STEP }, handOnInTurn));
  }

  /** The connection is over: reports every baton of which the listener knows as lost. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const lost = this.#seats.filter(({ state }) => IS_TOLD.has(state)).map(({ id }) => id);
    // The array has holes while `enter` runs.
    for (const seat of Object.values(this.#seats)) seat.state = "away";
    this.#lose(lost);
  }

  #lose(ids: readonly number[]): void {
    if (ids.length === 0) return;
    this.#parts.counts.lost += ids.length;
    this.#parts.listener.lost(ids);
  }

  #seatsIn(state: LeaseSlotState): LeaseSlot[] {
    return this.#seats.filter((seat) => seat.state === state);
  }

  get #kept(): number {
    return this.#seats.filter(({ state }) => IS_KEPT.has(state)).length;
  }

  #hasRoom(): boolean {
    const share = this.#parts.share();
    return share !== null && this.#kept < share;
  }

  /**
   * Publishes a baton to an empty queue before consuming from it: a consumer on a stuck queue would get no answer, which would in
   * the end close the connection.
   */
  async #enterFirst(seat: LeaseSlot, isEmpty: boolean): Promise<void> {
    if (isEmpty && (await withDeadline(this.#made(seat.id), MADE_MS)) === null) {
      if (this.#isOver) return;
      seat.state = "stuck";
      seat.retryAt = steadyNow() + STUCK_MS;
    } else if (!this.#isOver && !this.#isLeaving) await this.#enter(seat);
  }

  async #enter(seat: LeaseSlot): Promise<void> {
    this.#tags += 1;
    seat.tag = `baton-${seat.id}-${this.#tags}`;
    seat.state = "waiting";
    const queue = this.#parts.names.baton(seat.id);
    await seat.channel.consume(queue, (message) => this.#receive(seat, message), { consumerTag: seat.tag });
  }

  #receive(seat: LeaseSlot, message: ConsumeMessage | null): void {
    if (this.#isOver) return;
    if (message === null)
      return this.#parts.fail(`the queue ${this.#parts.names.baton(seat.id)} was deleted`);
    seat.batons.push(message);
    if (seat.state === "waiting") {
      seat.state = "deciding";
      void this.#guarded(async () => this.#decide(seat));
    } else if (seat.state !== "passing") this.#keepNewest(seat);
  }

  #keepNewest(seat: LeaseSlot): void {
    for (const old of seat.batons.splice(0, seat.batons.length - 1)) seat.channel.ack(old);
    seat.renewal = null;
    seat.renewAt = this.#nextRenewal();
    this.#parts.counts.renewed += 1;
  }

  /** Jittered, so that renewals are spread over time. */
  #nextRenewal(): number {
    return steadyNow() + jittered(this.#parts.timing.renewMs);
  }

  async #decide(seat: LeaseSlot): Promise<void> {
    if (this.#hasRoom()) return this.#take(seat);
    // The former holder may have left the cluster, and the share may have grown.
    await this.#parts.ask();
    if (seat.state !== "deciding") return;
    const comesRound = steadyNow() - seat.passedAt < ROUND_MS;
    if (comesRound || this.#hasRoom()) return this.#take(seat);
    this.#parts.counts.passedOn += 1;
    await this.#pass(seat);
  }

  #take(seat: LeaseSlot): void {
    seat.state = "taking";
    this.#parts.gains.add({
      id: seat.id,
      isStale: () => seat.state !== "taking",
      done: (isTaken) => {
        this.#parts.onTaken(isTaken);
        if (isTaken) this.#own(seat);
        else this.#refuse(seat);
      },
    });
  }

  #own(seat: LeaseSlot): void {
    seat.state = "owned";
    seat.gainedAt = steadyNow();
    seat.renewAt = this.#nextRenewal();
    this.#parts.counts.gained += 1;
    this.#parts.wakes?.add(seat.id);
    this.balance();
  }

  /** The acquisition failed, probably because this daemon cannot reach the database: lets another member try. */
  #refuse(seat: LeaseSlot): void {
    const passOn = async (): Promise<void> => {
      if (seat.state === "taking") await this.#pass(seat);
    };
    setTimeout(() => void this.#guarded(passOn), REFUSED_MS).unref();
  }

  async #handOn(seat: LeaseSlot, deadline: AbortSignal): Promise<void> {
    if (seat.state !== "owned") {
      // What is still being taken up is not taken up any more.
      const isTold = IS_TOLD.has(seat.state);
      const passed = this.#pass(seat);
      if (isTold) this.#lose([seat.id]);
      return passed;
    }
    seat.state = "handingOn";
    const { wakes, listener } = this.#parts;
    // The broker divides wakes among all consumers: the next home must be the only one.
    await unlessAborted(
      Promise.all([listener.handingOn([seat.id], deadline), wakes?.remove(seat.id)]),
      deadline,
    );
    if (seat.state !== "handingOn") return;
    this.#parts.counts.handedOn += 1;
    await this.#pass(seat);
  }

  /** Stops consuming, returns the received batons, and consumes again as the last in line. */
  async #pass(seat: LeaseSlot): Promise<void> {
    if (this.#isOver || seat.state === "passing" || seat.state === "away") return;
    seat.state = "passing";
    seat.passedAt = steadyNow();
    seat.renewal = null;
    // Cancels first: the broker would redeliver a returned baton here.
    await seat.channel.cancel(seat.tag);
    if (this.#isOver) return;
    for (const baton of seat.batons.splice(0)) seat.channel.nack(baton, false, true);
    seat.state = "away";
    if (!this.#isLeaving) await this.#enter(seat);
  }

  async #renew(seat: LeaseSlot): Promise<void> {
    if (seat.renewal !== null) return;
    const renewal = {};
    seat.renewal = renewal;
    const isThere = await this.#parts.sender.baton(seat.id, this.#parts.baton);
    if (seat.renewal !== renewal) return;
    const { proofMs } = this.#parts.timing;
    if (isThere) return void setTimeout(() => this.#prove(seat, renewal), proofMs).unref();
    // The broker did not confirm: tries again later.
    seat.renewAt = steadyNow() + proofMs;
    seat.renewal = null;
  }

  /** Gives the baton up if its renewal was not delivered here: another member is the active consumer. */
  #prove(seat: LeaseSlot, renewal: object): void {
    if (this.#isOver || seat.renewal !== renewal || seat.state !== "owned") return;
    const { id } = seat;
    this.#parts.log.warn(
      { baton: this.#parts.names.baton(id) },
      "A baton was renewed and did not come: another daemon has it",
    );
    void this.#parts.wakes?.remove(id);
    void this.#guarded(async () => this.#pass(seat));
    this.#lose([id]);
  }

  /** Ends the membership when work fails: a refusal closes the channel. */
  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#parts.fail(errorMessage(error));
    }
  }
}
