import type { QuestionKind, QuestionState } from "./question.ts";
import type { AgentId } from "../../core/ids.ts";

/** A question as people see it, as `QUESTION_COLUMNS` reads it from `approvals a`. */
export interface QuestionRow {
  readonly id: number;
  readonly kind: QuestionKind;
  readonly agent: AgentId;
  /** Of an approval: the tool whose call waits. */
  readonly tool: string;
  /** Of the call: a choice has its question and its choices there. "": deleted with the texts that they retell. */
  readonly arguments: string;
  readonly state: QuestionState;
  readonly expiresAt: Date;
  readonly decidedName: string;
  /** Names of the people whose messages the call's turn answered. */
  readonly askedBy: readonly string[];
  /** Of a choice: ids of the people who may make it; empty: anybody may. */
  readonly askedOf: readonly string[];
  /** The words of the choice that was made; "": none was, or they are deleted. */
  readonly answer: string;
}

/** The entries that the turn of a question answers. */
const ANSWERED = `from turns t join entries e on e.channel_id = t.channel_id and e.seq between t.from_seq and t.to_seq
   where t.id = a.turn_id and e.addressed and e.deleted_at is null`;

/** A turn that goes on after an answer asks the person who gave it. */
export const QUESTION_COLUMNS = `a.id, a.kind, a.agent, a.tool, a.arguments, a.state, a.expires_at, a.decided_name,
  array(select distinct e.author_name ${ANSWERED} and not e.author_bot) as asked_by,
  case when a.for_anybody then '{}' else array(
    select distinct e.author_id ${ANSWERED} and (not e.author_bot or e.message_id like 'approval/%' and e.author_id <> 'weir')) end as asked_of, a.answer`;
