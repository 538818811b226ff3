import type { JobPlan, SummaryDraft, Tier } from "../../core/compaction.ts";
import type { ChannelId, JobId } from "../../core/ids.ts";
import { Rows } from "../database/rows.ts";

/** A job of a channel, as it was or is, and the summary that it made. */
export interface CompactionRecord extends Omit<JobPlan, "isAhead"> {
  readonly id: JobId;
  readonly state: "running" | "staged" | "ahead" | "committed" | "failed" | "stale" | "void";
  readonly attempt: number;
  /** Messages, calls and results in its range; notices are not counted. */
  readonly messages: number;
  /** Null: none was committed. A `digest` may also be what a deletion left of it. */
  readonly summary:
    | (Omit<SummaryDraft, "isFinal"> & {
        /** The context shows it; otherwise another summary covers its range. */
        readonly live: boolean;
        readonly needsRedo: boolean;
      })
    | null;
  /** How many statements it kept. */
  readonly memories: number;
  readonly createdAt: Date;
  /** Null: it is under way. */
  readonly endedAt: Date | null;
  /** From the beginning to the end, waits and attempts included; null: it is under way. */
  readonly ms: number | null;
  /** Why it ended without a summary, in Weir's words. */
  readonly reason: string | null;
}

export interface CompactionTotals {
  readonly committed: Readonly<Record<Tier, number>>;
  /** Estimated tokens by which those of each tier have made the view shorter. */
  readonly saved: Readonly<Record<Tier, number>>;
  /** Committed ones that were written ahead, and have landed together with others. */
  readonly landed: number;
  /** Written ahead, and waiting. */
  readonly waiting: number;
  /** Ended without a summary: failed, or voided by a deletion, an edit, a reset, another summary. */
  readonly failed: number;
  readonly stale: number;
  /** Estimated tokens of the messages that they have covered, and of the summaries that they have written of them. */
  readonly sourceTokens: number;
  readonly summaryTokens: number;
}

interface RawTotals extends Pick<CompactionTotals, "landed" | "waiting" | "failed" | "stale"> {
  tier: Tier;
  jobs: number;
  source: number;
  told: number;
  saved: number;
}

const SELECT = `select j.id, j.kind, j.tier, j.state, j.attempt, j.from_seq, j.to_seq,
  (select count(*) from entries e where e.channel_id = j.channel_id and e.kind <> 'notice'
                                    and e.seq between j.from_seq and j.to_seq) as messages,
  j.level, j.source_tokens, case when s.id is not null then json_build_object('kind', s.kind, 'model', s.model, 'tokens', s.tokens,
    'live', s.live, 'needsRedo', s.needs_redo, 'text', s.text) end as summary,
  j.memories, j.created_at, j.ended_at, j.reason
  from jobs j left join summaries s on s.job_id = j.id`;

/** What compactions did, for people. It writes nothing. */
export class CompactionStore extends Rows {
  /** The newest jobs of a channel, oldest first. */
  async list(channel: ChannelId, limit: number): Promise<CompactionRecord[]> {
    const rows = await this.db.query<JobRecord>(
      "compactions_list",
      `${SELECT} where j.channel_id = $1 order by j.id desc limit $2`,
      [channel, limit],
    );
    return rows.map(toRecord).toReversed();
  }

  async totals(channel: ChannelId): Promise<CompactionTotals> {
    const rows = await this.db.query<RawTotals>(
      "compaction_totals",
      `select j.tier, count(s.id) as jobs,
              coalesce(sum(j.source_tokens) filter (where j.kind = 'leaf' and s.id is not null), 0)::bigint as source,
              coalesce(sum(s.tokens) filter (where j.kind = 'leaf'), 0)::bigint as told,
              coalesce(sum(j.source_tokens - s.tokens), 0)::bigint as saved,
              count(s.id) filter (where j.is_ahead) as landed,
              count(*) filter (where j.state = 'ahead') as waiting,
              count(*) filter (where j.state = 'failed') as failed,
              count(*) filter (where j.state in ('stale', 'void')) as stale
         from jobs j left join summaries s on s.job_id = j.id and j.state = 'committed'
        where j.channel_id = $1 group by j.tier`,
      [channel],
    );
    const committed: Record<Tier, number> = { background: 0, aggressive: 0, emergency: 0, forced: 0 };
    const saved: Record<Tier, number> = { background: 0, aggressive: 0, emergency: 0, forced: 0 };
    for (const row of rows) {
      committed[row.tier] = row.jobs;
      saved[row.tier] = row.saved;
    }
    const sum = (of: (row: RawTotals) => number): number => rows.reduce((total, row) => total + of(row), 0);
    return {
      committed,
      saved,
      landed: sum(({ landed }) => landed),
      waiting: sum(({ waiting }) => waiting),
      failed: sum(({ failed }) => failed),
      stale: sum(({ stale }) => stale),
      sourceTokens: sum(({ source }) => source),
      summaryTokens: sum(({ told }) => told),
    };
  }

  /** @param channel undefined: of whatever channel */
  async find(job: JobId, channel?: ChannelId): Promise<CompactionRecord | undefined> {
    const [row] = await this.db.query<JobRecord>(
      "compaction_find",
      `${SELECT} where j.id = $1 and ($2::bigint is null or j.channel_id = $2)`,
      [job, channel ?? null],
    );
    return row && toRecord(row);
  }

  /** The compaction whose live summary covers these entries by now; null: a reset does, or none. */
  async covering(
    channel: ChannelId,
    { fromSeq, toSeq }: Pick<CompactionRecord, "fromSeq" | "toSeq">,
  ): Promise<JobId | null> {
    const [row] = await this.db.query<{ id: JobId | null }>(
      "compaction_covering",
      `select s.job_id as id from summaries s
        where s.channel_id = $1 and s.live and s.from_seq <= $2 and s.to_seq >= $3`,
      [channel, fromSeq, toSeq],
    );
    return row?.id ?? null;
  }

  async liveJob(channel: ChannelId): Promise<CompactionRecord | null> {
    const [row] = await this.db.query<JobRecord>(
      "compaction_live",
      `${SELECT} where j.channel_id = $1 and j.state in ('running', 'staged')`,
      [channel],
    );
    return row === undefined ? null : toRecord(row);
  }
}

type JobRecord = Omit<CompactionRecord, "ms">;

function toRecord({ reason, ...job }: JobRecord): CompactionRecord {
  const { createdAt, endedAt } = job;
  return { ...job, ms: endedAt && endedAt.getTime() - createdAt.getTime(), reason };
}
