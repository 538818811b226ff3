/** Discord's ids: numbers of 64 bits as texts, the later the larger. */

const EPOCH_MS = 1_420_070_400_000n;

export function isSnowflake(id: string): boolean {
  return /^\d{1,20}$/.test(id);
}

/** Below 0, 0, above 0: which was made first. Total over all texts; what is no id comes by its letters. */
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

/** When an id was made; what is no id was made at the beginning of all. */
export function timeOfId(id: string): Date {
  return new Date(isSnowflake(id) ? Number((BigInt(id) >> 22n) + EPOCH_MS) : 0);
}
