/** The larger, the less the first places count above later ones. */
const DEPTH = 60;

/** The same for lists of unequal worth, among the first of which a place counts more. */
const WEIGHTED_DEPTH = 10;

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

/**
 * Joins a list with a less reliable one by weighted places. An id in both lists rises. An id in the lesser list alone does not take the first
 * places. Pure.
 * @param weight from 0 to 1. 0: the lesser list comes behind all of the first
 */
export function joinWithLesser<Id extends number>(
  first: readonly Id[],
  lesser: readonly Id[],
  weight: number,
): Id[] {
  const scores = new Map(first.map((id, place) => [id, 1 / (WEIGHTED_DEPTH + place)]));
  for (const [place, id] of lesser.entries())
    scores.set(id, (scores.get(id) ?? 0) + weight / (WEIGHTED_DEPTH + place));
  // Stable: of equals, what came first in its list.
  return [...scores].toSorted(([, one], [, other]) => other - one).map(([id]) => id);
}
