import type { AgentId, ChannelId, TurnId } from "../../core/ids.ts";
import type { CompactionRecord } from "../compaction/compactions.ts";
import { Rows } from "../database/rows.ts";
import type { TurnState } from "../turns/turns.ts";

/** A turn with the times that people notice. */
export interface TimedTurn {
  readonly id: TurnId;
  readonly state: TurnState | "running";
  /** When the oldest message that asked for it became durable; null: none asked. */
  readonly heardAt: Date | null;
  /** When the platform acknowledged the first part of its answer; null: no part was sent. */
  readonly shownAt: Date | null;
  /** Null: it runs. */
  readonly settledAt: Date | null;
}

export interface TimedJob extends Pick<
  CompactionRecord,
  "id" | "kind" | "tier" | "state" | "fromSeq" | "toSeq" | "createdAt" | "endedAt" | "sourceTokens"
> {
  /** Its summary waits after it is written, until a mark is reached. */
  readonly isAhead: boolean;
  /** The end of its last model call; null: it has called no model, or long ago. */
  readonly calledAt: Date | null;
  /** Estimated tokens of its summary; null: none was committed. */
  readonly summaryTokens: number | null;
}

export interface TimedRequest {
  readonly at: Date;
  /** Null: the channel's own. */
  readonly agent: AgentId | null;
  readonly model: string;
  /** As the provider counts them, else estimated. */
  readonly tokens: number;
}

export interface ChannelTimes {
  /** Each list is ordered from the oldest on. */
  readonly turns: readonly TimedTurn[];
  readonly jobs: readonly TimedJob[];
  readonly requests: readonly TimedRequest[];
}

/** Rows that are read of a channel, the newest of each kind. */
export const MOST_TURNS = 500;
const MOST_JOBS = 200;
const MOST_CALLS = 2000;

/** When a channel was answered and compacted. Each statement reads a bounded number of rows. It writes nothing. */
export class TimelineStore extends Rows {
  async read(channel: ChannelId): Promise<ChannelTimes> {
    const [turns, jobs, requests] = await Promise.all([
      this.#turns(channel),
      this.#jobs(channel),
      this.#requests(channel),
    ]);
    return { turns: turns.toReversed(), jobs: jobs.toReversed(), requests: requests.toReversed() };
  }

  async #turns(channel: ChannelId): Promise<TimedTurn[]> {
    return this.db.query<TimedTurn>(
      "timeline_turns",
      `select t.id, t.state, t.settled_at, heard.at as heard_at, shown.at as shown_at
         from (select * from turns where channel_id = $1 order by to_seq desc limit $2) t
         left join lateral (
           select min(e.appended_at) as at from entries e
            where e.channel_id = t.channel_id and e.addressed and e.seq between t.from_seq and t.to_seq) heard on true
         left join lateral (
           select min(d.ended_at) as at from deliveries d where d.turn_id = t.id and d.state = 'sent') shown on true
        order by t.to_seq desc`,
      [channel, MOST_TURNS],
    );
  }

  async #jobs(channel: ChannelId): Promise<TimedJob[]> {
    return this.db.query<TimedJob>(
      // A job's summary begins where the job does: that finds it by an index.
      "timeline_jobs",
      `with calls as materialized (
         select m.job_id, m.at from (select * from model_calls where channel_id = $1 order by id desc limit $3) m
          where m.job_id is not null)
       select j.id, j.kind, j.tier, j.state, j.from_seq, j.to_seq, j.is_ahead, j.created_at, j.ended_at, j.source_tokens,
              s.tokens as summary_tokens, (select max(c.at) from calls c where c.job_id = j.id) as called_at
         from (select * from jobs where channel_id = $1 order by id desc limit $2) j
         left join summaries s on s.channel_id = j.channel_id and s.from_seq = j.from_seq and s.job_id = j.id
        order by j.id desc`,
      [channel, MOST_JOBS, MOST_CALLS],
    );
  }

  async #requests(channel: ChannelId): Promise<TimedRequest[]> {
    return this.db.query<TimedRequest>(
      "timeline_requests",
      `select at, agent, model, tokens from (
         select distinct on (m.turn_id) m.id, m.at, t.agent, m.model, coalesce(m.prompt_tokens, m.estimated_tokens) as tokens
           from (select * from model_calls where channel_id = $1 order by id desc limit $2) m
           join turns t on t.id = m.turn_id
          where m.purpose = 'turn' and m.outcome = 'answered' order by m.turn_id, m.id desc) last
        order by id desc`,
      [channel, MOST_CALLS],
    );
  }
}
