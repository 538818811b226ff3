import { setImmediate as nextTurn } from "node:timers/promises";
import type { Logger } from "pino";
import { withDeadline } from "../async/deadline.ts";
import type { HomesListener } from "../channel/homes/homes.ts";

/** Who takes up what batons are of: partitions, or shards of a platform. What is said of partitions there holds for both. */
export type BatonListener = Pick<HomesListener, "gained" | "handingOn" | "lost">;

/** What the listener has not taken up by then goes to another member, ms. */
const TAKE_MS = 5000;

/** What a baton is of that has come. */
interface Acquisition {
  readonly id: number;
  /** The baton is gone again, and the listener was told that it is lost. */
  readonly isStale: () => boolean;
  readonly done: (isTaken: boolean) => void;
}

/**
 * Has the listener take up what came in one membership: all that came meanwhile at once, one call behind the other. One that does not
 * end keeps nobody waiting for long: what it was for is told as lost, and passed on.
 */
export class AcquisitionBatcher {
  readonly #listener: BatonListener;
  readonly #log: Logger;
  readonly #takeMs: number;
  #next: Acquisition[] = [];
  #running: Promise<void> | null = null;

  /** @param takeMs for tests */
  constructor(listener: BatonListener, log: Logger, takeMs = TAKE_MS) {
    this.#takeMs = takeMs;
    this.#listener = listener;
    this.#log = log;
  }

  add(gain: Acquisition): void {
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
