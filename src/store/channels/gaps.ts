import type { Absence } from "../../core/entry.ts";
import type { ChannelAddress, ChannelId, Seq } from "../../core/ids.ts";
import type { GapStep } from "../../core/message.ts";
import {
  type ChannelDescription,
  type ChannelRow,
  COLUMNS_OF_C,
  OWN_IDS,
  type RawChannel,
  toChannel,
} from "./channels.ts";
import { Rows } from "../database/rows.ts";

/** A channel whose messages after `afterId` may not all be in the log. */
export interface GapRow extends ChannelRow {
  readonly afterId: string;
  /** By a record; else it is the last message in the log. */
  readonly isOnRecord: boolean;
}

/** A long gap that is read page by page, while talk goes on. */
export interface BacklogRow {
  readonly read: number;
  /** Up to when it was read; null: nothing was yet. */
  readonly readTo: Date | null;
  /** When it ends; null: not known yet. */
  readonly until: Date | null;
}

/** Of two ids of a channel the later one; they are numbers, or have the same form and length, so the longer one came later. */
const laterId = (a: string, b: string): string =>
  `case when (length(${a}), ${a} collate "C") < (length(${b}), ${b} collate "C") then ${b} else ${a} end`;

/** Behind a backlog the last message in the log may be one of long ago: all is there up to where that ended. */
const SAID_TO = laterId("said.message_id", "c.backlog->>'untilId'");
const GAPS = `select ${COLUMNS_OF_C}, coalesce(c.fetched_to, ${SAID_TO}) as after_id, c.fetched_to is not null as is_on_record
  from channels c left join lateral (
    select e.message_id, e.at from entries e
     where e.channel_id = c.id and e.kind = 'user' and not (e.message_id like any ($2))
     order by e.seq desc limit 1) said on true
 where c.platform = $1 and c.gone_at is null and coalesce(c.fetched_to, said.message_id) is not null`;

/** What a model reads of an absence: a sentence with two times. */
const ABSENCE_TOKENS = 64;

type RawGap = RawChannel & Pick<GapRow, "afterId" | "isOnRecord">;

function toGap(row: RawGap): GapRow {
  return { ...toChannel(row), afterId: row.afterId, isOnRecord: row.isOnRecord };
}

/** From where on messages of channels may be missing. */
export class GapStore extends Rows {
  /**
   * Channels of a platform with the last message before which none is missing: all whose gap is on record, and of the others
   * at most `limit`; the newest activity first.
   */
  async all(platform: string, limit: number): Promise<GapRow[]> {
    const rows = await this.db.query<RawGap>(
      "channels_gaps",
      `${GAPS} order by c.fetched_to is null, said.at desc nulls last
        limit $3 + (select count(*) from channels where platform = $1 and fetched_to is not null)`,
      [platform, OWN_IDS, limit],
    );
    return rows.map(toGap);
  }

  /** The same of one channel; undefined: nothing of it is in the log. */
  async of({ platform, name }: ChannelAddress): Promise<GapRow | undefined> {
    const values = [platform, OWN_IDS, name];
    const [row] = await this.db.query<RawGap>("channel_gap", `${GAPS} and c.name = $3`, values);
    return row && toGap(row);
  }

  /**
   * A gap is open behind that message, or behind an earlier one where that is on record: what is missing between the two would
   * never be looked for. The channel's row is made where it is new.
   */
  async keep(channel: ChannelDescription, afterId: string): Promise<void> {
    const { address, kind, workspace, place, agent } = channel;
    await this.db.query(
      "channel_keep_gap",
      `insert into channels (platform, name, kind, workspace, place, agent, fetched_to)
       values ($1, $2, $3, $4, $5, $6, $7)
       on conflict (platform, name) do update set fetched_to = case
         when (length(channels.fetched_to), channels.fetched_to collate "C")
            < (length(excluded.fetched_to), excluded.fetched_to collate "C") then channels.fetched_to
         else excluded.fetched_to end,
         backlog = case when channels.fetched_to is null
           then jsonb_strip_nulls(jsonb_build_object('untilId', channels.backlog->'untilId'))
           else channels.backlog end`,
      [address.platform, address.name, kind, workspace, place ?? null, agent, afterId],
    );
  }

  /** A backlog was read a step further. Nothing happens where the record begins elsewhere by now: at an earlier message. */
  async advance({ platform, name }: ChannelAddress, step: GapStep): Promise<void> {
    const { fromId, toId, read, readTo, until, untilId } = step;
    await this.db.query(
      "channel_gap_advance",
      `update channels set fetched_to = $4, backlog = jsonb_build_object(
         'read', coalesce((backlog->>'read')::int, 0) + $5::int, 'readTo', coalesce(to_jsonb($6::timestamptz), backlog->'readTo'),
         'until', to_jsonb($7::timestamptz), 'untilId', $8::text)
        where platform = $1 and name = $2 and fetched_to = $3`,
      [platform, name, fromId, toId, read, readTo, until, untilId],
    );
  }

  async close(address: ChannelAddress): Promise<void> {
    await this.db.query(
      "channel_close_gap",
      `update channels set fetched_to = null,
              backlog = jsonb_strip_nulls(jsonb_build_object('untilId', backlog->'untilId'))
        where platform = $1 and name = $2 and fetched_to is not null`,
      [address.platform, address.name],
    );
  }

  /** What of a channel is still to be read; null: nothing that is on record. */
  async backlogOf(channel: ChannelId): Promise<BacklogRow | null> {
    const [row] = await this.db.query<BacklogRow>(
      "channel_backlog",
      `select coalesce((backlog->>'read')::int, 0) as read, (backlog->>'readTo')::timestamptz as read_to,
              (backlog->>'until')::timestamptz as until
         from channels where id = $1 and fetched_to is not null`,
      [channel],
    );
    return row ?? null;
  }

  /** Notes once per key that what was said in a time is not at its place. @returns the seq of the entry that says so */
  async noteAbsence(channel: ChannelId, key: string, { kind, from, to }: Absence, at: Date): Promise<Seq> {
    const absence = { kind, from: from.toISOString(), to: to.toISOString() };
    const [row] = await this.db.query<{ seq: number }>(
      "append_absence",
      "select seq from append_absence($1, $2, $3, $4, $5)",
      [channel, key, at, ABSENCE_TOKENS, JSON.stringify(absence)],
    );
    if (row === undefined) throw new Error("append_absence returned no row");
    return row.seq;
  }
}

/** Up to when everything was heard that was said to a bot. */
export class ListeningWatermarkStore extends Rows {
  /** Null: it has never listened. */
  async read(platform: string, account: string): Promise<Date | null> {
    const [row] = await this.db.query<{ heardTo: Date }>(
      "heard_mark",
      "select heard_to from heard_marks where platform = $1 and account = $2",
      [platform, account],
    );
    return row?.heardTo ?? null;
  }

  /** Moves the mark on. It never falls, but from a time to come: that was noted by a clock which was ahead. */
  async move(platform: string, account: string, at: Date): Promise<void> {
    await this.db.query(
      "heard_mark_move",
      `insert into heard_marks (platform, account, heard_to) values ($1, $2, $3)
       on conflict (platform, account)
       do update set heard_to = case when heard_marks.heard_to > clock_timestamp() then excluded.heard_to
                                     else greatest(heard_marks.heard_to, excluded.heard_to) end`,
      [platform, account, at],
    );
  }
}
