/** A wait, longer or shorter by up to a quarter: those who were cut off together do not come back together. @param chance 0 ≤ x < 1 */
export function jittered(ms: number, chance = Math.random()): number {
  return Math.round(ms * (0.75 + chance / 2));
}
