import { OperatorError } from "../../core/errors.ts";
import { type ChannelAddress, type ChannelId, channelId, type Seq } from "../../core/ids.ts";
import type { Database } from "../database/database.ts";
import { OLDEST_DUE } from "./channels.ts";

/** A partition with the epoch with which a daemon has taken it. */
export interface TakenPartition {
  readonly id: number;
  readonly epoch: number;
}

/** By what it is known who is home of a channel. */
export interface ChannelPlace {
  readonly partition: number;
  readonly platform: string;
}

/** A channel in which a message waits for its turn. */
export interface DueChannel {
  readonly id: ChannelId;
  readonly address: ChannelAddress;
  /** The newest that asks for one. */
  readonly seq: Seq;
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

  /** Where a channel is; undefined: there is no such channel. */
  async ofChannel(id: ChannelId): Promise<ChannelPlace | undefined> {
    const [row] = await this.#db.query<ChannelPlace>(
      { name: "partition_of_channel", text: "select partition, platform from channels where id = $1" },
      [id],
    );
    return row;
  }

  /**
   * Channels of some partitions in which a message has waited for its turn for so long; first those in which somebody has waited the
   * longest.
   * @param forMs by the clock of the database
   */
  async due(
    partitions: readonly number[],
    platforms: readonly string[],
    forMs: number,
  ): Promise<DueChannel[]> {
    const rows = await this.#db.query<{ id: number; platform: string; name: string; due_to: number }>(
      {
        name: "partitions_due",
        text: `select c.id, c.platform, c.name, c.due_to from channels c cross join lateral (${OLDEST_DUE}) d
                where c.partition = any($1) and c.platform = any($2) and c.due_to > c.settled_to
                  and d.appended_at <= clock_timestamp() - $3 * interval '1 ms'
                order by d.appended_at, c.id`,
      },
      [partitions, platforms, forMs],
    );
    return rows.map(({ id, platform, name, due_to: seq }) => {
      return { id: channelId(id), address: { platform, name }, seq };
    });
  }
}
