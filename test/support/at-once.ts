import type { Slices } from "../../src/async/cooperative.ts";

/** Runs a long calculation without a break: nobody else waits for its turn here. */
export function atOnce<Result>(work: Slices<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
