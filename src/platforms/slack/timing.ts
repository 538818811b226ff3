import type { Backoff } from "../../async/backoff.ts";
/** Times, ms; a test sets them. */
export interface SlackTiming {
  /** After which a call of the Web API without an answer has failed. */
  readonly callMs: number;
  /** A socket says hello within this time, or is none. */
  readonly helloMs: number;
  /** A socket that lasted less is opened again with growing pauses, any other at once. */
  readonly shortMs: number;
  /** How long Slack may leave a ping of ours without an answer. */
  readonly pingMs: number;
  /** After which a post without an answer has failed: one that is given up may still be made, and would stand there twice. */
  readonly postMs: number;
  /** Between two edits of an answer that is being written, where no other is. */
  readonly streamMs: number;
  /** An answer that is whole within this time is posted once, and not marked as edited. */
  readonly firstPieceMs: number;
  /** When to look, behind a second attempt at a post, whether the first one was made after all. */
  readonly lookAgainMs: readonly number[];
  /** Between two calls for what was said, over time: Slack allows some fifty a minute, and a few are for what somebody waits for. */
  readonly readEveryMs: number;
  /** The acknowledgement of a command waits so long for its answer: Slack waits 3 s. */
  readonly commandMs: number;
  /** Waits before a connection is tried again, and before what was missed is asked for again. */
  readonly backOff?: Backoff;
  /** How long the events of a channel wait for what was missed before them. */
  readonly holdMs?: number;
}

export const SLACK_TIMING: SlackTiming = {
  callMs: 10_000,
  helloMs: 10_000,
  shortMs: 5000,
  pingMs: 5000,
  postMs: 45_000,
  streamMs: 1500,
  firstPieceMs: 700,
  lookAgainMs: [60_000, 300_000],
  readEveryMs: 1500,
  commandMs: 2500,
};
