import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import type { HomesListener } from "../channel/homes/homes.ts";

/** Who takes up what batons are of: partitions, or shards of a platform. What is said of partitions there holds for both. */
export type BatonListener = Pick<HomesListener, "gained" | "handingOn" | "lost">;

/** What a baton is of that has come. */
interface Gain {
  readonly id: number;
  /** The baton is gone again. */
  readonly isStale: () => boolean;
  readonly done: (isTaken: boolean) => void;
}

/**
 * Has the listener take up what came: all that came meanwhile at once, and never two of its calls side by side. So what was lost while
 * it was being taken up is told as lost before anybody is told that it has come again.
 */
export class Gains {
  readonly #listener: BatonListener;
  readonly #log: Logger;
  #next: Gain[] = [];
  #running: Promise<void> | null = null;

  constructor(listener: BatonListener, log: Logger) {
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
    const taken = new Set(await this.#gained(batch.map(({ id }) => id)));
    const stale = batch.filter(({ id, isStale }) => isStale() && taken.has(id));
    if (stale.length > 0) this.#listener.lost(stale.map(({ id }) => id));
    for (const { id, isStale, done } of batch) if (!isStale()) done(taken.has(id));
  }

  async #gained(ids: readonly number[]): Promise<readonly number[]> {
    try {
      return await this.#listener.gained(ids);
    } catch (err) {
      this.#log.error({ err, batons: ids }, "Batons have come, and what they are of could not be taken up");
      return [];
    }
  }
}
