import type { TurnRange } from "../../core/history.ts";
import type { AgentId, Seq, TurnId } from "../../core/ids.ts";

export interface RunningTurn extends TurnRange {
  /** Grows when the turn takes in a message: its owner changes it, after the row. */
  toSeq: Seq;
  /** How often it was started, this time included. */
  readonly attempts: number;
  /** Owners that ended, or lost the channel, while it ran. */
  readonly deaths: number;
  /** Attempts that failed by themselves: not for the database, the machine, or the end of a process. */
  readonly failures: number;
  /** The turn with which its chain of turns began, where the program itself began this one; left out: it is that one. */
  readonly question?: TurnId;
  /** Stored model calls of that chain; left out: there are none. */
  readonly calls?: number;
}

/** Who would begin a turn of a message alone as soon as it is in the log. */
export interface TurnClaim {
  readonly epoch: number;
  /** The newest entry that it knows: where another came in between, it begins nothing. */
  readonly lastSeq: Seq;
}

/** A running turn, as `turns` has it. */
export type RawTurn = Omit<RunningTurn, "agent" | "question" | "calls"> & {
  readonly agent: AgentId | null;
  readonly question: TurnId | null;
  readonly calls: number;
};

export function runningTurn({ agent, question, calls, ...turn }: RawTurn): RunningTurn {
  return { ...turn, ...questionOf(question, calls), ...(agent !== null && { agent }) };
}

/** What a row says of the chain that its turn is of. */
export function questionOf(question: TurnId | null, calls: number): Pick<RunningTurn, "question" | "calls"> {
  return { ...(question !== null && { question }), ...(calls > 0 && { calls }) };
}

/** The turn that has begun with this row, for the first time. */
export function begunTurn(id: TurnId, fromSeq: Seq, toSeq: Seq, agent?: AgentId): RunningTurn {
  const turn = { id, fromSeq, toSeq, attempts: 1, deaths: 0, failures: 0 };
  return agent === undefined ? turn : { ...turn, agent };
}
