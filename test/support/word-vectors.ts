import { createHash } from "node:crypto";

/** Length of each vector. */
export const DIMENSIONS = 256;

/**
 * Vectors of texts for tests: the sum of one vector per word, derived from a hash of the word. Texts with the same
 * words are near each other.
 * @param synonyms words that count as another one
 */
export function wordVectors(
  texts: readonly string[],
  synonyms: Readonly<Record<string, string>> = {},
  dimensions = DIMENSIONS,
): number[][] {
  return texts.map((text) => {
    const words = text.toLowerCase().match(/\p{L}+/gu) ?? [];
    const vector = Array.from({ length: dimensions }, () => 0);
    for (const word of words.filter(({ length }) => length > 3)) {
      for (const [place, sign] of wordSigns(synonyms[word] ?? word, dimensions).entries())
        vector[place] = (vector[place] ?? 0) + sign;
    }
    return vector;
  });
}

function wordSigns(word: string, dimensions: number): number[] {
  const signs: number[] = [];
  for (let block = 0; signs.length < dimensions; block++) {
    for (const byte of createHash("sha256").update(`${block} ${word}`).digest())
      signs.push(byte % 2 === 0 ? 1 : -1);
  }
  return signs.slice(0, dimensions);
}
