import type { TurnRange } from "../core/history.ts";
import { type Seq, turnId } from "../core/ids.ts";

export interface RunningTurn extends TurnRange {
  /** How often it was started, this time included. */
  readonly attempts: number;
}

/** Who would begin a turn of a message alone as soon as it is in the log. */
export interface Beginner {
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
}

export function runningTurn({ id, from_seq: fromSeq, to_seq: toSeq, attempts }: RawTurn): RunningTurn {
  return { id: turnId(id), fromSeq, toSeq, attempts };
}
