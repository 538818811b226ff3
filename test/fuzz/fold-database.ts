import type { QueryResultRow } from "pg";
import { pino } from "pino";
import { Database } from "../../src/store/database/database.ts";
import type { Connection, Queryable } from "../../src/store/database/queryable.ts";

/** What a load asks for that is no part of the history. */
const BESIDE: ReadonlySet<string> = new Set(["job_live", "turn_running", "usage_last"]);

/**
 * The database for whoever wants a load's history alone, of a channel that is quiet: without the transaction that keeps
 * the statements of a load together, and without those that say nothing of the history. That is half of the round trips.
 * Where something is written in between after all, two statements may not fit together: a difference that is seen so has
 * to be looked at again, in a snapshot.
 */
export class FoldDatabase extends Database {
  readonly #db: Database;

  /** @param connection for a pool of its own, which is never used: it asks over `db` */
  constructor(connection: Connection, db: Database) {
    super(connection, pino({ level: "silent" }), { maxConnections: 1 });
    this.#db = db;
  }

  override async query<Row extends QueryResultRow>(...asked: Parameters<Queryable["query"]>): Promise<Row[]> {
    return BESIDE.has(asked[0]) ? [] : this.#db.query<Row>(...asked);
  }

  override async snapshot<Result>(work: (client: Queryable) => Promise<Result>): Promise<Result> {
    return work(this);
  }
}
