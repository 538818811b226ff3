import type { TurnRange } from "../../core/history.ts";
import { type AgentId, agentId, type Seq, turnId } from "../../core/ids.ts";

export interface RunningTurn extends TurnRange {
  /** How often it was started, this time included. */
  readonly attempts: number;
  /** Owners that ended, or lost the channel, while it ran. */
  readonly deaths: number;
  /** Attempts that failed by themselves: not for the database, the machine, or the end of a process. */
  readonly failures: number;
}

/** Who would begin a turn of a message alone as soon as it is in the log. */
export interface TurnClaim {
  readonly epoch: number;
  /** The newest entry that it knows: where another came in between, it begins nothing. */
  readonly lastSeq: Seq;
}

/** A running turn, as `turns` has it. */
export interface RawTurn {
  id: number;
  from_seq: number;
  to_seq: number;
  attempts: number;
  deaths: number;
  failures: number;
  agent: string | null;
}

export function runningTurn({
  id,
  from_seq: fromSeq,
  to_seq: toSeq,
  agent,
  ...counts
}: RawTurn): RunningTurn {
  const { attempts, deaths, failures } = counts;
  const turn = { id: turnId(id), fromSeq, toSeq, attempts, deaths, failures };
  return agent === null ? turn : { ...turn, agent: agentId(agent) };
}

/** The turn that has begun with this row, for the first time. */
export function begunTurn(id: number, fromSeq: Seq, toSeq: Seq, agent?: AgentId): RunningTurn {
  const turn = { id: turnId(id), fromSeq, toSeq, attempts: 1, deaths: 0, failures: 0 };
  return agent === undefined ? turn : { ...turn, agent };
}
