import type { ApprovalState } from "./approval.ts";
import { type AgentId, agentId } from "../../core/ids.ts";

/** An approval as people see it. */
export interface ApprovalRow {
  readonly id: number;
  /** The agent that asks. */
  readonly agent: AgentId;
  readonly tool: string;
  /** "": deleted with the texts that they retell. */
  readonly arguments: string;
  readonly state: ApprovalState;
  readonly expiresAt: Date;
  readonly decidedName: string;
  /** Names of the people whose messages the call's turn answered. */
  readonly askedBy: readonly string[];
}

/** A row as `APPROVAL_COLUMNS` reads it from `approvals a`. */
export interface RawApproval {
  id: number;
  agent: string;
  tool: string;
  arguments: string;
  state: ApprovalState;
  expiresAt: Date;
  decidedName: string;
  askedBy: string[];
}

export const APPROVAL_COLUMNS = `a.id, a.agent, a.tool, a.arguments, a.state, a.expires_at, a.decided_name,
  array(select distinct e.author_name from turns t
          join entries e on e.channel_id = t.channel_id and e.seq between t.from_seq and t.to_seq
         where t.id = a.turn_id and e.addressed and e.deleted_at is null and not e.author_bot) as asked_by`;

export function toApproval(row: RawApproval): ApprovalRow {
  const { id, agent, tool, arguments: json, state, expiresAt } = row;
  return {
    id,
    agent: agentId(agent),
    tool,
    arguments: json,
    state,
    expiresAt,
    decidedName: row.decidedName,
    askedBy: row.askedBy,
  };
}
