import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import type { HomesListener, Partition } from "../channel/homes.ts";

/** One partition whose baton has come. */
interface Gain {
  readonly partition: Partition;
  /** The baton is gone again. */
  readonly isStale: () => boolean;
  readonly done: (isTaken: boolean) => void;
}

/**
 * Has the listener take up partitions: all that came meanwhile at once, and never two of its calls side by side. So what was lost while
 * it was being taken up is told as lost before anybody is told that it has come again.
 */
export class Gains {
  readonly #listener: HomesListener;
  readonly #log: Logger;
  #next: Gain[] = [];
  #running: Promise<void> | null = null;

  constructor(listener: HomesListener, log: Logger) {
    this.#listener = listener;
    this.#log = log;
  }

  add(gain: Gain): void {
    this.#next.push(gain);
    this.#running ??= this.#run();
  }

  /** Resolves once nothing is being taken up. */
  async settled(): Promise<void> {
    while (this.#running !== null) await this.#running;
  }

  async #run(): Promise<void> {
    // Those that came with the same bytes go together.
    await nextTurn();
    while (this.#next.length > 0) {
      const batch = this.#next.filter((gain) => !gain.isStale());
      this.#next = [];
      if (batch.length > 0) await this.#take(batch);
    }
    this.#running = null;
  }

  async #take(batch: readonly Gain[]): Promise<void> {
    const taken = new Set(await this.#gained(batch.map(({ partition }) => partition)));
    const stale = batch.filter(({ partition, isStale }) => isStale() && taken.has(partition));
    if (stale.length > 0) this.#listener.lost(stale.map(({ partition }) => partition));
    for (const { partition, isStale, done } of batch) if (!isStale()) done(taken.has(partition));
  }

  async #gained(partitions: readonly Partition[]): Promise<readonly Partition[]> {
    try {
      return await this.#listener.gained(partitions);
    } catch (err) {
      this.#log.error({ err, partitions }, "Partitions could not be taken up");
      return [];
    }
  }
}
