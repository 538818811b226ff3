/** A subagent as its row has it, seen from outside of every incarnation. */
export interface SubagentRow {
  readonly id: number;
  readonly number: number;
  readonly turn_id: number;
  /** Whose it is; of a channel's own agent as well. */
  readonly agent: string;
  readonly task: string;
  readonly state: "running" | "done" | "failed" | "stopped" | "void";
  readonly told: "call" | "later" | "entry" | "nobody" | null;
  readonly result: string;
  readonly closed: boolean;
  /** What told of its end was taken back. */
  readonly taken_back: boolean;
}

/** A look asks for each subagent whether one of them told of its end. */
export const INDEX_DELETED = "create index fuzz_deleted on entries (channel_id) where deleted_at is not null";

/** Columns of it, and of an entry the numbers of those of whose end it tells. */
export const SUBAGENT = `id, number, turn_id, agent, task, state, told, result, closed_at is not null as closed, exists (
     select from entries e where e.channel_id = subagents.channel_id and e.deleted_at is not null and (
       e.kind = 'tool_result' and e.turn_id = subagents.turn_id and e.data->>'call_id' = subagents.call_id
       or e.message_id ~ ('^subagent/' || subagents.told_with || '(/|$)'))) as taken_back`;
export const TELLS = `case when kind = 'tool_result' or message_id like 'subagent/%' then array(
  select m[1]::integer from regexp_matches(text, 'Subagent ([0-9]+) (?:has reported|has failed|was stopped|was ended)', 'g') m)
  else '{}' end`;
