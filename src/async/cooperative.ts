import { setImmediate as afterOthers } from "node:timers/promises";

/** A long calculation that may be interrupted wherever it yields, so that other work can run. */
export type Slices<Result> = Generator<undefined, Result, void>;

/** Says when a slice is over. By work done and not by the clock: the same work always has the same slices. */
export class SliceCounter {
  readonly #size: number;
  #left: number;

  /** @param size of a slice, in whatever the caller counts */
  constructor(size: number) {
    this.#size = size;
    this.#left = size;
  }

  isOver(work: number): boolean {
    this.#left -= work;
    if (this.#left > 0) return false;
    this.#left = this.#size;
    return true;
  }
}

/**
 * Runs a long calculation; after each slice, all other ready work runs.
 * @throws the calculation's error
 */
export async function inSlices<Result>(work: Slices<Result>): Promise<Result> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await afterOthers();
  }
}

/** Longest run of work that comes piece by piece before other ready work has its turn, ms. */
const SLICE_MS = 5;

/** The same for work whose pieces come from outside: it says when a slice is over, by the clock. */
export class TimeSlice {
  #began = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#began > SLICE_MS;
  }

  /** Restarts the slice after a wait, during which other work had its turn. */
  beginAnew(): void {
    this.#began = performance.now();
  }

  /** Resolves when all other ready work has had its turn. */
  async next(): Promise<void> {
    await afterOthers();
    this.beginAnew();
  }
}
