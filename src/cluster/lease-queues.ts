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
 * Each partition, and each shard of a platform, has a queue of which the broker serves one consumer at a time, and in it a baton that is
 * never acknowledged: whoever is sent it has what it is of. All members stand in line at all queues, so a baton whose holder is gone comes
 * to the next within milliseconds. A member that has its share passes a baton on; one that has more gives back, a few at a time.
 *
 * A baton is made for a queue that has neither a message nor a consumer, and where none of the members has had one for a while. Two who
 * do that at once leave two batons, which is no harm: a queue serves one consumer, so whoever holds one is sent the other as well, and
 * gives up the older. Renewing is the same on purpose: a second baton that comes back shows that this is still the consumer that
 * the broker serves, and it keeps every message younger than the broker's patience.
 */

/** Times in ms. */
export interface Timing {
  /** A baton is renewed when it is about so old: well below the 30 minutes after which the broker gives up a consumer. */
  readonly renewMs: number;
  /** A renewal that the broker has taken comes back within this, or the baton is another's. */
  readonly proofMs: number;
  /** A baton that no member has had for so long is made anew. */
  readonly orphanMs: number;
  /** Turns that run may go on for so long where one is handed on for balance. */
  readonly handOnMs: number;
}

/** A baton that comes back to who has just passed it on is taken, whatever the share: all others have passed it on too, ms. */
const ROUND_MS = 1000;
/** What could not be taken up goes to the next after this, ms. */
const REFUSED_MS = 1000;
/** A queue takes a baton within this, or nobody can reach it, ms. */
const MADE_MS = 5000;
/** One that nobody can reach is tried again after this, ms. */
const STUCK_MS = 3000;
/** So many are handed on at the same time. */
const STEP = 8;
/** Calls on one channel wait for one another. */
const CHANNELS = 8;
/** One to hold, and one that takes its place. */
const PREFETCH = 2;

export interface LeaseCounts {
  gained: number;
  passedOn: number;
  handedOn: number;
  lost: number;
  renewed: number;
  /** Batons that were made for queues that had none. */
  made: number;
}

export interface LeaseQueuesParts {
  readonly names: Names;
  /** How many batons there are; they are numbered from 0. */
  readonly count: number;
  /** What is put into a queue as a baton: nobody reads it but people who look there. */
  readonly baton: Buffer;
  readonly sender: Pick<Sender, "baton">;
  readonly gains: AcquisitionBatcher;
  readonly listener: BatonListener;
  /** Reads what is sent to whoever has a baton; null: nothing is. */
  readonly wakes: Pick<WakeReader, "add" | "remove"> | null;
  readonly counts: LeaseCounts;
  readonly timing: Timing;
  readonly log: Logger;
  /** Opens a channel whose end is the end of all. */
  readonly openChannel: () => Promise<Channel>;
  /** How many batons are this member's; null: it has not asked yet. */
  readonly share: () => number | null;
  /** Asks the broker who is here. @throws Error if the connection is over */
  readonly ask: () => Promise<void>;
  /** Something was taken up, or could not be. */
  readonly onTaken: (isTaken: boolean) => void;
  /** The broker has refused something, and nothing here can be relied on. */
  readonly fail: (why: string) => void;
}

/** One member's places in all lines, for as long as a connection lasts. */
export class LeaseQueues {
  readonly #parts: LeaseQueuesParts;
  readonly #seats: LeaseSlot[] = [];
  #tags = 0;
  #isOver = false;
  #isLeaving = false;

  constructor(parts: LeaseQueuesParts) {
    this.#parts = parts;
  }

  /** Gets in line everywhere. @throws Error if the broker refuses */
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

  /** Those whose queues nobody can reach: a broker that was killed while it made one has it, and cannot serve it. */
  get stuck(): number[] {
    return this.#seatsIn("stuck").map(({ id }) => id);
  }

  /** Gets in line where that was not possible before. */
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

  /** Those whose batons are here. */
  get held(): number[] {
    return this.#seats.flatMap(({ state, id }) => (HAS_BATON.has(state) ? [id] : []));
  }

  /** Makes a baton for a queue that has none, as far as is known. */
  make(id: number): void {
    void this.#made(id);
  }

  /** Resolves when the broker has it, or where there is none to give it to: not at all where the queue is out of reach. */
  async #made(id: number): Promise<boolean> {
    const isThere = await this.#parts.sender.baton(id, this.#parts.baton);
    if (isThere) this.#parts.counts.made += 1;
    return isThere;
  }

  /** Renews what is old. */
  renewOld(): void {
    const now = steadyNow();
    for (const seat of this.#seatsIn("owned")) if (now >= seat.renewAt) void this.#renew(seat);
  }

  /** Another says that it has these batons: a renewal shows which of the two the broker means. */
  contest(ids: readonly number[]): void {
    // What was just handed on is told of by both for a moment.
    const settled = steadyNow() - this.#parts.timing.proofMs;
    for (const id of ids) {
      const seat = this.#seats[id];
      if (seat?.state === "owned" && seat.gainedAt < settled) void this.#renew(seat);
    }
  }

  /** Gives back what is over the share, some at a time, the last gained first. */
  balance(): void {
    const share = this.#parts.share();
    if (this.#isOver || this.#isLeaving || share === null) return;
    const step = Math.min(this.#kept - share, STEP - this.#seatsIn("handingOn").length);
    if (step <= 0) return;
    // One that nobody else has taken would come round again and again.
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

  /** Hands on all that it has, until the deadline, and leaves every line. @throws Error if the connection is lost meanwhile */
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

  /** It is all over: whatever the listener was told of is lost. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const lost = this.#seats.filter(({ state }) => IS_TOLD.has(state)).map(({ id }) => id);
    // Who is still getting in line has no seat in some.
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
   * An empty queue is given a baton before anybody gets in line: one that cannot take it would keep the line waiting, and in the end
   * close the connection.
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

  /** Not all at once. */
  #nextRenewal(): number {
    return steadyNow() + jittered(this.#parts.timing.renewMs);
  }

  async #decide(seat: LeaseSlot): Promise<void> {
    if (this.#hasRoom()) return this.#take(seat);
    // Whose baton this was may be gone, and with it the reason to pass it on.
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

  /** The database is away, from here at least: another member may do better. */
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
    // The broker shares wakes out among all who read them: the next home is to get each.
    await unlessAborted(
      Promise.all([listener.handingOn([seat.id], deadline), wakes?.remove(seat.id)]),
      deadline,
    );
    if (seat.state !== "handingOn") return;
    this.#parts.counts.handedOn += 1;
    await this.#pass(seat);
  }

  /** Leaves the line, gives back what was sent, and gets in line again behind all others. */
  async #pass(seat: LeaseSlot): Promise<void> {
    if (this.#isOver || seat.state === "passing" || seat.state === "away") return;
    seat.state = "passing";
    seat.passedAt = steadyNow();
    seat.renewal = null;
    // First out of the line: what is given back would come here again.
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
    // A broker that takes no baton now may take one later.
    seat.renewAt = steadyNow() + proofMs;
    seat.renewal = null;
  }

  /** A second baton that did not come is with another, whom the broker serves. */
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

  /** What the broker refuses ends the channel, and with it everything here. */
  async #guarded(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      this.#parts.fail(errorMessage(error));
    }
  }
}
