import { PAIRED_SCRIPTS } from "../text/scripts.ts";
import { questionTerms, rankDocuments } from "../text/terms.ts";
import type { MemoryId } from "../core/ids.ts";
import { type Memory, namingOnly } from "../core/memory.ts";
import { newestWords } from "../text/text.ts";
import type { EndedMemories } from "../store/memory/ended.ts";
import type { MemoryHit, MemoryQuery, MemoryStore } from "../store/memory/memories.ts";
import { type FoundPeople, NO_PEOPLE, NOBODY, type PeopleWords } from "../store/memory/people.ts";
import type { AskingChannel } from "../store/memory/memory-scope.ts";
import type { SearchStore } from "../store/search/search.ts";
import { EXPLAINED, explanationsOf } from "./explained-terms.ts";
import { joinWithLesser } from "./join-by-place.ts";
import type { FoundByMeaning, Meaning } from "./meaning.ts";
import { shownBeside } from "./meaning-worth.ts";
import { namedTimes } from "./named-times.ts";
import { ASKS_TIME } from "./rank-lines.ts";
import { wantedBy } from "./recall-worth.ts";
import { orQuery } from "./terms.ts";

/** Longest query that is looked at, in UTF-16 units. */
const MAX_QUERY = 1000;
/** Most pieces of words that are searched for: each is compared with each memory. */
const MAX_PIECES = 64;
const CANDIDATES = 100;
/** Words of these scripts are searched for as pairs of characters: most have two, so that a trigram would miss them. */
const UNSPACED = new RegExp(`^[${PAIRED_SCRIPTS}]`, "u");
const HAS_UNSPACED = new RegExp(`[${PAIRED_SCRIPTS}]`, "u");

const DAY_MS = 24 * 60 * 60 * 1000;
/** Age at which the boost of new memories has halved. */
const HALF_LIFE_DAYS = 30;
/** Greatest value of each boost: together they never outweigh a fit that is twice as good. */
const RECENCY_BOOST = 0.2;
const PROOF_BOOST = 0.15;
const IMPORTANCE_BOOST = 0.15;
/** Bonus of a memory of an asked time, where it does not fit otherwise. Where it fits, its fit counts twice as well. */
const ASKED_TIME = 0.5;
/** Factor of a memory that refers to a time, if the question asks for any time. */
const TELLS_TIME = 1.5;

export interface MemoryRecallQuery extends AskingChannel {
  readonly text: string;
  /** Ids of the people whose text it is. */
  readonly askers: readonly string[];
  /** Names of the people whose text it is, as the log has them: it may ask for their pages. Default: no pages. */
  readonly names?: readonly string[];
  /** The name of an asker who asks about themselves, as statements have it; null, the default: no such question. */
  readonly self?: string | null;
  readonly limit: number;
  /** Ends the look-up, which then rejects. */
  readonly signal?: AbortSignal | undefined;
}

export interface MemoriesWithPeople {
  /** The best first. */
  readonly memories: Memory[];
  readonly about: FoundPeople;
}

/** A look-up of people alone. */
export const NO_WORDS: MemoryQuery = { words: "", pieces: [], times: [], limit: CANDIDATES };

/** Finds memories for a conversation, only of those that may be shown in it. */
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
   * @param isAsked whether the days in the text are a question, and not a report
   * @param by as in {@link joined}
   * @returns the memories that fit, best first
   * @throws WeirError if the database does not answer
   */
  async find(query: MemoryRecallQuery, isAsked = true, by: "tool" | "turn" = "tool"): Promise<Memory[]> {
    return (await this.findWithPeople(query, isAsked, NO_PEOPLE, by)).memories;
  }

  /** The same, with the memories of people by the first words of their names. @param by as in {@link joined} */
  async findWithPeople(
    query: MemoryRecallQuery,
    isAsked: boolean,
    people: PeopleWords,
    by: "tool" | "turn",
  ): Promise<MemoriesWithPeople> {
    const { signal, limit } = query;
    const near = this.#meaning?.find({ text: newest(query.text), entries: null, memories: query, signal });
    const { memories, about } = await this.byWords(query, isAsked, people);
    return { memories: this.joined(memories, (await near) ?? null, limit, by), about };
  }

  /** The same by words alone. */
  async byWords(
    query: MemoryRecallQuery,
    isAsked: boolean,
    people: PeopleWords,
  ): Promise<MemoriesWithPeople> {
    const search = await this.toSearch(wordsOf(query), isAsked);
    if (search === null && people.words.length === 0) return { memories: [], about: NOBODY };
    const { hits, about } = await this.searchWithPeople(query, search ?? NO_WORDS, people);
    const definitions = explanationsOf(query.text, hits, query.askers).map(({ definition }) => definition);
    if (definitions.length === 0) return { memories: this.best(query, hits), about };
    const more = await this.toSearch(definitions.join(" "), false);
    const explained = more === null ? [] : await this.#memories.search(query, more, query.signal);
    return { memories: this.best(query, withExplained(hits, explained), definitions), about };
  }

  async searchWithPeople(
    query: MemoryRecallQuery,
    search: MemoryQuery,
    people: PeopleWords,
  ): Promise<{ readonly hits: readonly MemoryHit[]; readonly about: FoundPeople }> {
    return this.#memories.searchWithPeople(query, { ...search, people }, query.signal);
  }

  /**
   * Adds what was so before, if the text asks for the past or for a change: behind each memory those that it has replaced, the last first,
   * and first of all memories whose replaced ones fit the text best.
   */
  async withEnded(query: MemoryRecallQuery, found: readonly Memory[]): Promise<Memory[]> {
    const today = this.#now().toISOString().slice(0, 10);
    // Nothing that holds shares a word with the text: nothing that has ended would be shown beside it.
    if (found.length === 0 || !asksForPast(query.text, today)) return [...found];
    return besideEnded(query.text, found, await this.#ended(query, found));
  }

  /**
   * For who looks through the memories: as `find`, with what was so before, whatever the text asks for.
   * @param most all that holds and fits is among them; ended memories take what is left
   */
  async findWithEnded(query: MemoryRecallQuery, most: number): Promise<Memory[]> {
    const found = await this.find(query);
    return endedWhereRoom(query.text, found, await this.#ended(query, found), most);
  }

  async #ended(query: MemoryRecallQuery, found: readonly Memory[]): Promise<EndedMemories[]> {
    const ids = found.map(({ id }) => id);
    const words = orQuery(await this.#search.lexemes(newest(wordsOf(query))));
    return this.#memories.ended(query, words, ids, query.signal);
  }

  /** Null: there is nothing to look for. @param isAsked as in {@link find} */
  async toSearch(asked: string, isAsked: boolean): Promise<MemoryQuery | null> {
    const text = newest(asked);
    if (text.trim() === "") return null;
    const words = orQuery(await this.#search.lexemes(text));
    const pieces = HAS_UNSPACED.test(text.normalize("NFKC"))
      ? questionTerms(text)
          .filter((term) => UNSPACED.test(term))
          .slice(0, MAX_PIECES)
      : [];
    const times = isAsked ? namedTimes(text, this.#now().toISOString().slice(0, 10)) : [];
    if (words === "" && pieces.length === 0 && times.length === 0) return null;
    return { words, pieces, times, limit: CANDIDATES };
  }

  /**
   * The best hits, best first.
   * @param definitions of terms in the text
   */
  best(query: MemoryRecallQuery, found: readonly MemoryHit[], definitions: readonly string[] = []): Memory[] {
    return besideDissent(rankMemories(newest(wordsOf(query)), found, this.#now(), definitions), query.limit);
  }

  /**
   * Hits by words and by meaning, best first.
   * @param near null: no search by meaning
   * @param by a turn, which has not asked for memories, is shown only what is certainly near where words find nothing
   */
  joined(
    byWords: readonly Memory[],
    near: FoundByMeaning | null,
    limit: number,
    by: "tool" | "turn",
  ): Memory[] {
    if (near === null) return [...byWords];
    const nearest = shownBeside(byWords, near.memories, by === "turn");
    const all = new Map([...byWords, ...nearest].map((memory) => [memory.id, memory]));
    const idsOf = (memories: readonly Memory[]): MemoryId[] => memories.map(({ id }) => id);
    const ids = joinWithLesser(idsOf(byWords), idsOf(nearest), near.weight);
    const joined = ids.flatMap((id) => all.get(id) ?? []).toSorted(seenByToolsLast);
    return namingShown(joined.slice(0, limit));
  }
}

/**
 * Finds questions about what was before, or about a change ("where did Ann live", "has it changed", "does she still"), by their most
 * common words. Pure.
 */
const OF_PAST: readonly RegExp[] = [
  /\b(?:was|were|did|had|used to|before|previous(?:ly)?|former(?:ly)?|earlier|original(?:ly)?|at first|until|back then|ago|yesterday|last (?:week|month|year|spring|summer|autumn|fall|winter)|chang(?:e|es|ed|ing)|switch(?:ed)?|moved|instead|no longer|any ?more|still|since when|so far)\b/iu,
  /(?<!\p{L})(?:waren|warst|war|hatten?|wurden?|früher|vorher|zuvor|damals|ehemals|ehemalige[nrsm]?|bisherige[nrsm]?|bisher|bis wann|seit wann|gestern|geändert|gewechselt|umgezogen|verschoben|nicht mehr|noch immer|immer noch|letzte[nrsm]? (?:woche|monat|jahr))(?!\p{L})/iu,
  /(?<!\p{L})(?:avant|auparavant|était|étaient|avait|avaient|autrefois|depuis quand|changé|déménagé|toujours)(?!\p{L})/iu,
  /(?<!\p{L})(?:antes|eran?|estaban?|había|anteriormente|desde cuándo|cambi(?:ó|ado)|mudado|ya no|todavía)(?!\p{L})/iu,
  /(?<!\p{L})(?:раньше|прежде|был|была|было|были|изменил(?:ось|ся|ась|ись)|переехал|переехала|больше не|до сих пор)(?!\p{L})/iu,
  /以前|前は|前の|昔|かつて|もともと|元々|変わ|変更|でした|だった|ましたか|引っ越|まだ|之前|原来|原來|过去|過去|曾经|曾經|变了|變了|改变|改變|전에|예전|원래|바뀌|변경|이사/u,
];

/** @param today the ISO day on which it is asked */
export function asksForPast(text: string, today: string): boolean {
  if (wantedBy(text) === "told") return false;
  return OF_PAST.some((asks) => asks.test(text)) || namedTimes(text, today).some(({ to }) => to < today);
}

/** Memories beside which ended ones are shown that recall has not found, and ended ones beside one memory. */
const MOST_MORE = 3;
const MOST_ENDED = 3;

/** Memories in force, each followed by those that it has replaced, on the same page. Pure. */
function besideEnded(text: string, found: readonly Memory[], replaced: readonly EndedMemories[]): Memory[] {
  const ended = new Map(replaced.map((one) => [one.by.id, one.ended.slice(0, MOST_ENDED)]));
  const shown = [...foundByEnded(text, found, replaced), ...found].flatMap(({ ...memory }) => {
    const { page, isOnPageAlone } = memory;
    const place = { ...(page && { page }), ...(isOnPageAlone && { isOnPageAlone }) };
    return [memory, ...(ended.get(memory.id) ?? []).map((one) => ({ ...one, ...place }))];
  });
  return namingShown(shown);
}

/** All memories that were found, then those found by ended ones. Ended memories fill the rest, up to `most` in all. Pure. */
function endedWhereRoom(
  text: string,
  found: readonly Memory[],
  replaced: readonly EndedMemories[],
  most: number,
): Memory[] {
  const more = foundByEnded(text, found, replaced);
  let room = most - found.length - more.length;
  const ended = new Map<MemoryId, readonly Memory[]>();
  // Memories found by ended ones take the room first: without the ended ones nobody sees why they are shown.
  for (const { id } of [...more, ...found]) {
    const own = replaced
      .find(({ by }) => by.id === id)
      ?.ended.slice(0, Math.max(0, Math.min(MOST_ENDED, room)));
    room -= own?.length ?? 0;
    ended.set(id, own ?? []);
  }
  return namingShown([...found, ...more].flatMap((memory) => [memory, ...(ended.get(memory.id) ?? [])]));
}

/** Memories in force that were not found, and whose replaced ones fit the text best. */
function foundByEnded(text: string, found: readonly Memory[], replaced: readonly EndedMemories[]): Memory[] {
  const known = new Set(found.map(({ id }) => id));
  const others = replaced.filter(({ by }) => !known.has(by.id));
  const fits = rankDocuments(
    text,
    others.map(({ ended }) => ended.map(({ subject, statement }) => `${subject} ${statement}`).join("\n")),
  );
  return fits.slice(0, MOST_MORE).flatMap(({ index }) => others[index]?.by ?? []);
}

/** Each names, of the memories that contradict or repeat it, only those that are shown. */
function namingShown(shown: readonly Memory[]): Memory[] {
  const ids = shown.map(({ id }) => id);
  return shown.map((memory) => namingOnly(memory, ids));
}

/** The text to search for: it includes the asker's name, if they ask about themselves. */
export function wordsOf({ text, self = null }: Pick<MemoryRecallQuery, "text" | "self">): string {
  return self === null ? text : `${text}\n${self}`;
}

/**
 * The first memories, each followed by contradicting ones, if they were found. Pure.
 * @returns at most `limit`, which name only each other
 */
export function besideDissent(ranked: readonly Memory[], limit: number): Memory[] {
  const byId = new Map(ranked.map((memory) => [memory.id, memory]));
  const shown = new Set<Memory>();
  for (const memory of ranked) {
    shown.add(memory);
    for (const { id } of memory.otherwise ?? []) {
      const other = byId.get(id);
      if (other !== undefined) shown.add(other);
    }
    if (shown.size >= limit) break;
  }
  return namingShown([...shown].slice(0, limit));
}

/** Adds the hits of definitions, which count by the definitions' words alone. */
export function withExplained(found: readonly MemoryHit[], more: readonly MemoryHit[]): MemoryHit[] {
  const known = new Set(found.map(({ memory }) => memory.id));
  return [
    ...found,
    ...more.filter(({ memory }) => !known.has(memory.id)).map((hit) => ({ ...hit, words: 0, pieces: 0 })),
  ];
}

function newest(asked: string): string {
  return newestWords(asked, MAX_QUERY);
}

/**
 * Memories, best first: by their fit, times small boosts for new, repeated and important ones. Of equals, the newer one. What tools have
 * found comes last. Pure.
 * @param found the database's hits: a word that all of them have does not count
 * @param definitions of terms in the query: their best fit counts as half of the query's best fit
 */
export function rankMemories(
  query: string,
  found: readonly MemoryHit[],
  now: Date,
  definitions: readonly string[] = [],
): Memory[] {
  const documents = found.map(({ memory }) => `${memory.subject} ${memory.assertedBy} ${memory.statement}`);
  const scoresOf = (words: string): ReadonlyMap<number, number> =>
    new Map(rankDocuments(words, documents).map(({ index, score }) => [index, score]));
  const scores = scoresOf(query);
  const fits = found.map(({ words, pieces }, index) => (scores.get(index) ?? 0) + words + pieces);
  const explained = definitions.length === 0 ? new Map<number, number>() : scoresOf(definitions.join(" "));
  const best = Math.max(0, ...explained.values());
  const share = best === 0 ? 0 : (EXPLAINED * Math.max(0, ...fits)) / best;
  const asksTime = ASKS_TIME.test(query);
  return found
    .map(({ memory, time }, index) => {
      const fit = (fits[index] ?? 0) + share * (explained.get(index) ?? 0);
      const isTime = asksTime && memory.refers !== undefined;
      const score = isTime ? TELLS_TIME * fit : fit * (1 + time) + ASKED_TIME * time;
      return { memory, score: score * boost(memory, now) };
    })
    .toSorted(
      (a, b) =>
        seenByToolsLast(a.memory, b.memory) ||
        b.score - a.score ||
        b.memory.at.getTime() - a.memory.at.getTime(),
    )
    .map(({ memory }) => memory);
}

/** Orders what people have said before what tools have found. */
function seenByToolsLast(a: Pick<Memory, "tool">, b: Pick<Memory, "tool">): number {
  return Number(a.tool !== undefined) - Number(b.tool !== undefined);
}

/** From 1 to 1.5. */
function boost({ at, proofs, importance }: Memory, now: Date): number {
  const days = Math.max(0, now.getTime() - at.getTime()) / DAY_MS;
  const recency = 2 ** (-days / HALF_LIFE_DAYS);
  const proof = 1 - 1 / Math.max(1, proofs);
  return 1 + RECENCY_BOOST * recency + PROOF_BOOST * proof + IMPORTANCE_BOOST * importance;
}
