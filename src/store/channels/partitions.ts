import { OperatorError } from "../../core/errors.ts";
import { type ChannelAddress, type ChannelId, type Seq } from "../../core/ids.ts";
import { Rows } from "../database/rows.ts";
import {
  ADDRESS_OF_C,
  IS_WAITED_FOR,
  type ChannelRow,
  COLUMNS_OF_C,
  OLDEST_DUE,
  type RawChannel,
  toChannel,
} from "./channels.ts";

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

/** What the home of a channel knows of it. */
export interface KnownChannel {
  readonly channel: Pick<ChannelRow, "id" | "agent" | "model">;
  /** Number of edits and deletions, for a running turn; null: no turn runs. */
  readonly changes: number | null;
}

/** A daemon that waits for longer may have lost meanwhile what it takes, and would end the epoch of another, ms. */
export const TAKE_LIMIT_MS = 3000;

/** Rows of `partitions`: which daemon took each share of the channels last. */
export class PartitionStore extends Rows {
  /** Raises the epochs of partitions in one statement: earlier owners can take no channel of them. */
  async take(ids: readonly number[], daemon: string): Promise<TakenPartition[]> {
    return this.db.query<TakenPartition>(
      "partitions_take",
      "select id, epoch from take_partitions($1, $2)",
      [ids, daemon],
      TAKE_LIMIT_MS,
    );
  }

  /**
   * Channels keep their partitions: a daemon that knows another number of them would look for channels where they are not.
   * @throws OperatorError if the database has another number of partitions
   */
  async assertCount(count: number): Promise<void> {
    const [row] = await this.db.query<{ count: number }>(
      "partitions_count",
      "select count(*) as count from partitions",
    );
    const found = row?.count ?? 0;
    if (found === count) return;
    throw new OperatorError(
      `The database spreads its channels over ${found} partitions, and this Weir over ${count}: it is of another version. ` +
        "Run the same version on all machines.",
    );
  }

  async ofChannel(id: ChannelId): Promise<ChannelPlace | undefined> {
    const [row] = await this.db.query<ChannelPlace>(
      "partition_of_channel",
      "select partition, platform from channels where id = $1",
      [id],
    );
    return row;
  }

  /** What runs in a channel, and how many messages wait for an answer there, whichever daemon is its home. */
  async status(id: ChannelId): Promise<{ readonly turnRunningForMs: number | null; readonly due: number }> {
    const [row] = await this.db.query<{ turnRunningForMs: number | null; due: number }>(
      "partition_channel_status",
      `select (select extract(epoch from clock_timestamp() - t.started_at)::float8 * 1000 from turns t
                where t.channel_id = c.id and t.state = 'running') as turn_running_for_ms,
              (select count(*) from entries e where e.channel_id = c.id and e.addressed and e.seq > c.settled_to) as due
         from channels c where c.id = $1`,
      [id],
    );
    return row ?? { turnRunningForMs: null, due: 0 };
  }

  /**
   * Channels of some partitions whose oldest due message has waited for `forMs` or longer; the longest wait comes first.
   * @param forMs by the clock of the database
   */
  async due(
    partitions: readonly number[],
    platforms: readonly string[],
    forMs: number,
  ): Promise<DueChannel[]> {
    return this.db.query<DueChannel>(
      "partitions_due",
      `select c.id, ${ADDRESS_OF_C} as address, c.due_to as seq from channels c cross join lateral (${OLDEST_DUE}) d
        where c.partition = any($1) and c.platform = any($2) and c.due_to > c.settled_to
          and d.appended_at <= clock_timestamp() - $3 * interval '1 ms'
        order by d.appended_at, c.id`,
      [partitions, platforms, forMs],
    );
  }

  /** Channels with a due message, a running turn or an undelivered answer. */
  async waitedFor(): Promise<DueChannel[]> {
    return this.db.query(
      "channels_waited_for",
      `select id, ${ADDRESS_OF_C} as address, due_to as seq from channels c where ${IS_WAITED_FOR}`,
    );
  }

  /**
   * The channels among these that other processes have changed: another agent or model answers there, or a text was edited or
   * deleted without notice to the running turn.
   */
  async changed(known: readonly KnownChannel[]): Promise<ChannelRow[]> {
    const rows = await this.db.query<RawChannel>(
      "partitions_changed",
      `select ${COLUMNS_OF_C}
         from unnest($1::bigint[], $2::text[], $3::text[], $4::bigint[]) k(id, agent, model, changes)
         join channels c on c.id = k.id
        where c.agent <> k.agent or c.chosen_model is distinct from k.model
           or case when k.changes is null then false else k.changes <> notes_taken_back(c.id) end`,
      [
        known.map(({ channel: { id } }) => id),
        known.map(({ channel: { agent } }) => agent),
        known.map(({ channel: { model } }) => model?.name ?? null),
        known.map(({ changes }) => changes),
      ],
    );
    return rows.map(toChannel);
  }
}
