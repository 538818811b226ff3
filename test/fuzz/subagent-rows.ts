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
}

/** Columns of it, and of an entry the numbers of those of whose end it tells. */
export const SUBAGENT =
  "id, number, turn_id, agent, task, state, told, result, closed_at is not null as closed";
export const TELLS = `case when kind = 'tool_result' or message_id like 'subagent/%' then array(
  select m[1]::integer from regexp_matches(text, 'Subagent ([0-9]+) (?:has reported|has failed|was stopped|was ended)', 'g') m)
  else '{}' end`;
