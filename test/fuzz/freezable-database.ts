import { setTimeout as delay } from "node:timers/promises";
import type { QueryResultRow } from "pg";
import { pino } from "pino";
import { translateDatabaseError } from "../../src/store/database/errors.ts";
import { Database } from "../../src/store/database/database.ts";
import type { Connection, Queryable } from "../../src/store/database/queryable.ts";
import type { ActivitySignal } from "./activity-signal.ts";

/** Name, text and values of a statement. */
type Asked = Parameters<Queryable["query"]>;

/**
 * Told of each call to the outside before it is sent and behind its effect; may freeze the incarnation.
 * @returns true: the connection is cut there
 */
export type Witness = (statement: string, when: "before" | "after") => boolean;

/** Statements of tools, and of recall. */
const LOOK_UPS: ReadonlySet<string> = new Set(["search_find", "memories_by_words"]);
/** Longer than a tool may take, and shorter than recall may. */
const LAG_MS = 120;

/** How long statements are on their way, in a run whose time is a simulation's. */
export interface Ways {
  /** Resolves when it has come. */
  pass(what: string): Promise<void>;
  chance(what: string, share: number): boolean;
}

/** Statements that change something and are committed by a choice of their own: others meet their locks. */
const HELD_SHARE = 0.08;
/** Of what is under way to Postgres when its incarnation dies, so much never comes there. */
const LOST_SHARE = 0.5;

class Frozen extends Error {}

/**
 * The database as one incarnation sees it. Frozen, it answers nothing and sends nothing any more: what was under way
 * may still be committed, as with any process that died, and a transaction that was open is rolled back. Paused, it
 * does the same until it is resumed. The connections are the run's: a new life need not open and prepare them anew.
 */
export class FreezableDatabase extends Database {
  readonly #shared: Database;
  readonly #witness: Witness;
  readonly #activity: ActivitySignal;
  readonly #ways: Ways | null;
  #isFrozen = false;
  #paused: PromiseWithResolvers<void> | null = null;
  #inFlight = 0;
  /** So many of the next look-ups are slow. */
  lag = 0;

  /** @param connection for its own pool, which is never used */
  constructor(
    connection: Connection,
    shared: Database,
    activity: ActivitySignal,
    witness: Witness,
    ways: Ways | null,
  ) {
    super(connection, pino({ level: "silent" }), { maxConnections: 1 });
    this.#shared = shared;
    this.#activity = activity;
    this.#witness = witness;
    this.#ways = ways;
  }

  /** Calls that Postgres has not answered yet. */
  get inFlight(): number {
    return this.#inFlight;
  }

  get isFrozen(): boolean {
    return this.#isFrozen;
  }

  freeze(): void {
    this.#isFrozen = true;
    this.#activity.notify();
  }

  pause(): void {
    this.#paused ??= Promise.withResolvers<void>();
  }

  resume(): void {
    this.#paused?.resolve();
    this.#paused = null;
  }

  override async query<Row extends QueryResultRow>(...asked: Asked): Promise<Row[]> {
    return this.#asked(this.#shared, asked);
  }

  override lookUps(signal?: AbortSignal): Queryable {
    return {
      query: async (...asked) => this.#asked(this.#shared.lookUps(signal), asked),
    };
  }

  async #asked<Row extends QueryResultRow>(server: Queryable, asked: Asked): Promise<Row[]> {
    return this.#watched(async () => {
      await this.#resumed();
      this.#pass(asked[0], "before");
      const rows = await this.#sent(async () => {
        if (this.#isSlow(asked[0])) await delay(LAG_MS);
        await this.#comes(asked[0]);
        const answer = await this.#answered<Row>(server, asked);
        await this.#ways?.pass(`${asked[0]} answer`);
        return answer;
      });
      this.#pass(asked[0], "after");
      await this.#resumed();
      return rows;
    });
  }

  /** It is on its way to Postgres. @throws Frozen if it is lost there */
  async #comes(statement: string): Promise<void> {
    if (this.#ways === null) return;
    await this.#ways.pass(statement);
    if (this.#isFrozen && this.#ways.chance(`${statement} lost`, LOST_SHARE)) throw new Frozen();
  }

  /** In a simulation the commit of some is a choice of its own. */
  async #answered<Row extends QueryResultRow>(server: Queryable, asked: Asked): Promise<Row[]> {
    const isHeld = server === this.#shared && this.#ways?.chance(`${asked[0]} held`, HELD_SHARE) === true;
    if (!isHeld) return server.query<Row>(...asked);
    return this.#shared.transaction(async (client) => {
      const rows = await client.query<Row>(...asked);
      await this.#comes(`${asked[0]} commit`);
      return rows;
    });
  }

  #isSlow(name: string): boolean {
    if (this.lag === 0 || !LOOK_UPS.has(name)) return false;
    this.lag--;
    return true;
  }

  override async transaction<Result>(work: (client: Queryable) => Promise<Result>): Promise<Result> {
    return this.#watched(async () => {
      await this.#resumed();
      const result = await this.#sent(async () =>
        this.#shared.transaction(async (client) => work(this.#gated(client))),
      );
      this.#pass("transaction", "after");
      return result;
    });
  }

  override async snapshot<Result>(work: (client: Queryable) => Promise<Result>): Promise<Result> {
    return this.#watched(async () => {
      await this.#resumed();
      return this.#sent(async () => this.#shared.snapshot(async (client) => work(this.#gated(client))));
    });
  }

  override async session<Result>(work: (client: Queryable) => Promise<Result>): Promise<Result> {
    return this.#watched(async () => this.#shared.session(async (client) => work(this.#gated(client))));
  }

  /** Each statement passes the gate; one that is stopped there ends the transaction without a commit. */
  #gated(client: Queryable): Queryable {
    return {
      query: async <Row extends QueryResultRow>(...asked: Asked) => {
        this.#pass(asked[0], "before");
        await this.#comes(asked[0]);
        const rows = await client.query<Row>(...asked);
        await this.#ways?.pass(`${asked[0]} answer`);
        this.#pass(asked[0], "after");
        return rows;
      },
    };
  }

  async #sent<Result>(call: () => Promise<Result>): Promise<Result> {
    this.#inFlight++;
    try {
      return await call();
    } finally {
      this.#inFlight--;
      this.#activity.notify();
    }
  }

  /** @throws Frozen, or as a connection does that was cut */
  #pass(statement: string, when: "before" | "after"): void {
    const isCut = !this.#isFrozen && this.#witness(statement, when);
    if (this.#isFrozen) throw new Frozen();
    if (isCut) throw translateDatabaseError(new Error("Connection terminated unexpectedly"));
  }

  /** Outside of transactions: one that stood still would keep its locks. @throws Frozen */
  async #resumed(): Promise<void> {
    await this.#paused?.promise;
    if (this.#isFrozen) throw new Frozen();
  }

  /** Who is frozen never hears of it. */
  async #watched<Result>(work: () => Promise<Result>): Promise<Result> {
    try {
      return await work();
    } catch (error) {
      if (!(error instanceof Frozen) && !this.#isFrozen) throw error;
      return new Promise<Result>(() => undefined);
    }
  }
}
