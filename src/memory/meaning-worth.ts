import type { Bits } from "../store/search/vectors.ts";

/** What the vectors of a model are worth for recall, measured on lines of the channels themselves. Pure. */

export interface MeaningWorth {
  /** Weight of a place among the nearest, where a place among those found by words has 1. 0: the vectors say too little. */
  readonly weight: number;
  /** Share of bits within which unrelated texts are rare. */
  readonly certain: number;
}

/** Hits by meaning, the nearest first. */
export interface NearestOf<Of> {
  readonly all: readonly Of[];
  /** Those of them that are nearer than unrelated texts are. */
  readonly certain: readonly Of[];
}

/**
 * Which of the nearest are shown beside what words have found.
 * @param isUnasked nobody has asked for a search: where words find nothing, only what is certain is shown
 */
export function shownBeside<Of>(
  byWords: readonly unknown[],
  nearest: NearestOf<Of>,
  isUnasked: boolean,
): readonly Of[] {
  return isUnasked && byWords.length === 0 ? nearest.certain : nearest.all;
}

/** Lines of a probe, and the fewest with which its result is no chance. */
export const PROBED = 100;
export const LEAST_PROBED = 40;
/** A line of fewer words has no two halves that say something. */
const LEAST_WORDS = 8;
/** Greatest weight: above about a third, the nearest displace better lines by words, in recorded conversations with a small model. */
const MOST_WEIGHT = 0.3;
/** Weight for each unit of quality, and the quality below which the vectors are not used: chance alone comes near it. */
const WEIGHT_OF_QUALITY = 2;
const POOR = 0.03;
/** Share of the first halves that have another line's half as near as what counts as certain. */
const FALSE_SHARE = 0.25;

/** A line in two halves; null: it is too short. A script without spaces is cut between characters. */
export function halvesOf(line: string): readonly [string, string] | null {
  const words = line.trim().split(/\s+/u);
  const [parts, space] = words.length >= LEAST_WORDS ? [words, " "] : [Array.from(words.join("")), ""];
  if (parts.length < (space === "" ? 4 * LEAST_WORDS : LEAST_WORDS)) return null;
  const middle = Math.floor(parts.length / 2);
  return [parts.slice(0, middle).join(space), parts.slice(middle).join(space)];
}

/**
 * Asks each first half for its second one, among those of all lines. Words could not answer that. The quality is the mean reciprocal rank
 * of the right one: 0 for chance, 1 if each is the nearest.
 * @param first bits of the first halves; `second`: of the second ones, in the same order
 */
export function worthOf(first: readonly Bits[], second: readonly Bits[]): MeaningWorth {
  const count = first.length;
  if (count < 2) return { weight: 0, certain: 0 };
  let [sum, chance] = [0, 0];
  const nearest: number[] = [];
  for (const [index, bits] of first.entries()) {
    const distances = second.map((other) => differenceOf(bits, other));
    const right = distances[index] ?? 1;
    const others = distances.filter((_, place) => place !== index);
    sum += 1 / (1 + others.filter((distance) => distance <= right).length);
    chance += 1 / (index + 1);
    nearest.push(Math.min(...others));
  }
  const quality = (sum - chance) / (count - chance);
  const certain = nearest.toSorted((a, b) => a - b)[Math.floor(FALSE_SHARE * count)] ?? 0;
  return { weight: quality < POOR ? 0 : Math.min(MOST_WEIGHT, WEIGHT_OF_QUALITY * quality), certain };
}

/** The share of bits in which two of them differ. */
export function differenceOf(one: Bits, other: Bits): number {
  let count = 0;
  for (let place = 0; place < one.length; place++) if (one[place] !== other[place]) count++;
  return one.length === 0 ? 1 : count / one.length;
}
