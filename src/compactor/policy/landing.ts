import type { CacheTerms } from "../../llm/caches/terms.ts";

/** What a landing changes, in estimated tokens of a request. */
export interface Landing {
  /** Of the request as it is, and once what waits has landed. */
  readonly before: number;
  readonly after: number;
  /** With which both begin: the tools and the system prompt. */
  readonly shared: number;
  /** That a turn adds. */
  readonly perTurn: number;
  /** That may still be added before it must land. */
  readonly room: number;
}

/**
 * Compares the price of a landing now with the price of a later one. Now, the part behind the shared beginning is written once more. Each
 * turn of waiting reads the part that the landing would remove. A landing costs nothing once the cache is cold, if there is room until then. Pure.
 */
export function landsNow({ before, after, shared, perTurn, room }: Landing, cache: CacheTerms): boolean {
  const { read, write, isCold, chance } = cache;
  if (isCold) return true;
  const reset = Math.max(0, write - read) * Math.max(0, after - shared);
  const reading = read * Math.max(0, before - after);
  const turns = Math.max(0, room) / Math.max(1, perTurn);
  // Of the turns that can come, those before the first that finds nothing.
  const warmTurns = chance >= 1 ? turns : (chance * (1 - chance ** turns)) / (1 - chance);
  return reset <= reading * warmTurns + chance ** turns * reset;
}
