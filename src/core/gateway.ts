/** A place in the stream of events of a platform that replays them. */
export interface GatewayPlace {
  /** Which of the connections, from 0, and how many there are. */
  readonly shard: number;
  readonly shards: number;
  /** The platform's id of the bot. */
  readonly account: string;
  readonly session: string;
  /** Where the session is resumed. */
  readonly resumeUrl: string;
  /** Every event up to this number is in the log, or needed no entry there. */
  readonly sequence: number;
}

/** A place that was stored for the next start, or for another daemon. */
export interface KeptSession extends GatewayPlace {
  /** Since the session was known to live. */
  readonly ageMs: number;
}
