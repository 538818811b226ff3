import type { ClusterProblemKind } from "./cluster-report.ts";

/** Mistakes that the daemons of a cluster can be started with, see `mutants.ts`. */
export const MUTANT_NAMES = [
  "lease acknowledged at once",
  "no partition guard",
  "no look, wakes dropped",
  "wake before commit",
  "wake in memory without owning",
  "balance without drain",
  "home without a database",
] as const;
export type MutantName = (typeof MUTANT_NAMES)[number];

interface Shown {
  /** How the names of the faults begin that show it. */
  readonly only: string;
  /** The problems that show it: others may have come of the machine. */
  readonly by: readonly ClusterProblemKind[];
}

export const MUTANTS: Readonly<Record<MutantName, Shown>> = {
  "lease acknowledged at once": { only: "kill", by: ["homeless"] },
  "no partition guard": { only: "network", by: ["wrong"] },
  "no look, wakes dropped": { only: "kill", by: ["lost"] },
  "wake before commit": { only: "kill", by: ["unwoken"] },
  "wake in memory without owning": { only: "kill", by: ["wrong", "doubled"] },
  "balance without drain": { only: "rolling", by: ["wrong", "doubled"] },
  "home without a database": { only: "postgres.lost", by: ["wrong"] },
};

export function isMutantName(name: string): name is MutantName {
  return Object.hasOwn(MUTANTS, name);
}
