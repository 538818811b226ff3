import type { ChannelId } from "../../src/core/ids.ts";
import type { Database } from "../../src/store/database/database.ts";
import { APPROVAL, type ApprovalRow, ASKS, CALLS } from "./approval-rows.ts";
import { REMINDER, type ReminderRow, REMINDS } from "./reminder-rows.ts";
import { SUBAGENT, type SubagentRow, TELLS } from "./subagent-rows.ts";

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
  /** Those from `sinceTurn` on. */
  readonly turns: readonly TurnRow[];
  readonly subagents: readonly SubagentRow[];
  readonly approvals: readonly ApprovalRow[];
  readonly reminders: readonly ReminderRow[];
  /** Why turns were given up that were begun too often. */
  readonly given_up: readonly string[];
  /** Live ones by range, and those that are newer than `sinceSummary`. */
  readonly summaries: readonly SummaryRow[];
  /** The live one, and those of summaries that are newer than `sinceSummary`. */
  readonly jobs: readonly JobRow[];
  /** Those behind `sinceSeq`. */
  readonly entries: readonly EntryRow[];
  readonly memories: readonly MemoryRow[];
  /** Statements and quotes of all that other channels may be shown. */
  readonly shared: readonly string[];
  /** Those that were written since `sinceSnapshot`, and some that were there before. */
  readonly proofs: readonly ProofRow[];
  /** What older transactions have written is seen. */
  readonly snapshot: number;
}

export interface TurnRow {
  readonly id: number;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly epoch: number;
  readonly attempts: number;
  readonly state: string;
  readonly reason: string | null;
  /** Null: the channel's own. */
  readonly agent: string | null;
}

export interface SummaryRow {
  readonly id: number;
  readonly from_seq: number;
  readonly to_seq: number;
  readonly kind: "model" | "digest" | "reset";
  readonly text: string;
  readonly live: boolean;
  readonly job_id: number | null;
  readonly needs_redo: boolean;
  /** What it becomes when no view shows it; null: it stays. */
  readonly substitute: string | null;
}

export interface JobRow {
  readonly id: number;
  readonly kind: "leaf" | "merge" | "redo";
  readonly from_seq: number;
  readonly to_seq: number;
  readonly state: string;
  readonly result: { readonly parts: readonly { readonly text: string }[] } | null;
}

export interface EntryRow {
  readonly seq: number;
  readonly kind: "user" | "assistant" | "tool_call" | "tool_result" | "notice";
  readonly message_id: string | null;
  readonly addressed: boolean;
  /** Whom it is meant for, or who wrote it; null: the channel's own agent. */
  readonly agent: string | null;
  /** Of what an agent has handed over. */
  readonly chain: { readonly id: number; readonly hop: number } | null;
  readonly turn_id: number | null;
  /** Numbers of the subagents of whose end it tells. */
  readonly tells: readonly number[];
  /** Ids of the calls that it makes. */
  readonly calls: readonly string[];
  /** Approvals for which it says that its call waits. */
  readonly asks: readonly number[];
  /** The reminder that it tells, and whether that was over before; null: it tells none. */
  readonly reminds: { readonly id: number; readonly is_late: boolean } | null;
  /** Minute in which it was said, UTC. */
  readonly minute: string;
  /** How one of the bot's answers begins, which no other one does; null: it is none. */
  readonly answer: string | null;
}

export interface MemoryRow {
  readonly id: number;
  readonly statement: string;
  readonly summary_id: number | null;
}

/** What a memory rests on: a later job may find more of it. */
export interface ProofRow {
  readonly memory_id: number;
  readonly seq: number;
  readonly quote: string;
  /** What the entry says, and has said; null: that is no longer kept. */
  readonly texts: readonly string[] | null;
}

const SUMMARY =
  "id, from_seq, to_seq, kind, text, live, job_id, needs_redo, substitute->>'text' as substitute";
const TURN = "id, from_seq, to_seq, epoch, attempts, state, reason, agent";

const QUERY = `select r.id, json_build_object(
    'channel', (select json_build_object('last_seq', last_seq, 'settled_to', settled_to, 'covered_to', covered_to,
                  'omitted_to', omitted_to, 'epoch', epoch) from channels where id = r.id),
    'running', (select row_to_json(t) from (select ${TURN} from turns where channel_id = r.id and state = 'running') t),
    'turns', (select coalesce(json_agg(t order by t.id), '[]') from (
                select ${TURN} from turns where channel_id = r.id and id >= r.turn) t),
    'given_up', (select coalesce(json_agg(reason order by id), '[]') from turns
                  where channel_id = r.id and state = 'failed' and reason like 'gave up%'),
    'summaries', (select coalesce(json_agg(s order by s.from_seq, s.id), '[]') from (
                    select ${SUMMARY} from summaries
                     where channel_id = r.id and live
                    union all
                    select ${SUMMARY} from summaries
                     where channel_id = r.id and not live and id > r.summary) s),
    'subagents', (select coalesce(json_agg(s order by s.id), '[]') from (
                    select ${SUBAGENT} from subagents where channel_id = r.id) s),
    'approvals', (select coalesce(json_agg(a order by a.id), '[]') from (
                    select ${APPROVAL} from approvals where channel_id = r.id) a),
    'reminders', (select coalesce(json_agg(m order by m.id), '[]') from (
                    select ${REMINDER} from reminders where channel_id = r.id) m),
    'jobs', (select coalesce(json_agg(j order by j.id), '[]') from (
               select id, kind, from_seq, to_seq, state, result from jobs
                where channel_id = r.id and state in ('running', 'staged', 'ahead')
               union all
               select id, kind, from_seq, to_seq, state, coalesce(result, nullif(to_jsonb(edited_terms), '[]')) from jobs
                where id in (select s.job_id from summaries s where s.channel_id = r.id and s.id > r.summary)
                  and state not in ('running', 'staged', 'ahead')) j),
    'entries', (select coalesce(json_agg(e order by e.seq), '[]') from (
               select seq, kind, message_id, addressed, data->>'agent' as agent, data->'chain' as chain, turn_id,
                      ${TELLS} as tells, ${CALLS} as calls, ${ASKS} as asks, ${REMINDS} as reminds,
                      to_char(at at time zone 'UTC', 'YYYY-MM-DD HH24:MI') as minute,
                      case when kind = 'assistant' then substring(text from '^answer [0-9]+:') end as answer
                 from entries where channel_id = r.id and seq > r.seq) e),
    'memories', (select coalesce(json_agg(json_build_object('id', m.id, 'statement', m.statement, 'summary_id', m.summary_id)), '[]')
                 from memories m where m.channel_id = r.id and m.id > r.memory),
    'shared', (select coalesce(json_agg(concat_ws(' ', m.statement, (
                 select string_agg(s.quote, ' ') from memory_sources s where s.memory_id = m.id))), '[]')
                 from memories m where m.channel_id = r.id and m.scope = 'workspace'),
    'proofs', (select coalesce(json_agg(json_build_object('memory_id', s.memory_id, 'seq', s.seq, 'quote', s.quote,
                   'texts', (select json_agg(t.text) from (
                      select e.text from entries e where e.channel_id = s.channel_id and e.seq = s.seq
                      union all select v.text from revisions v where v.channel_id = s.channel_id and v.seq = s.seq) t
                    where not exists (select from entries x where x.channel_id = s.channel_id and x.seq = s.seq
                                                              and x.expired_at is not null)))), '[]')
                 from memory_sources s where s.channel_id = r.id and s.xmin::text::bigint >= r.snapshot),
    'snapshot', pg_snapshot_xmin(pg_current_snapshot())::text::bigint
  ) as state
  from unnest($1::bigint[], $2::bigint[], $3::bigint[], $4::bigint[], $5::bigint[], $6::bigint[])
       as r (id, seq, summary, memory, snapshot, turn)`;

/** A channel, and up to where its rows are known. */
export interface Since {
  readonly channel: ChannelId;
  readonly seq: number;
  readonly summary: number;
  readonly memory: number;
  readonly snapshot: number;
  readonly turn: number;
}

/** Reads channels' rows in one statement, so in one snapshot. @returns one state for each */
export async function observe(db: Database, since: readonly Since[]): Promise<State[]> {
  const rows = await db.query<{ id: number; state: State }>("fuzz_observe", QUERY, [
    since.map(({ channel }) => channel),
    since.map(({ seq }) => seq),
    since.map(({ summary }) => summary),
    since.map(({ memory }) => memory),
    since.map(({ snapshot }) => snapshot),
    since.map(({ turn }) => turn),
  ]);
  const states = new Map(rows.map(({ id, state }) => [id, state]));
  return since.map(({ channel }) => {
    const state = states.get(channel);
    if (state === undefined) throw new Error(`fuzz_observe knows nothing of channel ${channel}`);
    return state;
  });
}

/** What a prompt is made of. */
export type View = Pick<State, "channel" | "running" | "summaries">;

/** Reads what a prompt is made of: live summaries alone. */
export async function observeView(db: Database, channel: ChannelId): Promise<View> {
  const rows = await db.query<View>(
    "fuzz_view",
    `select json_build_object('last_seq', c.last_seq, 'settled_to', c.settled_to, 'covered_to', c.covered_to,
              'omitted_to', c.omitted_to, 'epoch', c.epoch) as channel,
            (select row_to_json(t) from (select ${TURN} from turns
              where channel_id = c.id and state = 'running') t) as running,
            (select coalesce(json_agg(s order by s.from_seq), '[]') from (
               select ${SUMMARY} from summaries
                where channel_id = c.id and live) s) as summaries
       from channels c where c.id = $1`,
    [channel],
  );
  const [view] = rows;
  if (view === undefined) throw new Error(`there is no channel ${channel}`);
  return view;
}

export type LiveJob = JobRow & { readonly channel_id: number; readonly attempt: number };

/** Reads the live jobs of channels. */
export async function observeJobs(db: Database, channels: readonly ChannelId[]): Promise<LiveJob[]> {
  const rows = await db.query<{ job: LiveJob }>(
    "fuzz_jobs",
    `select row_to_json(j) as job from (
       select channel_id, id, kind, from_seq, to_seq, state, attempt, result
         from jobs where channel_id = any ($1) and state in ('running', 'staged')) j`,
    [channels],
  );
  return rows.map(({ job }) => job);
}

type Replaced = Pick<SummaryRow, "from_seq" | "to_seq" | "text"> & { readonly job: number };

/** Reads the summaries that lie in the ranges of jobs, and what stands in for them: what a merge or a redo replaces, and what that was made of. */
export async function observeReplaced(db: Database, jobs: readonly number[]): Promise<Replaced[]> {
  const rows = await db.query<{ replaced: Replaced }>(
    "fuzz_replaced",
    `select json_build_object('job', j.id, 'from_seq', s.from_seq, 'to_seq', s.to_seq, 'text', shown.text) as replaced
       from jobs j join summaries s on s.channel_id = j.channel_id and s.from_seq >= j.from_seq and s.to_seq <= j.to_seq
      cross join lateral (values (s.text), (s.substitute->>'text')) shown (text)
      where j.id = any ($1) and s.kind <> 'reset' and shown.text is not null`,
    [jobs],
  );
  return rows.map(({ replaced }) => replaced);
}

/** The last job of a channel. @returns 0: it had none */
export async function observeLastJob(db: Database, channel: ChannelId): Promise<number> {
  const [row] = await db.query<{ id: number }>(
    "fuzz_last_job",
    "select coalesce(max(id), 0) as id from jobs where channel_id = $1",
    [channel],
  );
  return row?.id ?? 0;
}

/** Is the text of a message no longer kept? */
export async function observeIsExpired(db: Database, channel: ChannelId, message: string): Promise<boolean> {
  const rows = await db.query(
    "fuzz_is_expired",
    "select from entries where channel_id = $1 and message_id = $2 and expired_at is not null and deleted_at is null",
    [channel, message],
  );
  return rows.length > 0;
}
