import type { Channel, ConsumeMessage } from "amqplib";
import type { Logger } from "pino";
import { jittered } from "../../async/backoff.ts";
import { steadyNow } from "../../async/clock.ts";
import { abortedAfter, unlessAborted, withDeadline } from "../../async/deadline.ts";
import { errorMessage } from "../../core/errors.ts";
import type { LeaseListener, AcquisitionBatcher } from "./acquisition-batcher.ts";
import type { DeclareQueue } from "./declare-queue.ts";
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
 * Each partition, and each shard of a platform, has a queue with a single active consumer. Its message, the lease, is not
 * acknowledged while it is held: the member that received it owns the partition or shard. All members consume from all queues, so
 * the broker redelivers the lease of a lost member within milliseconds. A member that has its share passes a new lease on; a member
 * that has more returns some, a few at a time.
 *
 * A member creates a lease for a queue without messages and consumers, or when no member has held the lease for a while. Two
 * members may create two: the queue has one active consumer, which receives both and acknowledges the older. A renewal uses this:
 * the holder publishes a second lease, and its delivery proves that the holder is still the active consumer. It also keeps every
 * message younger than the broker's delivery timeout.
 */

/** Times in ms. */
export interface Timing {
  /** Age at which a lease is renewed: well below the broker's delivery timeout of 30 minutes. */
  readonly renewMs: number;
  /** Deadline for the delivery of a renewal that the broker confirmed; after it the lease counts as another member's. */
  readonly proofMs: number;
  /** A lease that no member has held for this time is created again. */
  readonly orphanMs: number;
  /** Limit for running turns where a lease is handed on for balance. */
  readonly handOnMs: number;
}

/** A lease that returns within this after this member passed it on is taken despite the share: all others passed it on too, ms. */
const ROUND_MS = 1000;
/** Delay before a lease whose acquisition failed is passed on, ms. */
const REFUSED_MS = 1000;
/** Deadline for publishing the first lease to a queue, ms; after it the queue counts as stuck. */
const MADE_MS = 5000;
/** Delay before a stuck queue is retried, ms. */
const STUCK_MS = 3000;
/** Leases that are handed on concurrently. */
const STEP = 8;
/** AMQP channels among which the queues are divided: calls on one channel run one after another. */
const CHANNELS = 8;
/** Unacknowledged messages a consumer may have: the held lease, and its renewal. */
const PREFETCH = 2;

export interface LeaseCounts {
  gained: number;
  passedOn: number;
  handedOn: number;
  lost: number;
  renewed: number;
  /** Leases that were created for queues without one. */
  made: number;
}

export interface LeaseQueuesParts {
  readonly names: Names;
  /** How many leases there are; they are numbered from 0. */
  readonly count: number;
  /** Content of a new lease, for people who inspect the queue; Weir does not read it. */
  readonly lease: Buffer;
  readonly sender: Pick<Sender, "lease">;
  readonly acquisitions: AcquisitionBatcher;
  readonly listener: LeaseListener;
  /** Reads the wakes of owned partitions; null: none are sent. */
  readonly wakes: Pick<WakeReader, "add" | "remove"> | null;
  readonly counts: LeaseCounts;
  readonly timing: Timing;
  readonly log: Logger;
  /** Opens a channel whose end ends the membership. */
  readonly openChannel: () => Promise<Channel>;
  readonly declare: DeclareQueue;
  /** The number of leases that this member may hold; null: it takes none yet, and returns none. */
  readonly share: () => number | null;
  /** Asks the broker for the number of members. @throws Error if the connection is over */
  readonly ask: () => Promise<void>;
  readonly onTaken: (isTaken: boolean) => void;
  /** The broker refused a call: the membership is void. */
  readonly fail: (why: string) => void;
}

/** One member's consumers on all lease queues, for as long as a connection lasts. */
export class LeaseQueues {
  readonly #parts: LeaseQueuesParts;
  readonly #slots: LeaseSlot[] = [];
  #tags = 0;
  #isOver = false;
  #isLeaving = false;

  constructor(parts: LeaseQueuesParts) {
    this.#parts = parts;
  }

  /** Consumes from all queues. @throws Error if the broker refuses */
  async enter(): Promise<void> {
    const { names, count, openChannel, declare } = this.#parts;
    const length = Math.min(CHANNELS, count);
    const channels = await Promise.all(Array.from({ length }, openChannel));
    const entered = channels.map(async (channel, first) => {
      const empty: boolean[] = [];
      await channel.prefetch(PREFETCH);
      for (let id = first; id < count; id += CHANNELS) {
        const queue = await declare(names.lease(id), names.expiring(BATON_QUEUE));
        this.#slots[id] = newLeaseSlot(id, channel);
        empty[id] = queue.messageCount === 0 && queue.consumerCount === 0;
      }
      const slots = this.#slots.filter((slot) => slot.channel === channel);
      await Promise.all(slots.map(async (slot) => this.#enterFirst(slot, empty[slot.id] === true)));
    });
    await Promise.all(entered);
  }

  /** Leases whose queues accept no message: a broker killed during the creation of a queue lists it, and cannot serve it. */
  get stuck(): number[] {
    return this.#slotsIn("stuck").map(({ id }) => id);
  }

  /** Tries again to consume from the stuck queues whose delay is over. */
  retryStuck(): void {
    const { names, declare } = this.#parts;
    const now = steadyNow();
    for (const slot of this.#slotsIn("stuck")) {
      if (now < slot.retryAt) continue;
      slot.retryAt = Number.POSITIVE_INFINITY;
      void this.#guarded(async () => {
        await declare(names.lease(slot.id), names.expiring(BATON_QUEUE));
        await this.#enterFirst(slot, true);
      });
    }
  }

  owns(id: number): boolean {
    return this.#slots[id]?.state === "owned";
  }

  get owned(): readonly number[] {
    return this.#slotsIn("owned").map(({ id }) => id);
  }

  get held(): number[] {
    return this.#slots.flatMap(({ state, id }) => (HAS_BATON.has(state) ? [id] : []));
  }

  /** Creates a lease for a queue that seems to have none. Returns at once. */
  make(id: number): void {
    void this.#made(id);
  }

  /** Resolves with whether the broker confirmed the lease. Does not resolve while the queue is stuck. */
  async #made(id: number): Promise<boolean> {
    const isThere = await this.#parts.sender.lease(id, this.#parts.lease);
    if (isThere) this.#parts.counts.made += 1;
    return isThere;
  }

  renewOld(): void {
    const now = steadyNow();
    for (const slot of this.#slotsIn("owned")) if (now >= slot.renewAt) void this.#renew(slot);
  }

  /** Another member claims these leases: a renewal shows which of the two is the active consumer. */
  contest(ids: readonly number[]): void {
    // Both members report a lease for a moment after it was handed on.
    const settled = steadyNow() - this.#parts.timing.proofMs;
    for (const id of ids) {
      const slot = this.#slots[id];
      if (slot?.state === "owned" && slot.gainedAt < settled) void this.#renew(slot);
    }
  }

  /** Returns the leases above the share, a few at a time, the newest first. */
  balance(): void {
    const share = this.#parts.share();
    if (this.#isOver || this.#isLeaving || share === null) return;
    const step = Math.min(this.#kept - share, STEP - this.#slotsIn("handingOn").length);
    if (step <= 0) return;
    // A lease that all others just refused would return at once.
    const round = steadyNow() - ROUND_MS;
    const given = this.#slotsIn("owned")
      .filter(({ passedAt }) => passedAt < round)
      .toSorted((a, b) => b.gainedAt - a.gainedAt)
      .slice(0, step);
    for (const slot of given)
      void this.#guarded(async () => {
        await this.#handOn(slot, abortedAfter(this.#parts.timing.handOnMs));
        this.balance();
      });
  }

  /** Hands on all leases until the deadline, and stops consuming. @throws Error if the connection is lost meanwhile */
  async leave(deadline: AbortSignal): Promise<void> {
    this.#isLeaving = true;
    const idle = this.#slots.filter(({ state }) => state === "waiting" || state === "deciding");
    await Promise.all(idle.map(async (slot) => this.#pass(slot)));
    await unlessAborted(this.#parts.acquisitions.settled(), deadline);
    const held = this.#slots.filter(({ state }) => IS_KEPT.has(state));
    const handOnInTurn = async (): Promise<void> => {
      for (let slot = held.shift(); slot !== undefined; slot = held.shift())
        await this.#handOn(slot, deadline);
    };
    await Promise.all(Array.from({ length: STEP }, handOnInTurn));
  }

  /** The connection is over: reports every lease of which the listener knows as lost. */
  drop(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    const lost = this.#slots.filter(({ state }) => IS_TOLD.has(state)).map(({ id }) => id);
    // The array has holes while `enter` runs.
    for (const slot of Object.values(this.#slots)) slot.state = "away";
    this.#lose(lost);
  }

  #lose(ids: readonly number[]): void {
    if (ids.length === 0) return;
    this.#parts.counts.lost += ids.length;
    this.#parts.listener.lost(ids);
  }

  #slotsIn(state: LeaseSlotState): LeaseSlot[] {
    return this.#slots.filter((slot) => slot.state === state);
  }

  get #kept(): number {
    return this.#slots.filter(({ state }) => IS_KEPT.has(state)).length;
  }

  #hasRoom(): boolean {
    const share = this.#parts.share();
    return share !== null && this.#kept < share;
  }

  /**
   * Publishes a lease to an empty queue before consuming from it: a consumer on a stuck queue would get no answer, which would in
   * the end close the connection.
   */
  async #enterFirst(slot: LeaseSlot, isEmpty: boolean): Promise<void> {
    if (isEmpty && (await withDeadline(this.#made(slot.id), MADE_MS)) === null) {
      if (this.#isOver) return;
      slot.state = "stuck";
      slot.retryAt = steadyNow() + STUCK_MS;
    } else if (!this.#isOver && !this.#isLeaving) await this.#enter(slot);
  }

  async #enter(slot: LeaseSlot): Promise<void> {
    this.#tags += 1;
    slot.tag = `lease-${slot.id}-${this.#tags}`;
    slot.state = "waiting";
    const queue = this.#parts.names.lease(slot.id);
    await slot.channel.consume(queue, (message) => this.#receive(slot, message), { consumerTag: slot.tag });
  }

  #receive(slot: LeaseSlot, message: ConsumeMessage | null): void {
    if (this.#isOver) return;
    if (message === null)
      return this.#parts.fail(`the queue ${this.#parts.names.lease(slot.id)} was deleted`);
    slot.leases.push(message);
    if (slot.state === "waiting") {
      slot.state = "deciding";
      void this.#guarded(async () => this.#decide(slot));
    } else if (slot.state !== "passing") this.#keepNewest(slot);
  }

  #keepNewest(slot: LeaseSlot): void {
    for (const old of slot.leases.splice(0, slot.leases.length - 1)) slot.channel.ack(old);
    slot.renewal = null;
    slot.renewAt = this.#nextRenewal();
    this.#parts.counts.renewed += 1;
  }

  /** Jittered, so that renewals are spread over time. */
  #nextRenewal(): number {
    return steadyNow() + jittered(this.#parts.timing.renewMs);
  }

  async #decide(slot: LeaseSlot): Promise<void> {
    if (this.#hasRoom()) return this.#take(slot);
    // The former holder may have left the cluster, and the share may have grown.
    await this.#parts.ask();
    if (slot.state !== "deciding") return;
    const comesRound = steadyNow() - slot.passedAt < ROUND_MS;
    if (comesRound || this.#hasRoom()) return this.#take(slot);
    this.#parts.counts.passedOn += 1;
    await this.#pass(slot);
  }

  #take(slot: LeaseSlot): void {
    slot.state = "taking";
    this.#parts.acquisitions.add({
      id: slot.id,
      isStale: () => slot.state !== "taking",
      done: (isTaken) => {
        this.#parts.onTaken(isTaken);
        if (isTaken) this.#own(slot);
        else this.#refuse(slot);
      },
    });
  }

  #own(slot: LeaseSlot): void {
    slot.state = "owned";
    slot.gainedAt = steadyNow();
    slot.renewAt = this.#nextRenewal();
    this.#parts.counts.gained += 1;
    this.#parts.wakes?.add(slot.id);
    this.balance();
  }

  /** The acquisition failed, probably because this daemon cannot reach the database: lets another member try. */
  #refuse(slot: LeaseSlot): void {
    const passOn = async (): Promise<void> => {
      if (slot.state === "taking") await this.#pass(slot);
    };
    setTimeout(() => void this.#guarded(passOn), REFUSED_MS).unref();
  }

  async #handOn(slot: LeaseSlot, deadline: AbortSignal): Promise<void> {
    if (slot.state !== "owned") {
      // Acquisitions in progress are cancelled.
      const isTold = IS_TOLD.has(slot.state);
      const passed = this.#pass(slot);
      if (isTold) this.#lose([slot.id]);
      return passed;
    }
    slot.state = "handingOn";
    const { wakes, listener } = this.#parts;
    // The broker divides wakes among all consumers: the next home must be the only one.
    await unlessAborted(
      Promise.all([listener.handingOn([slot.id], deadline), wakes?.remove(slot.id)]),
      deadline,
    );
    if (slot.state !== "handingOn") return;
    this.#parts.counts.handedOn += 1;
    await this.#pass(slot);
  }

  /** Stops consuming, returns the received leases, and consumes again as the last in line. */
  async #pass(slot: LeaseSlot): Promise<void> {
    if (this.#isOver || slot.state === "passing" || slot.state === "away") return;
    slot.state = "passing";
    slot.passedAt = steadyNow();
    slot.renewal = null;
    // Cancels first: the broker would redeliver a returned lease here.
    await slot.channel.cancel(slot.tag);
    if (this.#isOver) return;
    for (const lease of slot.leases.splice(0)) slot.channel.nack(lease, false, true);
    slot.state = "away";
    if (!this.#isLeaving) await this.#enter(slot);
  }

  async #renew(slot: LeaseSlot): Promise<void> {
    if (slot.renewal !== null) return;
    const renewal = {};
    slot.renewal = renewal;
    const isThere = await this.#parts.sender.lease(slot.id, this.#parts.lease);
    if (slot.renewal !== renewal) return;
    const { proofMs } = this.#parts.timing;
    if (isThere) return void setTimeout(() => this.#prove(slot, renewal), proofMs).unref();
    // The broker did not confirm: tries again later.
    slot.renewAt = steadyNow() + proofMs;
    slot.renewal = null;
  }

  /** Gives the lease up if its renewal was not delivered here: another member is the active consumer. */
  #prove(slot: LeaseSlot, renewal: object): void {
    if (this.#isOver || slot.renewal !== renewal || slot.state !== "owned") return;
    const { id } = slot;
    this.#parts.log.warn(
      { lease: this.#parts.names.lease(id) },
      "A lease was renewed and did not come: another daemon has it",
    );
    void this.#parts.wakes?.remove(id);
    void this.#guarded(async () => this.#pass(slot));
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
