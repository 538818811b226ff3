/** Mistakes that the daemons of a cluster can be started with, see `mutants.ts`; and how the names of faults begin that show them. */
export const MUTANTS = {
  "baton acknowledged at once": "kill",
  "no partition guard": "network",
  "no look, wakes dropped": "kill",
  "wake before commit": "kill",
  "wake in memory without owning": "kill",
  "balance without drain": "rolling",
  "home without a database": "postgres.lost",
} as const;
export type MutantName = keyof typeof MUTANTS;
