import { OperatorError } from "../../core/errors.ts";
import type { Database } from "../database/database.ts";

/** A partition with the epoch with which a daemon has taken it. */
export interface TakenPartition {
  readonly id: number;
  readonly epoch: number;
}

/** Rows of `partitions`: which daemon took each share of the channels last. */
export class PartitionStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /** Raises the epochs of partitions in one statement: whoever had one before takes no channel of it any more. */
  async take(ids: readonly number[], daemon: string): Promise<TakenPartition[]> {
    return this.#db.query<{ id: number; epoch: number }>(
      { name: "partitions_take", text: "select id, epoch from take_partitions($1, $2)" },
      [ids, daemon],
    );
  }

  /**
   * Channels keep their partitions: a daemon that knows another number of them would look for channels where they are not.
   * @throws OperatorError if the database has another number of partitions
   */
  async assertCount(count: number): Promise<void> {
    const [row] = await this.#db.query<{ count: number }>({
      name: "partitions_count",
      text: "select count(*) as count from partitions",
    });
    const found = row?.count ?? 0;
    if (found === count) return;
    throw new OperatorError(
      `The database spreads its channels over ${found} partitions, and this Weir over ${count}: it is of another version. ` +
        "Run the same version on all machines.",
    );
  }
}
