import type { ChannelId } from "../../src/core/ids.ts";
import type { Database } from "../../src/store/pool.ts";

/** A channel's rows as they are in one moment, seen from outside of every incarnation. */
export interface State {
  readonly channel: {
    readonly last_seq: number;
    readonly settled_to: number;
    readonly covered_to: number;
    readonly omitted_to: number;
    readonly epoch: number;
  };
  readonly running: TurnRow | null;
  /** Live ones by range, and those that are newer than `sinceSummary`. */
  readonly summaries: readonly SummaryRow[];
  /** The newest, oldest first. */
  readonly jobs: readonly JobRow[];
  /** Those behind `sinceSeq`. */
  readonly entries: readonly EntryRow[];
  readonly deleted: readonly number[];
  readonly memories: readonly MemoryRow[];
}

export interface TurnRow {
  readonly id: number;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly epoch: number;
  readonly attempts: number;
}

export interface SummaryRow {
  readonly id: number;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly level: number;
  readonly kind: "model" | "digest" | "reset";
  readonly tokens: number;
  readonly text: string;
  readonly live: boolean;
  readonly job_id: number | null;
}

export interface JobRow {
  readonly id: number;
  readonly kind: "leaf" | "merge" | "redo";
  readonly tier: string;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly level: number;
  readonly state: string;
  readonly attempt: number;
  readonly reason: string | null;
  readonly result: { readonly parts: readonly { readonly text: string }[] } | null;
}

export interface EntryRow {
  readonly seq: number;
  readonly kind: "user" | "assistant" | "tool_call" | "tool_result" | "notice";
  readonly message_id: string | null;
  readonly addressed: boolean;
  readonly turn_id: number | null;
  readonly call_ids: readonly string[] | null;
  readonly call_id: string | null;
}

export interface MemoryRow {
  readonly id: number;
  readonly statement: string;
  readonly summary_id: number | null;
  readonly sources: readonly {
    readonly seq: number;
    readonly quote: string;
    /** What the entry says, and has said. */
    readonly texts: readonly string[];
  }[];
}

const QUERY = {
  name: "fuzz_observe",
  text: `select json_build_object(
    'channel', (select json_build_object('last_seq', last_seq, 'settled_to', settled_to, 'covered_to', covered_to,
                  'omitted_to', omitted_to, 'epoch', epoch) from channels where id = $1),
    'running', (select json_build_object('id', id, 'from_seq', from_seq, 'to_seq', to_seq, 'epoch', epoch, 'attempts', attempts)
                  from turns where channel_id = $1 and state = 'running'),
    'summaries', (select coalesce(json_agg(json_build_object('id', id, 'from_seq', from_seq, 'to_seq', to_seq, 'level', level,
                    'kind', kind, 'tokens', tokens, 'text', text, 'live', live, 'job_id', job_id) order by from_seq, id), '[]')
                    from summaries where channel_id = $1 and (live or id > $3)),
    'jobs', (select coalesce(json_agg(j order by j.id), '[]') from (
               select id, kind, tier, from_seq, to_seq, level, state, attempt, reason, result
                 from jobs where channel_id = $1 order by id desc limit 8) j),
    'entries', (select coalesce(json_agg(e order by e.seq), '[]') from (
               select seq, kind, message_id, addressed, turn_id, data->>'call_id' as call_id,
                      case kind when 'tool_call' then (select json_agg(c->>'id') from jsonb_array_elements(data->'calls') c) end as call_ids
                 from entries where channel_id = $1 and seq > $2) e),
    'deleted', (select coalesce(json_agg(seq), '[]') from entries where channel_id = $1 and deleted_at is not null),
    'memories', (select coalesce(json_agg(json_build_object('id', m.id, 'statement', m.statement, 'summary_id', m.summary_id,
                   'sources', (select coalesce(json_agg(json_build_object('seq', s.seq, 'quote', s.quote,
                       'texts', (select json_agg(t.text) from (
                          select e.text from entries e where e.channel_id = s.channel_id and e.seq = s.seq
                          union all select r.text from revisions r where r.channel_id = s.channel_id and r.seq = s.seq) t))), '[]')
                     from memory_sources s where s.memory_id = m.id))), '[]')
                 from memories m where m.channel_id = $1 and m.id > $4)
  ) as state`,
};

export interface Since {
  readonly seq: number;
  readonly summary: number;
  readonly memory: number;
}

/** Reads a channel's rows in one statement, so in one snapshot. */
export async function observe(db: Database, channel: ChannelId, since: Since): Promise<State> {
  const [row] = await db.query<{ state: State }>(QUERY, [channel, since.seq, since.summary, since.memory]);
  if (row === undefined) throw new Error("fuzz_observe returned no row");
  return row.state;
}
