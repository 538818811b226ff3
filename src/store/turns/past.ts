import type { JobKind } from "../../core/compaction.ts";
import type { RecalledIds, RememberedStatement } from "../../core/entry.ts";
import type { TurnRange } from "../../core/history.ts";
import type { AgentId, ChannelId, MemoryId, Seq } from "../../core/ids.ts";
import { Rows } from "../database/rows.ts";
import { readStatements } from "../memory/memories.ts";
import type { TurnState } from "./turns.ts";

export interface PastTurn extends TurnRange {
  readonly state: TurnState;
  /** The last entry that it wrote; null: none. */
  readonly lastSeq: Seq | null;
  /** What was found for its answer. */
  readonly recalled: RecalledIds;
}

/** How long the committed summaries of one kind and level are, all together; estimated tokens. */
export interface SummaryLengths {
  readonly kind: JobKind;
  readonly level: number;
  /** Written by a model, or extracts without one. */
  readonly madeBy: "model" | "digest";
  readonly count: number;
  /** Of what they were written of. */
  readonly sourceTokens: number;
  readonly tokens: number;
}

export interface PastCalls {
  /** The model of the last turn; null: no turn was answered. */
  readonly model: string | null;
  /** Of the answered requests of turns that a provider has counted: what we had estimated, and what was reported. */
  readonly estimated: number;
  readonly reported: number;
  /** Median of the summariser's answered calls, ms; null: there is none. */
  readonly summariserMs: number | null;
}

type RawPastTurn = Omit<PastTurn, "agent" | "recalled"> & {
  readonly agent: AgentId | null;
  readonly recalled: Partial<RecalledIds> | null;
};

/** How a channel was answered and compacted so far, for whoever looks back. It writes nothing. */
export class PastStore extends Rows {
  /** The settled turns whose last message is among from..to, in the order in which they began. */
  async turns(channel: ChannelId, from: Seq, to: Seq): Promise<PastTurn[]> {
    const rows = await this.db.query<RawPastTurn>(
      "past_turns",
      `select t.id, t.from_seq, t.to_seq, t.agent, t.state, w.last_seq, w.recalled
         from turns t left join (
           select e.turn_id, max(e.seq) as last_seq,
                  (array_agg(e.data->'recalled') filter (where e.kind = 'assistant'))[1] as recalled
             from entries e where e.channel_id = $1 and e.turn_id is not null group by e.turn_id
         ) w on w.turn_id = t.id
        where t.channel_id = $1 and t.state <> 'running' and t.to_seq between $2 and $3 order by t.id`,
      [channel, from, to],
    );
    return rows.map(({ agent, recalled, ...turn }) => {
      const { entries = [], memories = [] } = recalled ?? {};
      return { ...turn, ...(agent !== null && { agent }), recalled: { entries, memories } };
    });
  }

  /**
   * The memories with these ids that still exist and that the channel may see: a turn had recalled them.
   * @param agent whose turn it was; default: the channel's own agent's
   */
  async statements(
    channel: ChannelId,
    ids: readonly MemoryId[],
    agent?: AgentId,
  ): Promise<ReadonlyMap<number, RememberedStatement>> {
    return readStatements(this.db, channel, ids, agent);
  }

  /** Up to where each `/reset` has covered the channel, in order. */
  async resets(channel: ChannelId): Promise<Seq[]> {
    const rows = await this.db.query<{ toSeq: number }>(
      "past_resets",
      "select to_seq from summaries where channel_id = $1 and kind = 'reset' order by to_seq",
      [channel],
    );
    return rows.map((row) => row.toSeq);
  }

  async summaryLengths(channel: ChannelId): Promise<SummaryLengths[]> {
    return this.db.query<SummaryLengths>(
      "past_summary_lengths",
      `select j.kind, j.level, s.kind as made_by, count(*) as count,
              sum(j.source_tokens)::bigint as source_tokens, sum(s.tokens)::bigint as tokens
         from jobs j join summaries s on s.job_id = j.id
        where j.channel_id = $1 and j.state = 'committed' and j.source_tokens > 0
        group by j.kind, j.level, s.kind order by j.kind, j.level, s.kind`,
      [channel],
    );
  }

  async calls(channel: ChannelId): Promise<PastCalls> {
    const [row] = await this.db.query<PastCalls>(
      "past_calls",
      `select (array_agg(m.model order by m.id desc) filter (where purpose = 'turn'))[1] as model,
              coalesce(sum(estimated_tokens) filter (where purpose = 'turn' and prompt_tokens is not null), 0)::bigint
                as estimated,
              coalesce(sum(prompt_tokens) filter (where purpose = 'turn'), 0)::bigint as reported,
              percentile_cont(0.5) within group (order by total_ms) filter (where purpose = 'compaction') as summariser_ms
         from model_calls m left join turns t on t.id = m.turn_id
        where m.channel_id = $1 and m.outcome = 'answered' and t.agent is null`,
      [channel],
    );
    return row ?? { model: null, estimated: 0, reported: 0, summariserMs: null };
  }
}
