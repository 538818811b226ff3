import type { Omission, Summary } from "../../core/history.ts";
import type { ChannelId, Seq, TurnId } from "../../core/ids.ts";
import { readOmission, readSummariesAt } from "../compaction/summaries.ts";
import { Rows } from "../database/rows.ts";
import { MOST_TURNS } from "./timeline.ts";

export interface ChannelThen {
  readonly lastSeq: Seq;
  /** As far as the newest turns tell. */
  readonly settledTo: Seq;
  /** The turn that was running; null: none was. */
  readonly running: TurnId | null;
  /** Up to where the last request of a turn before left messages out for lack of room; null: that is not kept any more. */
  readonly omittedTo: Seq | null;
}

/** A channel as it was, by its rows of today. It writes nothing. */
export class ReplayStore extends Rows {
  /** Entries are appended in the order of their numbers, so a number is found by halving. */
  async at(channel: ChannelId, at: Date): Promise<ChannelThen> {
    const [row] = await this.db.query<ChannelThen>(
      "replay_at",
      `with recursive halves (low, high) as (
         select 0::bigint, last_seq from channels where id = $1
         union all
         select case when e.is_there then h.mid else h.low end, case when e.is_there then h.high else h.mid - 1 end
           from (select low, high, (low + high + 1) / 2 as mid from halves where low < high) h
          cross join lateral (select appended_at <= $2 as is_there from entries where channel_id = $1 and seq = h.mid) e
       ), newest as (
         select id, to_seq, started_at, settled_at from turns where channel_id = $1 order by to_seq desc limit $3
       )
       select (select low from halves where low = high) as last_seq,
              coalesce((select max(to_seq) from newest where settled_at <= $2), 0) as settled_to,
              (select id from newest where started_at <= $2 and (settled_at is null or settled_at > $2) order by id desc limit 1) as running,
              (select coalesce((content->'omission'->>'toSeq')::bigint, 0) from context_records
                where channel_id = $1 and at <= $2 order by turn_id desc limit 1) as omitted_to`,
      [channel, at, MOST_TURNS],
    );
    return row ?? { lastSeq: 0, settledTo: 0, running: null, omittedTo: null };
  }

  /** The summaries that were in the view, with the texts that they have now. */
  async summaries(channel: ChannelId, at: Date): Promise<readonly Summary[]> {
    return readSummariesAt(this.db, channel, at);
  }

  /** The entries that the view left out; null: none but notices. */
  async omission(channel: ChannelId, coveredTo: Seq, omittedTo: Seq): Promise<Omission | null> {
    return readOmission(this.db, channel, coveredTo, omittedTo);
  }
}
