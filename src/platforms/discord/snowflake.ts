/** Discord's ids: 64-bit numbers as texts; later ids are larger. */

const EPOCH_MS = 1_420_070_400_000n;

export function isSnowflake(id: string): boolean {
  return /^\d{1,20}$/.test(id);
}

/** Compares two ids by age; below 0: `a` is older. A total order: non-ids compare as text. */
export function compareIds(a: string, b: string): number {
  if (a === b) return 0;
  if (isSnowflake(a) && isSnowflake(b)) return BigInt(a) < BigInt(b) ? -1 : 1;
  return a < b ? -1 : 1;
}

/** The smallest id of a time. */
export function idOfTime(at: Date): string {
  const sinceEpoch = BigInt(Math.trunc(at.getTime())) - EPOCH_MS;
  return String((sinceEpoch < 0n ? 0n : sinceEpoch) << 22n);
}

/** An id's time; for a text that is no id, the Unix epoch. */
export function timeOfId(id: string): Date {
  return new Date(isSnowflake(id) ? Number((BigInt(id) >> 22n) + EPOCH_MS) : 0);
}
