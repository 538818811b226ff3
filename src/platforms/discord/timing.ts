import type { Backoff } from "../../async/backoff.ts";
/** Times, ms; a test sets them. */
export interface DiscordTiming {
  /** After which a call without an answer has failed. */
  readonly callMs: number;
  /** A call that would have to wait longer for its rate limit has failed. */
  readonly longestWaitMs: number;
  /** A connection, and one that was interrupted, is ready within this time, or is given up. */
  readonly readyMs: number;
  /** How long a connection may take to close. */
  readonly closeMs: number;
  /** Between two edits of an answer that is being written: Discord allows five in five seconds. */
  readonly streamMs: number;
  /** So long Discord is trusted to remember the key of a message. */
  readonly nonceMs: number;
  /** Discord shows that the bot is typing for some ten seconds. */
  readonly typingMs: number;
  /** False: no wait between two attempts to log in. Discord itself wants five seconds. */
  readonly isLoginPaced: boolean;
  /** Calls a second over everything: Discord allows a bot 50, and counts in seconds that are not ours. */
  readonly callsPerSecond: number;
  /** Waits before a connection is tried again, and before what was missed is asked for again. */
  readonly backOff?: Backoff;
  /** How long the events of a channel wait for what was missed before them. */
  readonly holdMs?: number;
}

export const DISCORD_TIMING: DiscordTiming = {
  callMs: 10_000,
  longestWaitMs: 10_000,
  readyMs: 30_000,
  closeMs: 2000,
  streamMs: 1200,
  nonceMs: 120_000,
  typingMs: 8000,
  isLoginPaced: true,
  callsPerSecond: 45,
};
