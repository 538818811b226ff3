import { steadyNow } from "../../async/clock.ts";

/** A connection that this daemon has. */
export interface HeldShard {
  /** Its number, from 0. */
  readonly shard: number;
  /** With what the daemon keeps how far it was heard: refused once another daemon has it. Null: it belongs to no cluster. */
  readonly epoch: number | null;
}

/** What an adapter does as connections to its platform come and go. Nothing may throw or reject. */
export interface ShardListener {
  /**
   * This daemon has these connections from now on: it opens them, and goes on where whoever had them before has stopped.
   * @param of how many there are; another number than before is told only where it has none
   */
  gained(shards: readonly HeldShard[], of: number): void;
  /**
   * It has them no more. Resolves when they are closed in a way that keeps their sessions, and how far they were heard is kept: only then
   * may another daemon have them.
   * @param deadline until then what was heard may still be taken; aborted: another daemon may have them already
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
   * Lets a connection log in, if it may now: the platform wants a pause between two of one bucket, of all daemons together.
   * @param everyMs the pause
   * @returns 0: it may; else after how long to ask again, ms
   * @throws Error if that cannot be said just now
   */
  takeLogin(bucket: number, everyMs: number): Promise<number>;
  /**
   * What is kept of a connection was refused, though nobody has said that it is lost: takes it anew where it is this daemon's. Default:
   * nothing is ever refused. Must not reject.
   * @returns with what it is kept from now on; null: it is another daemon's, or that cannot be said just now
   */
  retake?(shard: number): Promise<number | null>;
  /** Takes no more connections and has the listener lose all that it has, until the deadline. */
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
    // Whoever ends the connections does not ask.
  }
}
