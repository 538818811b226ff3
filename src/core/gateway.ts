/** A place in the stream of events of a platform that replays them. */
export interface GatewayPlace {
  /** The number of the connection, from 0, and the total. */
  readonly shard: number;
  readonly shards: number;
  /** The platform's id of the bot. */
  readonly account: string;
  readonly session: string;
  readonly resumeUrl: string;
  /** Every event up to this number is in the log, or needed no entry there. */
  readonly sequence: number;
}

/** A place that was stored for the next start, or for another daemon. */
export interface KeptSession extends GatewayPlace {
  /** Time since the session's last sign of life. */
  readonly ageMs: number;
}
