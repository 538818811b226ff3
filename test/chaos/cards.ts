import { type Point, POINTS } from "./points.ts";
import { type Trouble, TROUBLES } from "./troubles.ts";

/** What a deck deals: a process is killed at it, or harmed by it. */
export type Card = Point | Trouble;

/** The deck of a run. A quick one has no merges: there are too few summaries yet. */
export function cardsFor({
  only = "",
  isQuick,
}: {
  readonly only?: string | undefined;
  readonly isQuick: boolean;
}): Card[] {
  return [...POINTS, ...TROUBLES].filter(
    ({ name }) => name.startsWith(only) && !(isQuick && name.startsWith("merge.")),
  );
}
