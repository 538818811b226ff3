import type { AgentId } from "../../core/ids.ts";

/** An approval lets a call of a tool run; a choice is one of the answers that the agent offers by its tool `ask`. */
export type QuestionKind = "approval" | "choice";

/**
 * Of an approval: `open`, `allowed`, `running`, `denied`, `expired`; `done`: it has run, or was started with an unknown outcome. Of a
 * choice: `asked`, `answered`, `lapsed`. `void`: the message that asked for it was deleted, or the channel was reset.
 */
export type QuestionState =
  | "open"
  | "allowed"
  | "running"
  | "done"
  | "denied"
  | "expired"
  | "void"
  | "asked"
  | "answered"
  | "lapsed";

/** The id of the entry that reports a decision or an answer to a channel. */
export function dueIdOf(question: number): string {
  return `approval/${question}`;
}

/** The question whose end a message reports; null: it is another message. */
export function questionOf(messageId: string): number | null {
  const match = /^approval\/(\d{1,15})$/.exec(messageId);
  return match === null ? null : Number(match[1]);
}

/** The id of an approved tool call: it stands in the log a second time, followed by its result. */
export function approvedCallId(approval: number): string {
  return `approval_${approval}`;
}

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
