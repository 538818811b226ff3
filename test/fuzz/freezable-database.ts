import type { QueryResultRow } from "pg";
import { pino } from "pino";
import { type Connection, Database, type Queryable, type Statement } from "../../src/store/pool.ts";

/** Told of each call to the outside before it is sent and behind its effect; may freeze the incarnation. */
export type Witness = (statement: string, when: "before" | "after") => void;

class Frozen extends Error {}

/**
 * The database as one incarnation sees it. Frozen, it answers nothing and sends nothing any more: what was under way
 * may still be committed, as with any process that died, and a transaction that was open is rolled back. Paused, it
 * does the same until it is resumed.
 */
export class FreezableDatabase extends Database {
  readonly #witness: Witness;
  #isFrozen = false;
  #paused: PromiseWithResolvers<void> | null = null;
  #inFlight = 0;

  constructor(connection: Connection, witness: Witness) {
    super(connection, pino({ level: "silent" }), { maxConnections: 4 });
    this.#witness = witness;
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
  }

  pause(): void {
    this.#paused ??= Promise.withResolvers<void>();
  }

  resume(): void {
    this.#paused?.resolve();
    this.#paused = null;
  }

  override async query<Row extends QueryResultRow>(
    statement: Statement,
    values: readonly unknown[] = [],
  ): Promise<Row[]> {
    return this.#watched(async () => {
      await this.#resumed();
      this.#pass(statement.name, "before");
      const rows = await this.#sent(async () => super.query<Row>(statement, values));
      this.#pass(statement.name, "after");
      await this.#resumed();
      return rows;
    });
  }

  override async transaction<Result>(work: (client: Queryable) => Promise<Result>): Promise<Result> {
    return this.#watched(async () => {
      await this.#resumed();
      const result = await super.transaction(async (client) => work(this.#gated(client)));
      this.#pass("transaction", "after");
      return result;
    });
  }

  override async snapshot<Result>(work: (client: Queryable) => Promise<Result>): Promise<Result> {
    return this.#watched(async () => {
      await this.#resumed();
      return super.snapshot(async (client) => work(this.#gated(client)));
    });
  }

  override async session<Result>(work: (client: Queryable) => Promise<Result>): Promise<Result> {
    return this.#watched(async () => super.session(async (client) => work(this.#gated(client))));
  }

  /** Each statement passes the gate; one that is stopped there ends the transaction without a commit. */
  #gated(client: Queryable): Queryable {
    return {
      query: async <Row extends QueryResultRow>(statement: Statement, values?: readonly unknown[]) => {
        this.#pass(statement.name, "before");
        const rows = await this.#sent(async () => client.query<Row>(statement, values));
        this.#pass(statement.name, "after");
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
    }
  }

  /** @throws Frozen */
  #pass(statement: string, when: "before" | "after"): void {
    if (!this.#isFrozen) this.#witness(statement, when);
    if (this.#isFrozen) throw new Frozen();
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
