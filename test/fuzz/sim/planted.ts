import process from "node:process";
import { decide } from "../../../src/compactor/policy/policy.ts";
import type { Mutant } from "../mutants/mutant.ts";

/** What a simulation does not know of: two runs of a seed differ by it. */
export const PLANTED: readonly Mutant[] = [
  {
    name: "a decision by the machine's clock",
    breaks: ["trace"],
    decide: (state) => (process.hrtime.bigint() % 3n === 0n ? { kind: "idle" } : decide(state)),
  },
];
