import type { CacheTerms } from "../../llm/caches/terms.ts";

/** The sizes that a landing changes, in estimated tokens of a request. */
export interface Landing {
  /** The request now, and after the landing. */
  readonly before: number;
  readonly after: number;
  /** The shared beginning of both: tools and system prompt. */
  readonly shared: number;
  /** Growth by each turn. */
  readonly perTurn: number;
  /** Room left until the landing becomes urgent. */
  readonly room: number;
}

/**
 * Whether landing now costs at most as much as landing later. Landing now writes the part after the shared beginning
 * into the cache once more. Each turn of waiting reads the part that the landing would remove. Once the cache is cold,
 * landing is free; waiting for that needs room. Pure.
 */
export function landsNow({ before, after, shared, perTurn, room }: Landing, cache: CacheTerms): boolean {
  const { read, write, isCold, chance } = cache;
  if (isCold) return true;
  const reset = Math.max(0, write - read) * Math.max(0, after - shared);
  const reading = read * Math.max(0, before - after);
  const turns = Math.max(0, room) / Math.max(1, perTurn);
  // Expected number of turns before the first one with a cold cache.
  const warmTurns = chance >= 1 ? turns : (chance * (1 - chance ** turns)) / (1 - chance);
  return reset <= reading * warmTurns + chance ** turns * reset;
}
