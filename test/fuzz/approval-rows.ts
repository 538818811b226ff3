import type { QuestionState } from "../../src/features/questions/question.ts";

/** An approval as its row has it, seen from outside of every incarnation. */
export interface ApprovalRow {
  readonly id: number;
  readonly agent: string;
  readonly arguments: string;
  readonly state: QuestionState;
  /** The log tells of its decision. */
  readonly told: boolean;
  /** What its question shows; null: what is true. */
  readonly outdated: string | null;
  /** What is allowed from now on came from it. */
  readonly rules: boolean;
}

/** Columns of it; of an entry the calls that it makes, and the approvals for which it says that it waits. */
export const APPROVAL = `id, agent, arguments, state, told_at is not null as told,
  case when shown is null and state in ('open', 'asked') or shown <> question_shown(state, arguments, answer)
       then coalesce(shown, 'nothing') end as outdated,
  exists (select from approval_rules r where r.approval_id = approvals.id) as rules`;
export const CALLS =
  "case when kind = 'tool_call' then array(select c->>'id' from jsonb_array_elements(data->'calls') c) else '{}' end";
export const ASKS = `case when kind = 'tool_result' then array(
  select m[1]::integer from regexp_matches(text, 'waits for an approval, as #([0-9]+)', 'g') m) else '{}' end`;
