/** Mistakes that the daemons of a cluster can be started with: see `mutants.ts`. */
export const MUTANT_NAMES = [
  "baton acknowledged at once",
  "no partition guard",
  "no look, wakes dropped",
  "wake before commit",
  "wake in memory without owning",
  "balance without drain",
] as const;
export type MutantName = (typeof MUTANT_NAMES)[number];
