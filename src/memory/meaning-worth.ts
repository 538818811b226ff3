import type { Bits } from "../store/search/vectors.ts";
import { EDGELESS_SCRIPTS } from "../text/scripts.ts";
import { LINKS } from "./recall-worth.ts";

/** What the vectors of a model are worth for recall, measured on lines of the channels themselves. Pure. */

export interface MeaningWorth {
  /** Weight of a place among the nearest, where a place among those found by words has 1. 0: the vectors say too little. */
  readonly weight: number;
  /** Share of bits within which unrelated texts are rare, also among as many as a channel's search compares. */
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

/** Lines of a probe, and the fewest with which vectors of chance seldom reach a quality of {@link POOR}. */
export const PROBED = 100;
export const LEAST_PROBED = 80;
/** A line of fewer words, or characters where words have no edges, has no two halves that say something. */
const LEAST_WORDS = 8;
const LEAST_CHARACTERS = 20;
/** Greatest weight: above about a third, the nearest displace better lines by words, in recorded conversations with a small model. */
const MOST_WEIGHT = 0.3;
/** Weight for each unit of quality, and the quality below which the vectors are not used. */
const WEIGHT_OF_QUALITY = 2;
const POOR = 0.04;
/** Standard deviations: in a normal distribution one of 30,000 unrelated texts is nearer. */
const CERTAIN_DEVIATIONS = 4;

const EDGELESS = new RegExp(`[${EDGELESS_SCRIPTS}]`, "gu");

/** A line in two halves, without links; null: it is too short. Where words have no edges it is cut between characters. */
export function halvesOf(line: string): readonly [string, string] | null {
  const said = line.replaceAll(LINKS, " ").trim();
  const isEdgeless = (said.match(EDGELESS)?.length ?? 0) > said.length / 2;
  const parts = isEdgeless ? Array.from(said) : said.split(/\s+/u);
  if (parts.length < (isEdgeless ? LEAST_CHARACTERS : LEAST_WORDS)) return null;
  const middle = Math.floor(parts.length / 2);
  const space = isEdgeless ? "" : " ";
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
  const [ones, others] = [first.map(packed), second.map(packed)];
  let [sum, chance] = [0, 0];
  const unrelated: number[] = [];
  for (const [index, one] of ones.entries()) {
    const distances = others.map((other) => bitsApart(one, other) / (first[0]?.length ?? 1));
    const right = distances[index] ?? 1;
    const wrong = distances.filter((_, place) => place !== index);
    sum += 1 / (1 + wrong.filter((distance) => distance <= right).length);
    chance += 1 / (index + 1);
    unrelated.push(...wrong);
  }
  const quality = (sum - chance) / (count - chance);
  const weight = quality < POOR ? 0 : Math.min(MOST_WEIGHT, WEIGHT_OF_QUALITY * quality);
  return { weight, certain: certainOf(unrelated) };
}

/** @param distances of unrelated texts, as shares of bits */
export function certainOf(distances: readonly number[]): number {
  const mean = meanOf(distances);
  const deviation = Math.sqrt(meanOf(distances.map((distance) => (distance - mean) ** 2)));
  return Math.max(0, mean - CERTAIN_DEVIATIONS * deviation);
}

/** The shares of bits in which each two of them differ. */
export function distancesOf(all: readonly Bits[]): number[] {
  const bits = all.map(packed);
  return bits.flatMap((one, index) =>
    bits.slice(index + 1).map((other) => bitsApart(one, other) / (all[0]?.length ?? 1)),
  );
}

export function meanOf(values: readonly number[]): number {
  return values.length === 0 ? 0 : values.reduce((sum, value) => sum + value, 0) / values.length;
}

const WORD_BITS = 32;

/** As numbers of 32 bits: a probe compares ten thousand pairs of up to thousands of bits. */
function packed(bits: Bits): Uint32Array {
  const words = new Uint32Array(Math.ceil(bits.length / WORD_BITS));
  return words.map((_, index) => Number.parseInt(bits.slice(index * WORD_BITS, (index + 1) * WORD_BITS), 2));
}

function bitsApart(one: Uint32Array, other: Uint32Array): number {
  let count = 0;
  for (let index = 0; index < one.length; index++) count += onesIn((one[index] ?? 0) ^ (other[index] ?? 0));
  return count;
}

/** The number of ones in 32 bits, counted in pairs, fours and eights at once. */
function onesIn(word: number): number {
  const pairs = word - ((word >>> 1) & 0x55555555);
  const fours = (pairs & 0x33333333) + ((pairs >>> 2) & 0x33333333);
  return Math.imul((fours + (fours >>> 4)) & 0x0f0f0f0f, 0x01010101) >>> 24;
}
