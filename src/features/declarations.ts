/**
 * What the rooms below the features need to know of them: options, names of tools. To add a feature, write
 * `features/NAME/declaration.ts`, and list it here and in `features.ts`.
 */

import { approvals } from "./approvals/declaration.ts";
import type { Declaration } from "./declaration.ts";
import { reminders } from "./reminders/declaration.ts";

/** In the order of their options. */
const DECLARATIONS = [approvals, reminders] as const;

type Declared = (typeof DECLARATIONS)[number];

/** All members of a union at once. */
type Together<Union> = (Union extends unknown ? (one: Union) => void : never) extends (all: infer All) => void
  ? All
  : never;

function together<Part extends object>(parts: readonly Part[]): Together<Part> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- assigned together, it has the members of each
  return Object.assign({}, ...parts) as Together<Part>;
}

/** Options of `[defaults]` and of each of `[[agents]]`. */
export const SHARED_FEATURE_OPTIONS = together<Declared["options"]>(
  DECLARATIONS.map(({ options }) => options),
);

/** Options of each of `[[agents]]` alone. */
export const OWN_FEATURE_OPTIONS = together<Declared["agentOptions"]>(
  DECLARATIONS.map(({ agentOptions }) => agentOptions),
);

/** Names of their tools. */
export const FEATURE_TOOLS: readonly Declared["tools"][number][] = DECLARATIONS.flatMap(({ tools }) => tools);

/** They find errors in an agent's options that no schema finds. */
export const FEATURE_CHECKS: readonly Declared["check"][] = DECLARATIONS.map(({ check }) => check);

/** Options of agents, as `table.option`, whose keys are the operator's. */
export const VERBATIM_OPTIONS: readonly string[] = DECLARATIONS.flatMap(
  ({ verbatim = [] }: Declaration) => verbatim,
);
