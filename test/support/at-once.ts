import type { Slices } from "../../src/async/cooperative.ts";

/** Runs a sliced calculation without pauses, for tests in which no other work waits. */
export function atOnce<Result>(work: Slices<Result>): Result {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
  }
}
