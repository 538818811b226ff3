import { UsageError, wholeNumber } from "../support/usage.ts";

/** `0-4,9,33`: places in a schedule. */
export function formatPlaces(places: readonly number[]): string {
  const spans: [number, number][] = [];
  for (const place of places) {
    const last = spans.at(-1);
    if (last !== undefined && last[1] === place - 1) last[1] = place;
    else spans.push([place, place]);
  }
  return spans.map(([from, to]) => (from === to ? `${from}` : `${from}-${to}`)).join(",");
}

/**
 * The inverse of {@link formatPlaces}.
 * @param length steps of the schedule; without it, places are not bounded
 * @throws UsageError if a place is no number, a span runs backwards, or the schedule has no such place
 */
export function parsePlaces(text: string, length = Infinity): number[] {
  return text.split(",").flatMap((span) => {
    const ends = span.split("-").map((place) => wholeNumber("keep", place, 0));
    const [from = 0, to = from] = ends;
    if (ends.length > 2 || to < from) throw new UsageError(`--keep: "${span}" is no span such as 2-5.`);
    if (to >= length)
      throw new UsageError(
        `--keep: there is no place ${to}: the schedule has the places 0 to ${length - 1}.`,
      );
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}
