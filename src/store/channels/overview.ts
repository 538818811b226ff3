import type { PoolUse } from "../database/database.ts";
import { Rows } from "../database/rows.ts";
import type { ChannelAddress, Seq, TurnId } from "../../core/ids.ts";
import { findDaemons } from "../database/open.ts";
import {
  ADDRESS_OF_C,
  type ChannelRow,
  COLUMNS_OF_C,
  OLDEST_DUE,
  OWN_IDS,
  type RawChannel,
  toChannel,
} from "./channels.ts";

export interface ChannelOverview {
  readonly channel: ChannelRow;
  /** Time of the last message of a person; null: there is no message. */
  readonly heardAt: Date | null;
  /** Messages that wait for a turn, and since when the oldest does; null: none does. */
  readonly due: number;
  readonly dueSince: Date | null;
  /** The last request of its own agent that was answered; null: there was none. */
  readonly lastRequest: { readonly model: string; readonly tokens: number; readonly at: Date } | null;
}

export interface MessageSpan {
  readonly count: number;
  readonly since: Date;
  readonly last: Seq;
}

/** The channels of a platform in which messages wait for a turn. */
export interface DueChannels {
  readonly platform: string;
  readonly channels: number;
  /** Age of the oldest of these messages, ms. */
  readonly longestMs: number;
}

/** Finished answers that a platform lacks. */
export interface UndeliveredParts {
  readonly platform: string;
  readonly parts: number;
  /** Age of the oldest of them, ms. */
  readonly longestMs: number;
}

/** Work of one channel that waits: messages for a turn, or parts of answers on their way. */
export interface ChannelWork {
  readonly address: ChannelAddress;
  readonly count: number;
  /** Since when the oldest waits. */
  readonly since: Date;
}

export interface RefusedPart {
  readonly address: ChannelAddress;
  readonly turn: TurnId;
  /** From 0. */
  readonly part: number;
  readonly at: Date;
}

/** Compactions of one channel within a day. */
export interface CompactedChannel {
  readonly address: ChannelAddress;
  /** Summaries that came into the view. */
  readonly landings: number;
  /** Compactions, however they ended, that the emergency mark began. */
  readonly emergencies: number;
}

/** The open work in a database, of all daemons. */
export interface Waiting {
  /** Answers, or parts of them, on their way to their platforms. */
  readonly deliveries: number;
  /** Parts of answers that their platforms have refused in a day. */
  readonly refused: number;
  readonly compactions: {
    readonly running: number;
    /** Their summaries are written, and wait. */
    readonly ahead: number;
    /** Summaries that a model is to write again. */
    readonly redo: number;
  };
}

type RawOverview = RawChannel &
  Pick<ChannelOverview, "heardAt" | "due" | "dueSince"> & {
    readonly model: string | null;
    readonly tokens: number | null;
    readonly askedAt: Date | null;
  };

/** Compactions of all channels that are looked at, the newest. */
const MOST_COMPACTIONS = 10_000;

/** Of `deliveries d`: its platform has refused it in a day. */
const REFUSED = `d.state = 'failed' and d.reason in ('refused', 'unreachable') and d.ended_at > clock_timestamp() - interval '1 day'`;

/** All channels at a glance, for an operator. It writes nothing. */
export class OverviewStore extends Rows {
  /** @returns words for the daemons that are connected; null: there are none */
  async daemons(): Promise<string | null> {
    return findDaemons(this.db);
  }

  /** The one that was made last first; default: all. @param page.before only those that were made before this one */
  async channels(
    page: { readonly limit?: number; readonly before?: number | undefined } = {},
  ): Promise<ChannelOverview[]> {
    const { limit = null, before = Number.MAX_SAFE_INTEGER } = page;
    const rows = await this.db.query<RawOverview>(
      // One look into an index a channel and column: a long log costs no more than a short one.
      "channels_overview",
      `select ${COLUMNS_OF_C}, heard.appended_at as heard_at, due.count as due, due.since as due_since,
              last.model, last.tokens, last.at as asked_at
         from (select * from channels where id < $2 order by id desc limit $3) c
         left join lateral (
           select e.appended_at from entries e
            where e.channel_id = c.id and e.kind = 'user' and not (e.message_id like any ($1))
            order by e.seq desc limit 1) heard on true
         left join lateral (
           select count(*) as count, min(e.appended_at) as since from entries e
            where e.channel_id = c.id and e.addressed and e.seq > c.settled_to) due on true
         left join lateral (
           select m.model, coalesce(m.prompt_tokens, m.estimated_tokens) as tokens, m.at
             from (select * from model_calls where channel_id = c.id order by id desc limit 100) m
            where m.purpose = 'turn' and m.outcome = 'answered'
              and not exists (select from turns t where t.id = m.turn_id and t.agent is not null)
            order by m.id desc limit 1) last on true
        order by c.id desc`,
      [OWN_IDS, before, limit],
    );
    return rows.map(({ heardAt, due, dueSince, model, tokens, askedAt: at, ...row }) => ({
      channel: toChannel(row),
      heardAt,
      due,
      dueSince,
      lastRequest: model === null || tokens === null || at === null ? null : { model, tokens, at },
    }));
  }

  /** How many messages of people the log has of each of these channels, deleted ones included. */
  async messages(channels: readonly ChannelRow[]): Promise<ReadonlyMap<ChannelRow["id"], number>> {
    const rows = await this.db.query<{ channel: ChannelRow["id"]; count: number }>(
      "channels_messages",
      `select channel_id as channel, count(*) as count from entries
        where channel_id = any ($1) and kind = 'user' and not (message_id like any ($2)) group by channel_id`,
      [channels.map(({ id }) => id), OWN_IDS],
    );
    return new Map(rows.map(({ channel, count }) => [channel, count]));
  }

  /** How much was said in a channel, by people and agents, that nobody took back; null: nothing was. */
  async said(channel: ChannelRow["id"]): Promise<MessageSpan | null> {
    const [row] = await this.db.lookUps().query<MessageSpan>(
      "channel_said",
      `select count(*) as count, min(at) as since, max(seq) as last from entries
        where channel_id = $1 and deleted_at is null
          and (kind = 'assistant' or (kind = 'user' and not (message_id like any ($2)))) having count(*) > 0`,
      [channel, OWN_IDS],
    );
    return row ?? null;
  }

  /** By platform, in how many channels messages wait, and for how long the oldest has: what is asked every few seconds. */
  async due(): Promise<DueChannels[]> {
    return this.db.lookUps().query<DueChannels>(
      "channels_due",
      `select c.platform, count(*) as channels,
              (extract(epoch from clock_timestamp() - min(e.appended_at)) * 1000)::float8 as longest_ms
         from channels c cross join lateral (${OLDEST_DUE}) e
        where c.settled_to < c.last_seq group by c.platform`,
    );
  }

  /** Lists the channels whose messages wait for a turn. The channel that has waited longest comes first. */
  async dueChannels(limit: number): Promise<ChannelWork[]> {
    return this.db.lookUps().query<ChannelWork>(
      "channels_due_longest",
      `select ${ADDRESS_OF_C} as address, w.count, w.since from channels c cross join lateral (
         select count(*) as count, min(e.appended_at) as since from entries e
          where e.channel_id = c.id and e.addressed and e.seq > c.settled_to) w
        where c.settled_to < c.last_seq and w.count > 0 order by w.since, c.id limit $1`,
      [limit],
    );
  }

  /** The channels with parts of finished answers on their way, the one that waits longest first. */
  async undeliveredChannels(limit: number): Promise<ChannelWork[]> {
    return this.db.lookUps().query<ChannelWork>(
      "parts_undelivered_channels",
      `select ${ADDRESS_OF_C} as address, count(*) as count, min(e.appended_at) as since
         from deliveries d join channels c on c.id = d.channel_id
              join entries e on e.channel_id = d.channel_id and e.seq = d.entry_seq
        where d.state = 'pending' group by c.id order by since, c.id limit $1`,
      [limit],
    );
  }

  /** Parts that their platforms have refused in a day, the newest first. */
  async refusedParts(limit: number): Promise<RefusedPart[]> {
    return this.db.lookUps().query<RefusedPart>(
      "parts_refused",
      `select ${ADDRESS_OF_C} as address, d.turn_id as turn, d.part, d.ended_at as at
         from deliveries d join channels c on c.id = d.channel_id
        where ${REFUSED} order by d.ended_at desc, d.id desc limit $1`,
      [limit],
    );
  }

  /** The channels that were compacted within a day, the one with the most emergencies and landings first. */
  async compactedChannels(limit: number): Promise<CompactedChannel[]> {
    return this.db.lookUps().query<CompactedChannel>(
      "channels_compacted",
      // By the newest jobs: no index has their ends, and one more would cost every compaction.
      `select ${ADDRESS_OF_C} as address, w.landings, w.emergencies
         from (select channel_id, count(*) filter (where state = 'committed' and ended_at > since) as landings,
                      count(*) filter (where tier = 'emergency' and created_at > since) as emergencies
                 from (select j.*, clock_timestamp() - interval '1 day' as since from jobs j order by j.id desc limit $2) day
                group by channel_id) w
         join channels c on c.id = w.channel_id
        where w.landings + w.emergencies > 0 order by w.emergencies desc, w.landings desc, c.id limit $1`,
      [limit, MOST_COMPACTIONS],
    );
  }

  /** By platform, the parts of finished answers on their way, and since when the oldest is finished; drafts are none. */
  async undelivered(): Promise<UndeliveredParts[]> {
    return this.db.lookUps().query<UndeliveredParts>(
      "parts_undelivered",
      `select c.platform, count(*) as parts,
              (extract(epoch from clock_timestamp() - min(e.appended_at)) * 1000)::float8 as longest_ms
         from deliveries d join channels c on c.id = d.channel_id
              join entries e on e.channel_id = d.channel_id and e.seq = d.entry_seq
        where d.state = 'pending' group by c.platform`,
    );
  }

  connections(): PoolUse {
    return this.db.use;
  }

  async waiting(): Promise<Waiting> {
    const [row] = await this.db.query<Waiting>(
      "overview_waiting",
      `select
  (select count(*) from deliveries where state = 'pending') as deliveries,
  (select count(*) from deliveries d where ${REFUSED}) as refused,
  json_build_object(
    'running', (select count(*) from jobs where state in ('running', 'staged')),
    'ahead', (select count(*) from jobs where state = 'ahead'),
    'redo', (select count(*) from summaries where live and needs_redo)) as compactions`,
    );
    if (row === undefined) throw new Error("overview_waiting returned no row");
    return row;
  }
}
