/** The larger, the less the first places count above later ones. */
const DEPTH = 60;

/**
 * Joins lists, each the best first, by places (reciprocal rank fusion): their scores cannot be compared. Of equals, the newer
 * one. Pure.
 */
export function joinByPlace<Id extends number>(lists: readonly (readonly Id[])[]): Id[] {
  const scores = new Map<Id, number>();
  for (const ids of lists)
    for (const [place, id] of ids.entries()) scores.set(id, (scores.get(id) ?? 0) + 1 / (DEPTH + place));
  return [...scores].toSorted(([a, one], [b, other]) => other - one || b - a).map(([id]) => id);
}
