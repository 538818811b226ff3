import process from "node:process";
import { decide } from "../../../src/compactor/policy/policy.ts";
import type { Mutant } from "../mutants/mutant.ts";
import { changeFunction } from "../mutants/sql.ts";

/** To see what the simulation itself is worth: no share of the seeds has to find these out. */
export const PLANTED: readonly Mutant[] = [
  {
    // What a simulation does not know of: two runs of a seed differ by it.
    name: "a decision by the machine's clock",
    breaks: ["trace"],
    decide: (state) => (process.hrtime.bigint() % 3n === 0n ? { kind: "idle" } : decide(state)),
  },
  {
    // It may have been asked by rows of before the deletion, which its owner has not read again yet.
    name: "a turn that begins behind a deletion is taken to know of it",
    breaks: ["I12"],
    install: async (db) =>
      changeFunction(db, "knows_deletions", [
        ["(p.deleted_seq <= t.to_seq ", "(p.deleted_at > t.started_at and p.deleted_seq <= t.to_seq "],
      ]),
  },
];
