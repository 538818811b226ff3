import { steadyNow } from "../../async/clock.ts";

/** A connection that this daemon has. */
export interface HeldShard {
  /** Its number, from 0. */
  readonly shard: number;
  /** With what the daemon keeps how far it was heard: refused once another daemon has it. Null: it belongs to no cluster. */
  readonly epoch: number | null;
}

/** An adapter's reaction to gained and lost connections. Nothing may throw or reject. */
export interface ShardListener {
  /**
   * This daemon has these connections from now on: it opens them, and resumes where their previous daemon has stopped.
   * @param of total number of connections; it changes only while this daemon has none
   */
  gained(shards: readonly HeldShard[], of: number): void;
  /**
   * This daemon has lost these connections. Resolves when they are closed in a way that keeps their sessions, and their
   * positions are stored: only then may another daemon have them.
   * @param deadline until then received events may still be handled; aborted: another daemon may have the connections already
   */
  lost(shards: readonly number[], deadline: AbortSignal): Promise<void>;
}

/** Says which of the connections that a platform divides a bot's servers among this daemon has. */
export interface ShardHomes {
  /**
   * Begins to hand out connections.
   * @param wanted among how many this daemon would divide the servers
   * @returns among how many all daemons divide them
   * @throws Error if that cannot be said just now: to be called again
   */
  start(wanted: number, listener: ShardListener): Promise<number>;
  /** How many daemons there are, this one included: they share what the platform allows the bot. */
  members(): number;
  /**
   * Lets a connection log in, if it may now: the platform requires a pause between two logins of one bucket, by all daemons
   * together.
   * @param everyMs the pause
   * @returns 0: it may; otherwise the time until the next request, ms
   * @throws Error if that is unknown at the moment
   */
  takeLogin(bucket: number, everyMs: number): Promise<number>;
  /**
   * Acquires a connection again whose session could not be stored although its loss was not reported. Default: nothing is ever
   * refused. Must not reject.
   * @returns the epoch to store with from now on; null: another daemon has it, or that is unknown at the moment
   */
  retake?(shard: number): Promise<number | null>;
  /** Acquires no more connections, and has the listener lose all that it has, until the deadline. */
  leave(deadline: AbortSignal): Promise<void>;
}

/** One daemon has all connections, until it ends them itself. */
export class LocalShards implements ShardHomes {
  /** By bucket: when the next connection may log in. */
  readonly #freeAt = new Map<number, number>();

  async start(wanted: number, listener: ShardListener): Promise<number> {
    const all = Array.from({ length: wanted }, (_, shard) => ({ shard, epoch: null }));
    listener.gained(all, wanted);
    return wanted;
  }

  members(): number {
    return 1;
  }

  async takeLogin(bucket: number, everyMs: number): Promise<number> {
    const now = steadyNow();
    const waitMs = (this.#freeAt.get(bucket) ?? 0) - now;
    if (waitMs > 0) return Math.ceil(waitMs);
    this.#freeAt.set(bucket, now + everyMs);
    return 0;
  }

  async leave(): Promise<void> {
    // There is nothing to hand on: the connections are closed by the adapter.
  }
}
