import { AHEAD_MUTANTS } from "./ahead.ts";
import { APPROVAL_MUTANTS } from "./approvals.ts";
import { COMMIT_MUTANTS } from "./commits.ts";
import { CONTEXT_MUTANTS } from "./context.ts";
import { DECISION_MUTANTS } from "./decisions.ts";
import { EDIT_MUTANTS } from "./edits.ts";
import { FENCE_MUTANTS } from "./fences.ts";
import { LOG_MUTANTS } from "./log.ts";
import type { Mutant } from "./mutant.ts";
import { MEMORY_MUTANTS } from "./memories.ts";
import { OUTPUT_MUTANTS } from "./output.ts";
import { RELOAD_MUTANTS } from "./reloads.ts";
import { REMINDER_MUTANTS } from "./reminders.ts";
import { RETENTION_MUTANTS } from "./retention.ts";
import { SUBAGENT_MUTANTS } from "./subagents.ts";
import { SUMMARISER_MUTANTS } from "./summarisers.ts";
import { TOKEN_MUTANTS } from "./tokens.ts";
import { TOGETHER_MUTANTS } from "./together.ts";
import { VIEW_MUTANTS } from "./views.ts";
import { WAITING_MUTANTS } from "./waiting.ts";

/** All mutants. */
export const MUTANTS: readonly Mutant[] = [
  ...COMMIT_MUTANTS,
  ...AHEAD_MUTANTS,
  ...DECISION_MUTANTS,
  ...OUTPUT_MUTANTS,
  ...FENCE_MUTANTS,
  ...LOG_MUTANTS,
  ...EDIT_MUTANTS,
  ...MEMORY_MUTANTS,
  ...CONTEXT_MUTANTS,
  ...SUMMARISER_MUTANTS,
  ...VIEW_MUTANTS,
  ...TOKEN_MUTANTS,
  ...WAITING_MUTANTS,
  ...TOGETHER_MUTANTS,
  ...SUBAGENT_MUTANTS,
  ...APPROVAL_MUTANTS,
  ...REMINDER_MUTANTS,
  ...RELOAD_MUTANTS,
  ...RETENTION_MUTANTS,
];

/** What must hold, by the names of the design. */
export const INVARIANTS: readonly string[] = [
  ...Array.from({ length: 16 }, (_, index) => `I${index + 1}`),
  "I17",
  "I19",
  "I20",
  "I21",
  "I22",
];
