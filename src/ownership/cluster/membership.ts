import type { Channel, ConsumeMessage } from "amqplib";
import { steadyNow } from "../../async/clock.ts";
import type { HomesListener } from "../homes.ts";
import { errorMessage } from "../../core/errors.ts";
import type { DatabaseView } from "./database-watch.ts";
import { type BrokerConnection, LEASE_MS } from "./broker-connection.ts";
import { declareQueue } from "./declare-queue.ts";
import { LeaseQueues, type LeaseCounts, type LeaseQueuesParts } from "./lease-queues.ts";
import { MemberCount } from "./member-count.ts";
import { PRESENCE_QUEUE } from "./names.ts";
import { parsePresence, type Presence, presenceBytes, Roster } from "./roster.ts";
import { takeSetUp } from "./set-up.ts";
import type { Sender } from "./sender.ts";
import { parseWake, WakeReader } from "./wakes.ts";

/** Interval between requests for the member count, and between presence messages, ms. */
const TELL_MS = 1000;
const LOOK_MS = 250;
/** Deadline for joining, the wait for other joining members included, ms. */
const JOIN_MS = 30_000;
/** After a failed acquisition this member leaves all leases to the others for this time, ms. */
const OUT_MS = 5000;

export interface MembershipCounts extends LeaseCounts {
  wakesReceived: number;
  /** Messages that come from no daemon. */
  foreign: number;
}

export interface MembershipParts extends Pick<
  LeaseQueuesParts,
  "names" | "count" | "acquisitions" | "listener" | "timing" | "log"
> {
  readonly sender: Sender;
  readonly connection: BrokerConnection;
  readonly self: Pick<Presence, "id" | "name" | "since">;
  readonly counts: MembershipCounts;
  readonly database: Pick<DatabaseView, "isAway" | "isSteady">;
  /** Deletes the queue of a lease, on a connection of its own. Never rejects. */
  readonly deleteQueue: (lease: number) => Promise<void>;
  /** Called for each wake; null: no wakes are read. */
  readonly woken: HomesListener["woken"] | null;
  readonly isResting: () => boolean;
}

/**
 * The membership of one connection. A member owns its leases only while the broker answers: after a silence the broker redelivers
 * them. A member that was frozen or disconnected sees by its clock that its last answered request is too old.
 */
export class Membership {
  /** Resolves with the reason once the membership is over and its leases were reported as lost. */
  readonly ended: Promise<string>;
  readonly #parts: MembershipParts;
  readonly #count: MemberCount;
  readonly #roster: Roster;
  readonly #queues: LeaseQueues;
  readonly #end: (why: string) => void;
  #isOver = false;
  #isLeaving = false;
  /** When this member takes part again after a failed acquisition; 0: it takes part. */
  #outUntil = 0;
  /** Number of members; null: the broker refused the request; undefined: not requested yet. */
  #counted: number | null | undefined;
  /** When the last answered request was sent. */
  #provenAt = steadyNow();
  #toldAt = 0;
  #isAsking = false;
  readonly #remaking = new Set<number>();
  #looking: NodeJS.Timeout | null = null;

  private constructor(parts: MembershipParts) {
    this.#parts = parts;
    const { connection, names, count, self, woken } = parts;
    this.#count = new MemberCount(connection, names);
    this.#roster = new Roster(self, count, steadyNow());
    this.#queues = new LeaseQueues({
      ...parts,
      lease: Buffer.from(`made by ${self.name}`),
      wakes: woken && new WakeReader(connection, names, (content) => this.#readWake(content, woken)),
      openChannel: async () => this.#openChannel(),
      declare: async (queue, options) => declareQueue(connection, queue, options),
      share: () => this.#share(),
      ask: async () => this.#ask(),
      onTaken: (isTaken) => this.#sitOut(isTaken ? 0 : OUT_MS),
      fail: (why) => this.#over(why),
    });
    const { promise, resolve } = Promise.withResolvers<string>();
    this.ended = promise;
    this.#end = resolve;
  }

  /**
   * Consumes from all queues, and becomes a member.
   * @throws Error if the broker refuses, or the connection is lost meanwhile
   */
  static async join(parts: MembershipParts): Promise<Membership> {
    const membership = new Membership(parts);
    void parts.connection.closed.then((why) => membership.#over(why));
    // A live broker may never answer.
    const late = setTimeout(() => membership.#over("joining took too long"), JOIN_MS).unref();
    try {
      await membership.#join();
    } catch (error) {
      membership.#over(errorMessage(error));
      // The first cause, not an error that followed from it.
      throw new Error(await membership.ended, { cause: error });
    } finally {
      clearTimeout(late);
    }
    return membership;
  }

  owns(lease: number): boolean {
    return this.#queues.owns(lease) && this.#isProven();
  }

  get owned(): readonly number[] {
    return this.#queues.owned;
  }

  get members(): number {
    return this.#counted ?? this.#roster.size(steadyNow());
  }

  /** Hands on all leases until the deadline, and closes the connection. */
  async leave(deadline: AbortSignal): Promise<void> {
    this.#isLeaving = true;
    this.#tell();
    try {
      await this.#count.setMember(false);
      await this.#queues.leave(deadline);
    } catch (error) {
      // The connection is lost, and all leases with it.
      this.#over(errorMessage(error));
    }
    await this.#parts.connection.close();
  }

  /** `isResting` returns another value now. */
  restChanged(): void {
    this.#changeMembership();
  }

  #over(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#looking !== null) clearInterval(this.#looking);
    this.#queues.drop();
    this.#parts.connection.cut();
    this.#end(why);
  }

  async #join(): Promise<void> {
    const { names, connection, count, woken } = this.#parts;
    const control = await this.#openChannel();
    await control.assertExchange(names.presence, "fanout", { durable: true });
    const { queue } = await control.assertQueue("", PRESENCE_QUEUE);
    await control.bindQueue(queue, names.presence, "");
    await control.consume(queue, (message) => this.#hear(message), { noAck: true });
    const release = await takeSetUp(connection, names, { leases: count, hasWakes: woken !== null });
    // Consumes before it is counted: leases that others return for a newcomer must reach it.
    await this.#queues.enter();
    if (this.#parts.isResting()) await this.#count.setMember(false);
    await this.#ask();
    await release();
    if (!connection.isOpen) throw new Error("the connection was lost while joining");
    this.#tell();
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  #share(): number | null {
    if (this.#outUntil > 0 || this.#counted === undefined) return null;
    // A sole member keeps all leases.
    if (this.#parts.isResting()) return this.#counted === 0 ? this.#parts.count : 0;
    return this.#roster.share(this.#counted, steadyNow());
  }

  async #openChannel(): Promise<Channel> {
    const channel = await this.#parts.connection.model.createChannel();
    channel.on("error", (error) => this.#over(errorMessage(error)));
    channel.on("close", () => this.#over("a channel was closed"));
    return channel;
  }

  /** Whether the broker answered recently; otherwise it may have redelivered this member's leases. */
  #isProven(): boolean {
    return steadyNow() - this.#provenAt < LEASE_MS;
  }

  async #ask(): Promise<void> {
    const askedAt = steadyNow();
    this.#counted = await this.#count.count();
    this.#provenAt = askedAt;
  }

  async #askAndBalance(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    try {
      await this.#ask();
      this.#queues.balance();
    } catch (error) {
      this.#over(errorMessage(error));
    }
    this.#isAsking = false;
  }

  /** Takes no share for this time; 0: takes its share again. */
  #sitOut(ms: number): void {
    const wasOut = this.#isOut;
    this.#outUntil = ms === 0 ? 0 : steadyNow() + ms;
    if (wasOut !== this.#isOut) this.#changeMembership();
  }

  get #isOut(): boolean {
    return this.#isLeaving || this.#outUntil > 0 || this.#parts.isResting();
  }

  #changeMembership(): void {
    if (this.#isOver || this.#isLeaving) return;
    this.#tell();
    const change = this.#count.setMember(!this.#isOut).then(async () => this.#askAndBalance());
    // A failure has ended the connection already.
    void change.catch(() => undefined);
  }

  #look(): void {
    // Also covers a process that was frozen: it resumes without a recent answer.
    if (!this.#isProven()) return this.#over("RabbitMQ did not answer in time");
    const now = steadyNow();
    // If the database answers no member, homes stay: leaving would end running turns and help nothing.
    if (this.#parts.database.isAway && this.#roster.isDatabaseThere(now))
      return this.#over("Postgres does not answer this daemon, and answers others");
    if (now - this.#toldAt >= TELL_MS) {
      this.#tell();
      void this.#askAndBalance();
    }
    if (this.#outUntil > 0 && now >= this.#outUntil) this.#sitOut(0);
    this.#queues.renewOld();
    this.#queues.retryStuck();
    for (const lease of this.#queues.held) this.#roster.holds(lease, now);
    if (!this.#roster.isFirst(now) || this.#isLeaving) return;
    for (const lease of this.#roster.orphans(this.#parts.timing.orphanMs, now)) {
      this.#roster.holds(lease, now);
      this.#queues.make(lease);
    }
    for (const lease of this.#queues.stuck) void this.#remake(lease);
  }

  /** Deletes a stuck queue, which is created again later. A lease carries no data, so nothing is lost. */
  async #remake(lease: number): Promise<void> {
    if (this.#remaking.has(lease)) return;
    this.#remaking.add(lease);
    const { names, log, deleteQueue } = this.#parts;
    log.error(
      { lease: names.lease(lease) },
      "The queue of a lease is out of reach: it is deleted, and made anew",
    );
    await deleteQueue(lease);
    this.#remaking.delete(lease);
  }

  #tell(): void {
    this.#toldAt = steadyNow();
    const { held } = this.#queues;
    const { self, sender, database } = this.#parts;
    // A leaving member is no witness: others must not hand their leases on to it.
    const hasDatabase = database.isSteady && !this.#isLeaving;
    sender.announce(presenceBytes({ ...self, held, isOut: this.#isOut, hasDatabase }));
  }

  #hear(message: ConsumeMessage | null): void {
    if (message === null) return this.#over("the queue of its own was deleted");
    if (this.#isOver) return;
    const heard = parsePresence(message.content, this.#parts.count);
    if (heard === null) {
      this.#parts.counts.foreign += 1;
      return;
    }
    if (heard.id === this.#parts.self.id) return;
    const isNews = this.#roster.hear(heard, steadyNow());
    this.#queues.contest(heard.held);
    if (!isNews || this.#isLeaving) return;
    // A new member has not heard of this one.
    if (!heard.isOut) this.#tell();
    void this.#askAndBalance();
  }

  #readWake(content: Buffer, woken: HomesListener["woken"]): void {
    const wake = parseWake(content);
    if (wake === null) {
      this.#parts.counts.foreign += 1;
      return;
    }
    this.#parts.counts.wakesReceived += 1;
    woken(wake.channel, wake.seq);
  }
}
