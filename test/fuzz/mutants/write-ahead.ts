import type { Mutant } from "./mutant.ts";

type Config = NonNullable<Mutant["config"]>;

/** In each schedule summaries are written ahead. */
export const writesAhead: Config = (config) => ({
  ...config,
  compaction: { ...config.compaction, enabled: true, writeAhead: true },
});

/** In none: what is written ahead leaves little for an emergency, and for a single leaf, to do. */
export const writesWhenDue: Config = (config) => ({
  ...config,
  compaction: { ...config.compaction, writeAhead: false },
});
