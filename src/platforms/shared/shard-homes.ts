import { steadyNow } from "../../async/clock.ts";

export interface HeldShard {
  /** Its number, from 0. */
  readonly shard: number;
  /**
   * The epoch with which the daemon stores its position: refused once another daemon has the connection. Null: it belongs to no
   * cluster.
   */
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

/** Assigns this daemon its share of the connections among which a platform divides a bot's servers. */
export interface ShardHomes {
  /**
   * Begins to assign connections.
   * @param wanted number of connections that this daemon would use
   * @returns the number that all daemons use
   * @throws Error if that is unknown at the moment: to be called again
   */
  start(wanted: number, listener: ShardListener): Promise<number>;
  /** Number of daemons, including this one: they share the bot's limits on the platform. */
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

/** For a single daemon: it has all connections, until it closes them. */
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
