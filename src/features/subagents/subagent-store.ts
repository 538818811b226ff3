import type { ToolCall } from "../../core/entry.ts";
import type { AgentId, ChannelAddress, ChannelId, MemoryId, Owner, Seq, TurnId } from "../../core/ids.ts";
import { storableText } from "../../text/text.ts";
import { Rows } from "../../store/database/rows.ts";

/** Calls of one answer of a subagent, with their results. */
export interface SubagentStep {
  readonly text: string;
  readonly calls: readonly ToolCall[];
  readonly results: readonly { readonly callId: string; readonly text: string }[];
}

/** `void`: a text that it may have read was edited or deleted. */
export type SubagentState = "running" | "done" | "failed" | "stopped" | "void";

/** A subagent that a turn is about to begin. */
export interface SubagentDraft {
  readonly agent: AgentId;
  /** Distinguishes it from others of the same turn; the same task has the same key. */
  readonly key: string;
  readonly callId: string;
  /** The message for which it is begun; null: no person's. */
  readonly askedSeq: Seq | null;
  readonly task: string;
  /** Its name in the configuration; null: none. */
  readonly persona: string | null;
  /** As the configuration names it; null: the agent's own. */
  readonly model: string | null;
  readonly tools: readonly string[];
  /** An extract of the conversation; null: it gets none. */
  readonly brief: string | null;
}

/** An open subagent: its end was not reported to its agent yet. */
export interface Subagent extends Omit<SubagentDraft, "key" | "callId"> {
  readonly id: number;
  /** In its channel. */
  readonly number: number;
  readonly turn: TurnId;
  readonly readTo: Seq;
  readonly state: SubagentState;
  readonly result: string;
  readonly steps: readonly SubagentStep[];
  /** How often it was begun since its last step; runs that an orderly shutdown ended are not counted. */
  readonly begun: number;
  readonly spentMs: number;
  /** The first turn of its chain of turns. */
  readonly question?: TurnId;
  /** Stored model calls of that chain. */
  readonly calls?: number;
  /** Number of the first subagent of the group that one message reports now; null: it is not to be reported now. */
  readonly toldWith: number | null;
}

/** What a subagent has done since its row was last written. */
export interface SubagentChange {
  readonly step?: SubagentStep;
  readonly result?: string;
  readonly entries?: readonly Seq[];
  readonly memories?: readonly MemoryId[];
  readonly tokensIn?: number;
  readonly tokensOut?: number;
  readonly spentMs?: number;
}

/** `changed`: a text that it may have read was edited or deleted meanwhile. `over`: it has ended, or runs on another daemon. */
export type SaveOutcome = "saved" | "changed" | "over";

/** An open subagent, for people and for its agent. */
export interface OpenSubagent {
  readonly number: number;
  /** The agent that has begun it. */
  readonly agent: AgentId;
  readonly task: string;
  readonly state: SubagentState;
  readonly startedAt: Date;
  readonly tokens: number;
  /** The message for which it was begun; null: no person's. */
  readonly seq: Seq | null;
  /** The author of that message; null: there is none, or it was deleted. */
  readonly asker: { readonly id: string; readonly name: string } | null;
}

const COLUMNS = `id, number, turn_id as turn, agent, asked_seq, read_to, task, persona, model, tools, brief, state,
  case when told = 'entry' then told_with end as told_with, result, steps, begun, spent_ms`;

/** Of `subagents s` with `entries e`: a {@link RawOpen}. */
const OPEN = `json_build_object(
  'number', s.number, 'agent', s.agent, 'task', s.task, 'state', s.state, 'startedAt', s.started_at,
  'tokens', s.tokens_in + s.tokens_out, 'seq', s.asked_seq, 'asker', case when e.author_id is not null then
    json_build_object('id', e.author_id, 'name', coalesce(e.author_name, '')) end)`;

type RawOpen = Omit<OpenSubagent, "startedAt"> & { readonly startedAt: string };

function toOpen({ startedAt, ...same }: RawOpen): OpenSubagent {
  return { ...same, startedAt: new Date(startedAt) };
}

export class SubagentStore extends Rows {
  /** The number of edits and deletions of the channel so far, and its open subagents whose end no call has reported. */
  async look(channel: ChannelId): Promise<{ readonly takenBack: number; readonly open: OpenSubagent[] }> {
    const [row] = await this.db.query<{
      takenBack: number;
      open: RawOpen[];
    }>(
      "subagents_look",
      `select notes_taken_back($1) as taken_back, coalesce((
         select json_agg(${OPEN} order by s.number)
           from subagents s left join entries e on e.channel_id = s.channel_id and e.seq = s.asked_seq and e.deleted_at is null
          where s.channel_id = $1 and s.closed_at is null and s.told is distinct from 'call'), '[]') as open`,
      [channel],
    );
    return { takenBack: row?.takenBack ?? 0, open: (row?.open ?? []).map(toOpen) };
  }

  /** Begins a subagent, or finds the one with the same key in the same turn. @param most limit of open ones in a channel */
  async begin(
    { channel, epoch }: Owner,
    turn: TurnId,
    { draft, takenBack, most }: { draft: SubagentDraft; takenBack: number; most: number },
  ): Promise<{ readonly outcome: "begun" | "found"; readonly id: number } | "changed" | "full"> {
    const { callId, askedSeq, ...same } = draft;
    const row = { ...same, call_id: callId, asked_seq: askedSeq };
    const [begun] = await this.db.query<{ outcome: "begun" | "found" | "changed" | "full"; id: number }>(
      "subagent_begin",
      "select outcome, id from begin_subagent($1, $2, $3, $4, $5, $6)",
      [channel, epoch, turn, takenBack, most, JSON.stringify(row)],
    );
    if (begun === undefined) throw new Error("subagent_begin returned no row");
    const { outcome, id } = begun;
    return outcome === "begun" || outcome === "found" ? { outcome, id } : outcome;
  }

  /** The turn that has begun the subagent, or the first of those, whose end a message reports; null: it reports none. */
  async turnOf(channel: ChannelId, messageId: string): Promise<TurnId | null> {
    const [, number] = /^subagent\/(\d+)/.exec(messageId) ?? [];
    if (number === undefined) return null;
    const [row] = await this.db.query<{ turn: TurnId }>(
      "subagent_turn",
      "select turn_id as turn from subagents where channel_id = $1 and number = $2",
      [channel, Number(number)],
    );
    return row?.turn ?? null;
  }

  /** Those that are at work in all channels, the one that began first before the others. */
  async running(limit: number): Promise<(OpenSubagent & { readonly address: ChannelAddress })[]> {
    const rows = await this.db.query<ChannelAddress & { open: RawOpen }>(
      "subagents_running",
      `select c.platform, c.name, ${OPEN} as open
         from (select * from subagents where closed_at is null and state = 'running' order by started_at, id limit $1) s
         join channels c on c.id = s.channel_id
         left join entries e on e.channel_id = s.channel_id and e.seq = s.asked_seq and e.deleted_at is null
        order by s.started_at, s.id`,
      [limit],
    );
    return rows.map(({ platform, name, open }) => ({ ...toOpen(open), address: { platform, name } }));
  }

  /** Open subagents of all channels. */
  async countOpen(): Promise<{ readonly count: number; readonly since: Date | null }> {
    const [row] = await this.db.query<{ count: number; since: Date | null }>(
      "subagents_open",
      "select count(*) as count, min(started_at) as since from subagents where closed_at is null",
    );
    return row ?? { count: 0, since: null };
  }

  /** Decides how the end of each is reported. @returns the open subagents of the channel */
  async settle({ channel, epoch }: Owner): Promise<Subagent[]> {
    return this.db.query<Subagent>("subagents_settle", `select ${COLUMNS} from settle_subagents($1, $2)`, [
      channel,
      epoch,
    ]);
  }

  /** Counts a run that begins. @returns the current row, with its question; null: it has ended, or runs on another daemon */
  async take({ epoch }: Owner, id: number): Promise<Subagent | null> {
    const [row] = await this.db.query<Subagent>(
      "subagent_take",
      `with taken as (update subagents set begun = begun + 1 where id = $1 and epoch = $2 and state = 'running' returning *),
            question as (select coalesce(t.question, t.id) as id from turns t, taken where t.id = taken.turn_id)
       select ${COLUMNS}, (select q.id from question q) as question, calls_of_question((select q.id from question q)) as calls
         from taken`,
      [id, epoch],
    );
    return row ?? null;
  }

  /** An orderly shutdown ends a run: it is no attempt, but its cost counts. */
  async leave(
    { epoch }: Owner,
    id: number,
    { tokensIn, tokensOut, spentMs }: Required<Pick<SubagentChange, "tokensIn" | "tokensOut" | "spentMs">>,
  ): Promise<void> {
    await this.db.query(
      "subagent_leave",
      `update subagents set begun = greatest(begun - 1, 0), tokens_in = tokens_in + $3, tokens_out = tokens_out + $4,
                            spent_ms = spent_ms + $5
        where id = $1 and epoch = $2 and state = 'running'`,
      [id, epoch, tokensIn, tokensOut, Math.round(spentMs)],
    );
  }

  /**
   * Stores a step, or the end.
   * @param takenBack number of edits and deletions before the model was asked; null: the row gets no text of the conversation
   * @param end null: it continues
   */
  async save(
    { channel, epoch }: Owner,
    id: number,
    saved: { change: SubagentChange; takenBack: number | null; end: "done" | "failed" | null },
  ): Promise<SaveOutcome> {
    const { change, takenBack, end } = saved;
    const { step, result, entries = [], memories = [], tokensIn = 0, tokensOut = 0, spentMs = 0 } = change;
    const written = {
      ...(step !== undefined && { step }),
      ...(result !== undefined && { result: storableText(result) }),
      entries,
      memories,
      tokens_in: tokensIn,
      tokens_out: tokensOut,
      spent_ms: Math.round(spentMs),
    };
    const [row] = await this.db.query<{ outcome: SaveOutcome }>(
      "subagent_save",
      "select save_subagent($1, $2, $3, $4, $5, $6) as outcome",
      [channel, epoch, id, takenBack, end, JSON.stringify(written)],
    );
    return row?.outcome ?? "over";
  }

  /**
   * Reports a subagent by the result of its call if it has ended, and by a message later otherwise. Idempotent.
   * @returns its state; null: another call has reported it
   */
  async tellCall(
    { epoch }: Owner,
    id: number,
    callId: string,
  ): Promise<Pick<Subagent, "number" | "state" | "result"> | null> {
    const [row] = await this.db.query<Pick<Subagent, "number" | "state" | "result">>(
      "subagent_tell_call",
      `update subagents set told = coalesce(told, case state when 'running' then 'later' else 'call' end)
        where id = $1 and epoch = $2 and (told is null or told in ('call', 'later') and call_id = $3)
        returning number, case told when 'later' then 'running' else state end as state, result`,
      [id, epoch, callId],
    );
    return row ?? null;
  }

  /** Those of these that have ended. */
  async over(ids: readonly number[]): Promise<number[]> {
    const rows = await this.db.query<{ id: number }>(
      "subagents_over",
      "select id from subagents where id = any($1) and state <> 'running'",
      [ids],
    );
    return rows.map(({ id }) => id);
  }

  /** Ends a running subagent of a channel at once. @returns whether there was one */
  async stop(channel: ChannelId, number: number): Promise<boolean> {
    const rows = await this.db.query(
      "subagent_stop",
      `update subagents set state = 'stopped', ended_at = clock_timestamp(), steps = '[]', brief = null
        where channel_id = $1 and number = $2 and state = 'running' returning id`,
      [channel, number],
    );
    return rows.length > 0;
  }

  /** Closes all of a channel without a report. */
  async drop({ channel, epoch }: Owner): Promise<void> {
    await this.db.query("subagents_drop", "select drop_subagents($1, $2)", [channel, epoch]);
  }

  /** Closes a group that was reported, and erases its texts. */
  async close(channel: ChannelId, toldWith: number): Promise<void> {
    await this.db.query(
      "subagents_close",
      `select blank_subagents(array(select id from subagents where channel_id = $1 and told = 'entry' and told_with = $2
                                       and closed_at is null), null)`,
      [channel, toldWith],
    );
  }
}
