/** Cells of the table of species and scenes that do not pass yet, by what is missing. A cell that passes is taken out. */
const PENDING: readonly (readonly [
  why: string,
  species: readonly string[],
  scenes: readonly string[] | "all",
])[] = [
  [
    "marks for caches that look at breakpoints alone",
    ["OpenAI from 5.6", "Responses", "Copilot"],
    ["a landing"],
  ],
];

/** Why a cell does not have to pass; undefined: it has to. */
export function pendingReason(species: string, scene: string): string | undefined {
  return PENDING.find(
    ([, kinds, scenes]) => kinds.includes(species) && (scenes === "all" || scenes.includes(scene)),
  )?.[0];
}
