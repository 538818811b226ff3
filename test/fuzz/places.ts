import { wholeNumber } from "../support/usage.ts";

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

/** The inverse of {@link formatPlaces}. @throws UsageError where a place is no number */
export function parsePlaces(text: string): number[] {
  return text.split(",").flatMap((span) => {
    const [from = 0, to = from] = span.split("-").map((place) => wholeNumber("keep", place, 0));
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}
