import type { Channel, ConsumeMessage } from "amqplib";
import { steadyNow, pause } from "../async/clock.ts";
import type { HomesListener } from "../channel/homes/homes.ts";
import { errorMessage } from "../core/errors.ts";
import type { DatabaseView } from "./database-watch.ts";
import { type BrokerConnection, LEASE_MS } from "./broker-connection.ts";
import { LeaseQueues, type LeaseCounts, type LeaseQueuesParts } from "./lease-queues.ts";
import { MemberCount } from "./member-count.ts";
import { PRESENCE_QUEUE, type Names } from "./names.ts";
import { parsePresence, type Presence, presenceBytes, Roster } from "./roster.ts";
import type { Sender } from "./sender.ts";
import { parseWake, WakeReader } from "./wakes.ts";

/** How often the broker is asked for the count of members, and the others told of this one, ms. */
const TELL_MS = 1000;
const LOOK_MS = 250;
/** Joining takes so long at most, waiting for others that join included, ms. */
const JOIN_MS = 30_000;
/** Who could not take up something leaves all to the others for so long, ms. */
const OUT_MS = 5000;

export interface MembershipCounts extends LeaseCounts {
  wakesReceived: number;
  /** Messages that nobody here has sent. */
  foreign: number;
}

export interface MembershipParts extends Pick<
  LeaseQueuesParts,
  "names" | "count" | "gains" | "listener" | "timing" | "log"
> {
  readonly sender: Sender;
  readonly connection: BrokerConnection;
  readonly self: Pick<Presence, "id" | "name" | "since">;
  readonly counts: MembershipCounts;
  readonly database: Pick<DatabaseView, "isAway" | "isSteady">;
  /** Deletes the queue of a baton, on a connection of its own. Never rejects. */
  readonly deleteQueue: (baton: number) => Promise<void>;
  /** Told of each wake; null: none is sent. */
  readonly woken: HomesListener["woken"] | null;
  /** Whether all is to be handed on to the others. */
  readonly isResting: () => boolean;
}

/**
 * One connection's time in the cluster. A member counts on what it holds only as long as the broker answers: the broker gives its batons
 * to others where it hears nothing for a while, and a member that was frozen or cut off knows by its clock that it has not asked.
 */
export class Membership {
  /** Resolves with why, once this connection is of no more use. What was held is told as lost by then. */
  readonly ended: Promise<string>;
  readonly #parts: MembershipParts;
  readonly #count: MemberCount;
  readonly #roster: Roster;
  readonly #line: LeaseQueues;
  readonly #end: (why: string) => void;
  #isOver = false;
  #isLeaving = false;
  /** Until then it could not take up anything: the database is away, from here at least. */
  #outUntil = 0;
  /** Null: the broker cannot tell; undefined: it has not been asked. */
  #counted: number | null | undefined;
  /** When the last question that was answered was asked. */
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
    this.#line = new LeaseQueues({
      ...parts,
      baton: Buffer.from(`made by ${self.name}`),
      wakes: woken && new WakeReader(connection, names, (content) => this.#readWake(content, woken)),
      openChannel: async () => this.#openChannel(),
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
   * Gets in line everywhere, and becomes a member.
   * @throws Error if the broker refuses, or goes away meanwhile
   */
  static async join(parts: MembershipParts): Promise<Membership> {
    const membership = new Membership(parts);
    void parts.connection.closed.then((why) => membership.#over(why));
    // A broker may live, and never answer.
    const late = setTimeout(() => membership.#over("joining took too long"), JOIN_MS).unref();
    try {
      await membership.#join();
    } catch (error) {
      membership.#over(errorMessage(error));
      // What ended it, and not what came of that.
      throw new Error(await membership.ended, { cause: error });
    } finally {
      clearTimeout(late);
    }
    return membership;
  }

  owns(baton: number): boolean {
    return this.#line.owns(baton) && this.#isProven();
  }

  get owned(): readonly number[] {
    return this.#line.owned;
  }

  get members(): number {
    return this.#counted ?? this.#roster.size(steadyNow());
  }

  /** Hands on all that it has, until the deadline, and ends the connection. */
  async leave(deadline: AbortSignal): Promise<void> {
    this.#isLeaving = true;
    this.#tell();
    try {
      await this.#count.setMember(false);
      await this.#line.leave(deadline);
    } catch (error) {
      // The connection is gone, and all with it.
      this.#over(errorMessage(error));
    }
    await this.#parts.connection.close();
  }

  /** It is to rest, or no longer. */
  restChanged(): void {
    this.#changeMembership();
  }

  #over(why: string): void {
    if (this.#isOver) return;
    this.#isOver = true;
    if (this.#looking !== null) clearInterval(this.#looking);
    this.#line.drop();
    this.#parts.connection.cut();
    this.#end(why);
  }

  async #join(): Promise<void> {
    const { names, connection } = this.#parts;
    const control = await this.#openChannel();
    await control.assertExchange(names.presence, "fanout", { durable: true });
    const { queue } = await control.assertQueue("", PRESENCE_QUEUE);
    await control.bindQueue(queue, names.presence, "");
    await control.consume(queue, (message) => this.#hear(message), { noAck: true });
    const release = await takeSetUp(connection, names);
    // In line before it is counted: what others give back for a newcomer has to find it there.
    await this.#line.enter();
    if (this.#parts.isResting()) await this.#count.setMember(false);
    await this.#ask();
    await release();
    if (!connection.isOpen) throw new Error("the connection was lost while joining");
    this.#tell();
    this.#looking = setInterval(() => this.#look(), LOOK_MS).unref();
  }

  #share(): number | null {
    if (this.#outUntil > 0 || this.#counted === undefined) return null;
    // Who is alone goes on: nobody else would.
    if (this.#parts.isResting()) return this.#counted === 0 ? this.#parts.count : 0;
    return this.#roster.share(this.#counted, steadyNow());
  }

  /** A channel whose end is the end of all. */
  async #openChannel(): Promise<Channel> {
    const channel = await this.#parts.connection.model.createChannel();
    channel.on("error", (error) => this.#over(errorMessage(error)));
    channel.on("close", () => this.#over("a channel was closed"));
    return channel;
  }

  /** Whether the broker has heard of this member lately: else it may have given its batons to others. */
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
      this.#line.balance();
    } catch (error) {
      this.#over(errorMessage(error));
    }
    this.#isAsking = false;
  }

  /** Counts for no share for so long. */
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
    // What fails here has ended the connection.
    void change.catch(() => undefined);
  }

  #look(): void {
    // Also where the whole process stood still: it wakes without an answer.
    if (!this.#isProven()) return this.#over("RabbitMQ did not answer in time");
    const now = steadyNow();
    // Where it answers nobody, whoever is home stays so: giving up would cost what runs there, and help nobody.
    if (this.#parts.database.isAway && this.#roster.isDatabaseThere(now))
      return this.#over("Postgres does not answer this daemon, and answers others");
    if (now - this.#toldAt >= TELL_MS) {
      this.#tell();
      void this.#askAndBalance();
    }
    if (this.#outUntil > 0 && now >= this.#outUntil) this.#sitOut(0);
    this.#line.renewOld();
    this.#line.retryStuck();
    for (const baton of this.#line.held) this.#roster.holds(baton, now);
    if (!this.#roster.isFirst(now) || this.#isLeaving) return;
    for (const baton of this.#roster.orphans(this.#parts.timing.orphanMs, now)) {
      this.#roster.holds(baton, now);
      this.#line.make(baton);
    }
    for (const baton of this.#line.stuck) void this.#remake(baton);
  }

  /** A baton is nothing that could be lost with its queue. */
  async #remake(baton: number): Promise<void> {
    if (this.#remaking.has(baton)) return;
    this.#remaking.add(baton);
    const { names, log, deleteQueue } = this.#parts;
    log.error(
      { baton: names.baton(baton) },
      "The queue of a baton is out of reach: it is deleted, and made anew",
    );
    await deleteQueue(baton);
    this.#remaking.delete(baton);
  }

  #tell(): void {
    this.#toldAt = steadyNow();
    const { held } = this.#line;
    const { self, sender, database } = this.#parts;
    // What it has already begun to hand on, nobody hands on to it.
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
    this.#line.contest(heard.held);
    if (!isNews || this.#isLeaving) return;
    // Whoever is new knows nobody.
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

/** Another daemon may be at it for some seconds; how often it is looked whether it has ended, ms. */
const SET_UP_LOOK_MS = 100;

/**
 * Waits until this daemon is the only one that makes the queues of the batons, or they are all there. A broker to which two make
 * the same quorum queue at once may answer one of them before the queue can serve anybody.
 * @returns lets others make them, once the queue of the members is there, which is made behind all others
 * @throws Error if the connection is over
 */
async function takeSetUp(connection: BrokerConnection, names: Names): Promise<() => Promise<void>> {
  for (;;) {
    if (await isDone(connection, async (channel) => channel.checkQueue(names.members)))
      return async () => undefined;
    // Exclusive: it is refused to others, and gone with its connection.
    if (await isDone(connection, async (channel) => channel.assertQueue(names.setUp, { exclusive: true })))
      return async () => {
        await isDone(connection, async (channel) => channel.deleteQueue(names.setUp));
      };
    await pause(SET_UP_LOOK_MS);
  }
}

/** What is refused closes its channel, and nothing else. @throws Error if the connection is over */
async function isDone(
  connection: BrokerConnection,
  ask: (channel: Channel) => Promise<unknown>,
): Promise<boolean> {
  try {
    await connection.onChannel(ask);
    return true;
  } catch (error) {
    if (connection.isOpen) return false;
    throw error;
  }
}
