import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import { withDeadline } from "../../async/deadline.ts";
import type { HomesListener } from "../homes.ts";

/** Acquires the partitions or shards of leases. The comments on partitions there hold for both. */
export type LeaseListener = Pick<HomesListener, "gained" | "handingOn" | "lost">;

/** Deadline for the listener's acquisition, ms; after it the leases go to another member. */
const TAKE_MS = 5000;

interface Acquisition {
  readonly id: number;
  /** The lease is lost already, and the listener knows. */
  readonly isStale: () => boolean;
  readonly done: (isTaken: boolean) => void;
}

/**
 * Passes the leases of one membership to the listener, one call at a time; leases that arrive during a call form the next batch.
 * A call that exceeds its deadline blocks no other: its leases are reported as lost, and passed on.
 */
export class AcquisitionBatcher {
  readonly #listener: LeaseListener;
  readonly #log: Logger;
  readonly #takeMs: number;
  #next: Acquisition[] = [];
  #running: Promise<void> | null = null;

  constructor(listener: LeaseListener, log: Logger, takeMs = TAKE_MS) {
    this.#takeMs = takeMs;
    this.#listener = listener;
    this.#log = log;
  }

  add(gain: Acquisition): void {
    this.#next.push(gain);
    this.#running ??= this.#run();
  }

  /** Resolves once no acquisition runs. */
  async settled(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    // Collects the messages of one read from the socket.
    await nextTurn();
    while (this.#next.length > 0) {
      const batch = this.#next.filter((gain) => !gain.isStale());
      this.#next = [];
      if (batch.length > 0) await this.#take(batch);
    }
    this.#running = null;
  }

  async #take(batch: readonly Acquisition[]): Promise<void> {
    const taken = new Set(await this.#gained(batch));
    for (const { id, isStale, done } of batch) if (!isStale()) done(taken.has(id));
  }

  async #gained(batch: readonly Acquisition[]): Promise<readonly number[]> {
    const leases = batch.map(({ id }) => id);
    try {
      const taken = await withDeadline(this.#listener.gained(leases), this.#takeMs);
      if (taken !== null) return taken;
      this.#log.warn({ leases }, "Leases have come, and what they are of was not taken up in time");
      this.#listener.lost(batch.filter(({ isStale }) => !isStale()).map(({ id }) => id));
    } catch (err) {
      this.#log.error({ err, leases }, "Leases have come, and what they are of could not be taken up");
    }
    return [];
  }
}
