import { COMMIT_MUTANTS } from "./commits.ts";
import { DECISION_MUTANTS } from "./decisions.ts";
import { FENCE_MUTANTS } from "./fences.ts";
import { LOG_MUTANTS } from "./log.ts";
import type { Mutant } from "./mutant.ts";
import { OUTPUT_MUTANTS } from "./output.ts";

/** All wrong Weirs. */
export const MUTANTS: readonly Mutant[] = [
  ...COMMIT_MUTANTS,
  ...DECISION_MUTANTS,
  ...OUTPUT_MUTANTS,
  ...FENCE_MUTANTS,
  ...LOG_MUTANTS,
];
