import { setImmediate as afterOthers } from "node:timers/promises";
import type { Slices } from "../core/slices.ts";

/** Runs a long calculation; behind each slice everything else that is ready goes first. @throws what it throws */
export async function inSlices<Result>(work: Slices<Result>): Promise<Result> {
  for (;;) {
    const step = work.next();
    if (step.done === true) return step.value;
    await afterOthers();
  }
}
