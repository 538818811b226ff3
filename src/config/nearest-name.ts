import leven from "leven";

/** Longest name that is compared, in characters: twice the length of the longest known name. */
const LONGEST = 60;

/** The known name closest to a misspelt one; null: none is close. */
export function nearestName(name: string, known: readonly string[]): string | null {
  if (name.length > LONGEST) return null;
  const written = name.toLowerCase();
  const ranked = known
    .map((one) => ({ name: one, distance: leven(written, one.toLowerCase()) }))
    .toSorted((a, b) => a.distance - b.distance);
  const best = ranked[0];
  if (best !== undefined && best.distance <= tolerance(best.name)) return best.name;
  // `threshold` for `background_threshold`, `drain_deadline` for `drain_deadline_ms`.
  const parts = known.filter((one) => written.length >= 4 && one.toLowerCase().includes(written));
  return parts.length === 1 ? (parts[0] ?? null) : null;
}

/** Wrong letters that a name may have. Two swapped letters count as two. */
function tolerance(name: string): number {
  if (name.length <= 3) return 1;
  return Math.max(2, Math.floor(name.length / 3));
}
