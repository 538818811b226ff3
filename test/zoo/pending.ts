/** Cells of the table of species and scenes that do not pass yet, by what is missing. A cell that passes is taken out. */
const PENDING: readonly (readonly [
  why: string,
  species: readonly string[],
  scenes: readonly string[] | "all",
])[] = [
  [
    "what was thought beside calls, in each of the messages that hold them",
    ["DeepSeek"],
    [
      "two parallel calls",
      "a summary with memories",
      "calls of another model in the past",
      "a subagent",
      "nothing is refused twice for its form",
    ],
  ],
  ["ids of calls in the form that a server takes", ["Mistral"], ["calls of another model in the past"]],
];

/** Why a cell does not have to pass; undefined: it has to. */
export function pendingReason(species: string, scene: string): string | undefined {
  return PENDING.find(
    ([, kinds, scenes]) => kinds.includes(species) && (scenes === "all" || scenes.includes(scene)),
  )?.[0];
}
