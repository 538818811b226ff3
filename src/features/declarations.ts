/**
 * What the rooms below the features need to know of them: options, names of tools, templates, rows of work. To add a feature, write
 * `features/NAME/declaration.ts`, and list it here and in `features.ts`.
 */

import { questions } from "./questions/declaration.ts";
import type { Declaration, OpenWork } from "./declaration.ts";
import { files } from "./files/declaration.ts";
import { notes } from "./notes/declaration.ts";
import { reminders } from "./reminders/declaration.ts";
import { skills } from "./skills/declaration.ts";
import { subagents } from "./subagents/declaration.ts";

/** In the order in which their options stand in the configuration. */
const DECLARATIONS = [subagents, questions, reminders, skills, notes, files] as const;

type Declared = (typeof DECLARATIONS)[number];

const ALL: readonly Declaration[] = DECLARATIONS;

type Member<Key extends string, One = Declared> =
  One extends Readonly<Record<Key, infer Value>> ? Value : never;

/** All members of a union at once. */
type Together<Union> = {} & ((Union extends unknown ? (one: Union) => void : never) extends (
  all: infer All,
) => void
  ? All
  : never);

function together<Part extends object>(parts: readonly object[]): Together<Part> {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- assigned together, it has the members of each
  return Object.assign({}, ...parts) as Together<Part>;
}

export const SHARED_FEATURE_OPTIONS = together<Member<"options">>(ALL.map(({ options = {} }) => options));

export const OWN_FEATURE_OPTIONS = together<Member<"agentOptions">>(
  ALL.map(({ agentOptions = {} }) => agentOptions),
);

export const FEATURE_TOOLS: readonly Declared["tools"][number][] = DECLARATIONS.flatMap(({ tools }) => tools);

/** They find errors in an agent's options that no schema finds. */
export const FEATURE_CHECKS: readonly Member<"check">[] = DECLARATIONS.flatMap((one) =>
  "check" in one ? one.check : [],
);

/** Names of their tools whose template has variables. */
export const DESCRIBED_FEATURE_TOOLS: readonly string[] = ALL.flatMap(
  ({ describedTools = [] }) => describedTools,
);

export const FEATURE_TEMPLATES = together<Member<"templates">>(
  ALL.flatMap(({ templates = [] }) => templates),
);

export type FeatureCallPurpose = Member<"callPurpose">;

export const FEATURE_WORK: readonly OpenWork[] = ALL.flatMap(({ openWork = [] }) => openWork);

/** Options of agents, as `table.option`, whose keys are the operator's. */
export const VERBATIM_OPTIONS: readonly string[] = ALL.flatMap(({ verbatim = [] }) => verbatim);
