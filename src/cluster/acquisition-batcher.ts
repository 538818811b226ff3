import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import { withDeadline } from "../async/deadline.ts";
import type { HomesListener } from "../channel/homes/homes.ts";

/** Acquires the partitions or shards of batons. The comments on partitions there hold for both. */
export type BatonListener = Pick<HomesListener, "gained" | "handingOn" | "lost">;

/** Deadline for the listener's acquisition, ms; after it the batons go to another member. */
const TAKE_MS = 5000;

/** The pending acquisition of a received baton. */
interface Acquisition {
  readonly id: number;
  /** The baton is lost already, and the listener knows. */
  readonly isStale: () => boolean;
  readonly done: (isTaken: boolean) => void;
}

/**
 * Passes the batons of one membership to the listener, one call at a time; batons that arrive during a call form the next batch.
 * A call that exceeds its deadline blocks no other: its batons are reported as lost, and passed on.
 */
export class AcquisitionBatcher {
  readonly #listener: BatonListener;
  readonly #log: Logger;
  readonly #takeMs: number;
  #next: Acquisition[] = [];
  #running: Promise<void> | null = null;

  /** @param takeMs deadline of one call */
  constructor(listener: BatonListener, log: Logger, takeMs = TAKE_MS) {
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
    const batons = batch.map(({ id }) => id);
    try {
      const taken = await withDeadline(this.#listener.gained(batons), this.#takeMs);
      if (taken !== null) return taken;
      this.#log.warn({ batons }, "Batons have come, and what they are of was not taken up in time");
      this.#listener.lost(batch.filter(({ isStale }) => !isStale()).map(({ id }) => id));
    } catch (err) {
      this.#log.error({ err, batons }, "Batons have come, and what they are of could not be taken up");
    }
    return [];
  }
}
