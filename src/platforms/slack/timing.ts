import type { Backoff } from "../../async/backoff.ts";
/** Times, ms; a test sets them. */
export interface SlackTiming {
  readonly callMs: number;
  readonly helloMs: number;
  /** A shorter-lived socket is reopened with growing pauses, any other at once. */
  readonly shortMs: number;
  /** Before the next attempt if Slack has no free socket for the app. */
  readonly fullMs: number;
  /** Timeout of Slack's answer to our ping. */
  readonly pingMs: number;
  /** Timeout of a post. Slack may still make a post after its timeout, and it would appear twice. */
  readonly postMs: number;
  /** Between two pieces of an unfinished answer if it is the only one and a stream. */
  readonly streamMs: number;
  /** An answer finished within this time is posted once and not marked as edited. */
  readonly firstPieceMs: number;
  /** Delays after a second attempt at a post before checks for a late first post. */
  readonly lookAgainMs: readonly number[];
  /** Average time between history calls: Slack allows some fifty a minute, a few for urgent reads. */
  readonly readEveryMs: number;
  /** How long a command's acknowledgement waits for the answer: Slack waits 3 s. */
  readonly commandMs: number;
  /** Delays before retries of a connection and of a fetch of missed messages. */
  readonly backOff?: Backoff;
  /** Longest wait of a channel's events for earlier missed messages. */
  readonly holdMs?: number;
}

export const SLACK_TIMING: SlackTiming = {
  callMs: 10_000,
  helloMs: 10_000,
  shortMs: 5000,
  fullMs: 30_000,
  pingMs: 5000,
  postMs: 45_000,
  streamMs: 750,
  firstPieceMs: 700,
  lookAgainMs: [60_000, 300_000],
  readEveryMs: 1500,
  commandMs: 2500,
};
