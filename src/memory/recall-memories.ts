import { PAIRED_SCRIPTS } from "../text/scripts.ts";
import { questionTerms, rankDocuments } from "../text/terms.ts";
import type { Memory } from "../core/memory.ts";
import { sliceWhole, storableText } from "../text/text.ts";
import type { AskingChannel, MemoryHit, MemoryQuery, MemoryStore } from "../store/memory/memories.ts";
import type { SearchStore } from "../store/search/search.ts";
import { joinByPlace } from "./join-by-place.ts";
import type { Meaning } from "./meaning.ts";
import { orQuery } from "./terms.ts";

/** Longest query that is looked at, in UTF-16 units. */
const MAX_QUERY = 1000;
/** Most pieces of words that are looked for: each of them is, in each memory. */
const MAX_PIECES = 64;
/** Memories that are ranked. */
const CANDIDATES = 100;
/** Words of these scripts are looked for in pairs of characters: most have two, so that a trigram would miss them. */
const UNSPACED = new RegExp(`^[${PAIRED_SCRIPTS}]`, "u");
const HAS_UNSPACED = new RegExp(`[${PAIRED_SCRIPTS}]`, "u");

const DAY_MS = 24 * 60 * 60 * 1000;
/** Age at which the boost of what is new has halved. */
const HALF_LIFE_DAYS = 30;
/** What each boost is worth at most: together they never make up for fitting half as well. */
const RECENCY_BOOST = 0.2;
const PROOF_BOOST = 0.15;
const IMPORTANCE_BOOST = 0.15;

export interface MemoryRecallQuery extends AskingChannel {
  readonly text: string;
  readonly limit: number;
  /** Ends the look-up, which then rejects. */
  readonly signal?: AbortSignal | undefined;
}

/** Finds what is remembered for a conversation; never what another one may not see. */
export class RecallMemories {
  readonly #memories: MemoryStore;
  readonly #search: SearchStore;
  readonly #meaning: Meaning | null;
  readonly #now: () => Date;

  /** @param parts.meaning null, the default: only words are looked for */
  constructor(parts: {
    memories: MemoryStore;
    search: SearchStore;
    now: () => Date;
    meaning?: Meaning | null;
  }) {
    this.#meaning = parts.meaning ?? null;
    this.#memories = parts.memories;
    this.#search = parts.search;
    this.#now = parts.now;
  }

  /**
   * @returns the memories that fit, best first; empty if none does
   * @throws WeirError if the database does not answer
   */
  async find(query: MemoryRecallQuery): Promise<Memory[]> {
    const { signal, limit } = query;
    const near = this.#meaning?.find({ text: newest(query.text), entries: null, memories: query, signal });
    const found = await this.byWords(query);
    return this.joined(found, (await near)?.memories, limit);
  }

  /** The same by words alone. */
  async byWords(query: MemoryRecallQuery): Promise<Memory[]> {
    const search = await this.toSearch(query.text);
    return search === null ? [] : this.best(query, await this.#memories.search(query, search, query.signal));
  }

  /** Null: there is nothing to look for. */
  async toSearch(asked: string): Promise<MemoryQuery | null> {
    const text = newest(asked);
    if (text.trim() === "") return null;
    const words = orQuery(await this.#search.lexemes(text));
    const pieces = HAS_UNSPACED.test(text.normalize("NFKC"))
      ? questionTerms(text)
          .filter((term) => UNSPACED.test(term))
          .slice(0, MAX_PIECES)
      : [];
    return words === "" && pieces.length === 0 ? null : { words, pieces, limit: CANDIDATES };
  }

  /** The best of what was found, best first. */
  best({ text, limit }: MemoryRecallQuery, found: readonly MemoryHit[]): Memory[] {
    return rankMemories(newest(text), found, this.#now()).slice(0, limit);
  }

  /** What was found by words and by meaning, best first. @param near undefined: it was not looked for by meaning */
  joined(byWords: readonly Memory[], near: readonly Memory[] | undefined, limit: number): Memory[] {
    if (near === undefined || near.length === 0) return [...byWords];
    const all = new Map([...byWords, ...near].map((memory) => [memory.id, memory]));
    const ids = joinByPlace([byWords.map(({ id }) => id), near.map(({ id }) => id)]);
    return ids.slice(0, limit).flatMap((id) => all.get(id) ?? []);
  }
}

/** The newest words are what is asked. */
function newest(asked: string): string {
  const whole = storableText(asked);
  return sliceWhole(whole, Math.max(0, whole.length - MAX_QUERY), whole.length);
}

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
