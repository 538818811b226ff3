import { setImmediate as afterOthers } from "node:timers/promises";
import type { Slices } from "./slices.ts";

/** Runs a long calculation; behind each slice everything else that is ready goes first. @throws what it throws */
export async function inSlices<Result>(work: Slices<Result>): Promise<Result> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await afterOthers();
  }
}

/** How long work that comes piece by piece may go on before everything else that is ready has its turn, ms. */
const SLICE_MS = 5;

/** The same for work whose pieces come from outside: it says when a slice is over, by the clock. */
export class TimeSlice {
  #began = performance.now();

  get isOver(): boolean {
    return performance.now() - this.#began > SLICE_MS;
  }

  /** Something was waited for: everything else has had its turn meanwhile. */
  beginAnew(): void {
    this.#began = performance.now();
  }

  /** Resolves when everything else that is ready has had its turn. */
  async next(): Promise<void> {
    await afterOthers();
    this.beginAnew();
  }
}
