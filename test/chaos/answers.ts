/** Longest message of the service, UTF-16 units: what a model says at length is sent in parts. */
export const MOST_CHARACTERS = 240;

/** How a model begins an answer that is longer than that; others begin with `Answer 7: `. */
export const IN_PARTS = /^Answer \d+ in parts: /;

/** What a part and the whole have in common: between parts a blank or the end of a line may have gone. */
export function unspaced(text: string): string {
  return text.replaceAll(/\s+/g, "");
}
