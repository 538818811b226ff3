import type { Backoff } from "../../async/backoff.ts";
/** Times, ms; a test sets them. */
export interface DiscordTiming {
  readonly callMs: number;
  /** A call fails if its rate limit needs a longer wait. */
  readonly longestWaitMs: number;
  /** Timeout until a connection, also a resumed one, is ready. */
  readonly readyMs: number;
  readonly closeMs: number;
  /** Between two edits of an unfinished answer: Discord allows five in five seconds. */
  readonly streamMs: number;
  /** How long Discord is trusted to remember a message's key. */
  readonly nonceMs: number;
  /** Between typing signals: Discord shows one for some ten seconds. Shorter than a turn's interval, or each second one is left out. */
  readonly typingMs: number;
  /** False: no wait between two attempts to log in. Discord itself wants five seconds. */
  readonly isLoginPaced: boolean;
  /** Calls a second in total: Discord allows a bot 50, but by its own clock. */
  readonly callsPerSecond: number;
  /** Delays before retries of a connection and of a fetch of missed messages. */
  readonly backOff?: Backoff;
  /** Longest wait of a channel's events for earlier missed messages. */
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
