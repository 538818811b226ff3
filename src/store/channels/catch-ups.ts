import { randomUUID } from "node:crypto";
import type { ChannelAddress } from "../../core/ids.ts";
import type { Database } from "../database/database.ts";

/** A reader is taken for gone when it has told nothing for so long: of a channel's newest messages, and of a long gap that it reads by pages. */
const HELD = "interval '1 minute'";
const HELD_LONG = "interval '5 minutes'";
/** Rows are of use for as long as connections that began before them are new. */
const KEPT = "interval '2 days'";

/** `ours`: it is to be read here, now; `done`: another has read it since; `others`: another reads it. */
export type Claim = "ours" | "done" | "others";

/** Rows of `catch_ups`: which daemon reads what was missed in a channel. For one daemon, as one reader. */
export class CatchUpStore {
  readonly #db: Database;
  /** Of this run. */
  readonly #reader = randomUUID();

  constructor(db: Database) {
    this.#db = db;
  }

  /** The time of the database, exactly, as text; it also drops rows that are of no use any more. */
  async clock(): Promise<string> {
    const [row] = await this.#db.query<{ now: string }>({
      name: "catch_up_clock",
      text: `with aged as (delete from catch_ups where greatest(begun_at, held_to) < clock_timestamp() - ${KEPT})
             select clock_timestamp()::text as now`,
    });
    if (row === undefined) throw new Error("the clock returned no row");
    return row.now;
  }

  /**
   * Takes a channel to read what was missed there, unless that is done, or another is at it.
   * @param since by {@link clock}: whatever was read from then on is enough
   */
  async claim({ platform, name }: ChannelAddress, since: string): Promise<Claim> {
    const values = [platform, name, this.#reader, since];
    const [taken] = await this.#db.query(
      {
        name: "catch_up_claim",
        text: `insert into catch_ups as c (platform, name, reader, held_to) values ($1, $2, $3, clock_timestamp() + ${HELD})
               on conflict (platform, name) do update
                 set reader = excluded.reader, begun_at = excluded.begun_at, held_to = excluded.held_to
               where c.read_to < $4::timestamptz
                 and (c.reader is null or c.reader = $3 or c.held_to < clock_timestamp())
               returning true`,
      },
      values,
    );
    if (taken !== undefined) return "ours";
    const [row] = await this.#db.query<{ is_done: boolean }>(
      {
        name: "catch_up_state",
        text: "select read_to >= $3::timestamptz as is_done from catch_ups where platform = $1 and name = $2",
      },
      [platform, name, since],
    );
    return row?.is_done === true ? "done" : "others";
  }

  /**
   * What was said in a channel before its claim is in the log, or on record as missing.
   * @param isWhole false: a rest is on record, which this daemon goes on reading
   */
  async read({ platform, name }: ChannelAddress, isWhole: boolean): Promise<void> {
    await this.#db.query(
      {
        name: "catch_up_read",
        text: `update catch_ups set read_to = greatest(read_to, begun_at), reader = case when $4 then null else reader end,
                      held_to = clock_timestamp() + ${HELD_LONG}
                where platform = $1 and name = $2 and reader = $3`,
      },
      [platform, name, this.#reader, isWhole],
    );
  }

  /** It goes on reading the rest. */
  async goOn({ platform, name }: ChannelAddress): Promise<void> {
    await this.#db.query(
      {
        name: "catch_up_go_on",
        text: `update catch_ups set held_to = clock_timestamp() + ${HELD_LONG} where platform = $1 and name = $2 and reader = $3`,
      },
      [platform, name, this.#reader],
    );
  }

  /** It reads no more there: anybody may. */
  async leave({ platform, name }: ChannelAddress): Promise<void> {
    await this.#db.query(
      {
        name: "catch_up_leave",
        text: "update catch_ups set reader = null where platform = $1 and name = $2 and reader = $3",
      },
      [platform, name, this.#reader],
    );
  }

  /** Channels of which something missed is on record, and whose reader is gone, or never came. */
  async abandoned(platform: string): Promise<ChannelAddress[]> {
    return this.#db.query<{ platform: string; name: string }>(
      {
        name: "catch_ups_abandoned",
        text: `select c.platform, c.name from channels c left join catch_ups u on u.platform = c.platform and u.name = c.name
                where c.platform = $1 and c.fetched_to is not null and c.gone_at is null
                  and (u.name is null or (u.reader <> $2 and u.held_to < clock_timestamp()))`,
      },
      [platform, this.#reader],
    );
  }
}
