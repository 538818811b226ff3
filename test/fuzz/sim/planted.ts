import process from "node:process";
import { decide } from "../../../src/compactor/policy/policy.ts";
import type { Mutant } from "../mutants/mutant.ts";
import { MUTANTS } from "../mutants/mutants.ts";

/** To see what the simulation itself is worth: no share of the seeds has to find these out. */
const PLANTED: readonly Mutant[] = [
  {
    // What a simulation does not know of: two runs of a seed differ by it.
    name: "a decision by the machine's clock",
    breaks: ["trace"],
    decide: (state) => (process.hrtime.bigint() % 3n === 0n ? { kind: "idle" } : decide(state)),
  },
];

/** Of the mutants and the planted ones. @returns undefined: none has the name */
export function mutantNamed(name: string): Mutant | undefined {
  return [...MUTANTS, ...PLANTED].find((one) => one.name === name);
}
