/** What an adapter does as connections to its platform come and go. Nothing may throw or reject. */
export interface ShardListener {
  /** This daemon has these connections from now on: it opens them, and goes on where whoever had them before has stopped. */
  gained(shards: readonly number[]): void;
  /**
   * It has them no more. Resolves when they are closed in a way that keeps their sessions, and how far they were heard is kept: only then
   * may another daemon have them.
   */
  lost(shards: readonly number[]): Promise<void>;
}

/** Says which of the connections that a platform divides a bot's servers among this daemon has. */
export interface ShardHomes {
  /**
   * Begins to hand out connections.
   * @param shards how many there are; they are numbered from 0
   */
  start(shards: number, listener: ShardListener): void;
  /** How many daemons there are, this one included: they share what the platform allows the bot. */
  members(): number;
}

/** One daemon has all connections. */
export const LOCAL_SHARDS: ShardHomes = {
  start: (shards, listener) => listener.gained(Array.from({ length: shards }, (_, shard) => shard)),
  members: () => 1,
};
