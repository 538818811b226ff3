import type { Memory } from "../core/memory.ts";
import { rankDocuments } from "../text/terms.ts";
import type { MemoryHit } from "../store/memory/memories.ts";

const DAY_MS = 24 * 60 * 60 * 1000;
/** Age at which the boost of what is new has halved. */
const HALF_LIFE_DAYS = 30;
/** What each boost is worth at most: together they never make up for fitting half as well. */
const RECENCY_BOOST = 0.2;
const PROOF_BOOST = 0.15;
const IMPORTANCE_BOOST = 0.15;

/**
 * Memories, best first: by how well they fit the query, times small boosts for what is new, said more than once and
 * important. Of equals, the newer one. Pure.
 * @param found what the database picked: a word that all of them have says nothing
 */
export function rankMemories(query: string, found: readonly MemoryHit[], now: Date): Memory[] {
  const documents = found.map(({ memory }) => `${memory.subject} ${memory.assertedBy} ${memory.statement}`);
  const scores = new Map(rankDocuments(query, documents).map(({ index, score }) => [index, score]));
  return found
    .map(({ memory, words, pieces }, index) => {
      return { memory, score: ((scores.get(index) ?? 0) + words + pieces) * boost(memory, now) };
    })
    .toSorted((a, b) => b.score - a.score || b.memory.at.getTime() - a.memory.at.getTime())
    .map(({ memory }) => memory);
}

/** From 1 to 1.5. */
function boost({ at, proofs, importance }: Memory, now: Date): number {
  const days = Math.max(0, now.getTime() - at.getTime()) / DAY_MS;
  const recency = 2 ** (-days / HALF_LIFE_DAYS);
  const proof = 1 - 1 / Math.max(1, proofs);
  return 1 + RECENCY_BOOST * recency + PROOF_BOOST * proof + IMPORTANCE_BOOST * importance;
}
