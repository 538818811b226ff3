/** Cells of the table that do not pass yet: what is missing. A cell that passes is taken out. */
export function pendingReason(species: string, scene: string): string | undefined {
  return PENDING.find(
    ([kind, scenes]) => kind === species && (scenes === "all" || scenes.includes(scene)),
  )?.[2];
}

const PENDING: readonly (readonly [string, "all" | readonly string[], string])[] = [];
