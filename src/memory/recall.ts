/**
 * Recall and the gates of memory: finds earlier entries and memories for a turn, and checks what a model wants kept. It uses
 * the store's search, vector and memory stores and an embedding model; it knows neither platforms nor turns.
 */

import type { EntryReference, RecallArms } from "../core/entry.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import type { Memory } from "../core/memory.ts";
import { newestWords } from "../text/text.ts";
import { readLines } from "../store/search/found-lines.ts";
import type { FoundLines, SearchQuery, SearchStore } from "../store/search/search.ts";
import type { MemoryHit, MemoryQuery } from "../store/memory/memories.ts";
import { type FoundPeople, NO_PEOPLE, NOBODY, type PeopleWords } from "../store/memory/people.ts";
import { type Explanation, explanationsOf } from "./explained-terms.ts";
import { joinByPlace, joinWithLesser } from "./join-by-place.ts";
import type { FoundByMeaning, Meaning } from "./meaning.ts";
import { shownBeside } from "./meaning-worth.ts";
import { asksOfSelf } from "./own-words.ts";
import { mostOnPages, pagesOf, type PeopleAsked, peopleAsked, withPages } from "./people.ts";
import {
  type MemoriesWithPeople,
  type MemoryRecallQuery,
  NO_WORDS,
  type RecallMemories,
  withExplained,
  wordsOf,
} from "./recall-memories.ts";
import { asksForRecall, type Floor, isQuestion, TELLS_MORE } from "./recall-worth.ts";
import { type ExplainingTerms, rankLines, type RankingQuery } from "./rank-lines.ts";
import {
  CANDIDATES,
  chooseTerms,
  findPieces,
  orQuery,
  pairLexemes,
  pickQuery,
  saidQuery,
  tellingLiterals,
} from "./terms.ts";

/** Longest query that is looked at, in UTF-16 units. */
export const MAX_QUERY = 2000;
/** How long the frequencies of lexemes are valid, ms; they cost 25 ms to load. */
const FREQUENCIES_FOR_MS = 10 * 60_000;
/** The same while there are no statistics: the server makes them about a minute after the first entries. */
const NO_FREQUENCIES_FOR_MS = 20_000;

/** Entries that the picking terms may bring together, for each line that is wanted; the index returns as many (`find_lines`). */
const CANDIDATES_PER_LINE = 5;

const FIRST: Seq = 1;

export interface RecallQuery {
  readonly channel: ChannelId;
  readonly text: string;
  /** Only entries from here (default: the first)… */
  readonly from?: Seq;
  /** …up to here. */
  readonly to: Seq;
  readonly limit: number;
  /** Longest list of {@link Recall.rank}; default: `limit`. */
  readonly depth?: number;
  /** Names, one of which stands in each line that is ranked for its own words; default: any line is. */
  readonly naming?: readonly string[];
  /** Names of the people whose text it is; default: unknown. */
  readonly askers?: readonly string[];
  /** The text that is replied to: its words count as well, at most half of the text's own. Default: not a reply. */
  readonly repliesTo?: Promise<string>;
  /** Least share of the question in a line (see `RankedLine`); default: 0. */
  readonly leastCoverage?: number;
  /** Below it nothing is found, unless an identifier matches; default: none. */
  readonly floor?: Floor;
  /** Ends the look-up, which then rejects. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Finds earlier entries of one channel. Never another channel's: without the filter, 3 % more would be found, and private
 * messages would be shown.
 */
export class Recall {
  readonly #search: SearchStore;
  readonly #meaning: Meaning | null;
  readonly #now: () => number;
  #frequencies: ReadonlyMap<string, number> = new Map();
  #frequenciesAt = -Infinity;
  #frequenciesOf = 0;
  #loading: Promise<void> | undefined;

  /** @param parts.meaning null, the default: only words are looked for */
  constructor(parts: { search: SearchStore; now: () => number; meaning?: Meaning | null }) {
    this.#search = parts.search;
    this.#meaning = parts.meaning ?? null;
    this.#now = parts.now;
  }

  /**
   * @param explaining memories that may explain the askers' words; default: none
   * @returns the best first; empty if nothing fits
   */
  async find(query: RecallQuery, explaining?: Explaining): Promise<EntryReference[]> {
    return this.#search.said(query.channel, await this.rank(query, explaining), query.signal);
  }

  /** The same, as seqs. */
  async rank(query: RecallQuery, explaining?: Explaining): Promise<readonly Seq[]> {
    const { depth = query.limit } = query;
    const near = this.#near({ ...query, limit: depth }, null);
    const search = await this.#toSearch(query);
    const seqs = search === null ? [] : (await this.#lookUp(query, search, explaining)).seqs;
    return joined(seqs, await near, { ...query, limit: depth });
  }

  /**
   * Entries and memories for a turn, if its text asks for any. By words this is mostly one query; named days and explained
   * words take more. The search by meaning runs at the same time.
   * @returns `arms`: left out if only words were searched
   */
  async findWithMemories(
    query: Omit<RecallQuery, "channel">,
    memories: RecallMemories,
    asked: MemoryRecallQuery,
  ): Promise<{ entries: EntryReference[]; memories: Memory[]; arms?: RecallArms }> {
    if (!(await this.#asksForRecall(query.text))) return { entries: [], memories: [] };
    const inChannel = { ...query, channel: asked.channel };
    const near = this.#near(inChannel, asked);
    const search = await this.#toSearch(query);
    const people = peopleAsked(asked.text, asked.names ?? []);
    const wider = withRoomForPages(asked, people);
    let found = NOTHING_FOUND;
    let remembered: readonly Memory[];
    if (search === null) {
      const alone = await memories.byWords(wider, isQuestion(asked.text), people);
      found = { ...found, about: alone.about };
      remembered = alone.memories;
    } else {
      found = await this.#lookUp(inChannel, search, { memories, asked, people });
      remembered = memories.best(wider, found.memories, found.definitions);
    }
    const close = await near;
    const entries = await this.#search.said(asked.channel, joined(found.seqs, close, query), query.signal);
    return {
      entries,
      memories: await withPagesAndEnded(
        { memories, asked, people },
        { memories: memories.joined(remembered, close, wider.limit, "turn"), about: found.about },
      ),
      ...(close !== null && {
        arms: armsOf({ entries: found.seqs, memories: remembered.slice(0, asked.limit) }, close),
      }),
    };
  }

  /** Memories alone, if the text asks for any. @returns best first, then those that stand on pages alone */
  async findMemories(memories: RecallMemories, asked: MemoryRecallQuery): Promise<Memory[]> {
    if (!(await this.#asksForRecall(asked.text))) return [];
    const people = peopleAsked(asked.text, asked.names ?? []);
    const wider = withRoomForPages(asked, people);
    const found = await memories.findWithPeople(wider, isQuestion(asked.text), people, "turn");
    return withPagesAndEnded({ memories, asked, people }, found);
  }

  /** Starts the search by meaning, beside that by words. For a text without a question, entries are searched by words alone. */
  async #near(
    { channel, text, from = FIRST, to, limit, leastCoverage = 0, signal }: RecallQuery,
    memories: MemoryRecallQuery | null,
  ): Promise<FoundByMeaning | null> {
    if (this.#meaning === null) return null;
    const entries = leastCoverage > 0 || to < from ? null : { channel, from, to, limit };
    if (entries === null && memories === null) return null;
    return this.#meaning.find({ text: newest(text), entries, memories, signal });
  }

  /** Searches by words. The words of definitions take a second search, only where the text has a defined term. */
  async #lookUp(query: RecallQuery, search: Search, explaining?: Explaining): Promise<LookedUp> {
    const { channel, signal } = query;
    if (explaining === undefined) {
      const lines = await this.#search.find(channel, search.query, signal);
      return { ...NOTHING_FOUND, seqs: search.best(lines, []) };
    }
    const { memories, asked } = explaining;
    const both = await this.#both(
      search.query,
      explaining,
      await memories.toSearch(wordsOf(asked), isQuestion(asked.text)),
    );
    const explanations = [
      ...explanationsOf(newest(query.text), both.memories, asked.askers),
      ...repliedTo(query.text, (await query.repliesTo) ?? ""),
    ];
    if (explanations.length === 0) return { ...NOTHING_FOUND, ...both, seqs: search.best(both.found, []) };
    const explained = await this.#explaining(explanations, search.query.terms, query.to);
    const terms = explained.flatMap((one) => one.terms.map(({ lexeme }) => lexeme));
    const { pick } = chooseTerms(terms, await this.#loadFrequencies(), query.to);
    const more = await this.#both(
      { ...search.query, pick: saidQuery(pick), terms: [...search.query.terms, ...terms], literals: [] },
      { memories, asked },
      { words: orQuery(terms), pieces: [], times: [], limit: CANDIDATES },
    );
    const lines = readLines(both.found.lines.told, more.found.lines.told);
    return {
      seqs: search.best({ ...both.found, lines }, explained),
      memories: withExplained(both.memories, more.memories),
      definitions: explanations.map(({ definition }) => definition),
      about: both.about,
    };
  }

  /** One look-up, if memories are looked for by words alone. @param words null: there is nothing to look for */
  async #both(
    search: SearchQuery,
    { memories, asked, people = NO_PEOPLE }: Explaining,
    words: MemoryQuery | null,
  ): Promise<{ found: FoundLines; memories: readonly MemoryHit[]; about: FoundPeople }> {
    const { channel, signal } = asked;
    if (words !== null && words.pieces.length === 0 && words.times.length === 0)
      return this.#search.findWithMemories(asked, search, { ...words, people }, signal);
    const found = await this.#search.find(channel, search, signal);
    if (words === null && people.words.length === 0) return { found, memories: [], about: NOBODY };
    const { hits, about } = await memories.searchWithPeople(asked, words ?? NO_WORDS, people);
    return { found, memories: hits, about };
  }

  /** The lexemes of definitions that the question does not have, each once. */
  async #explaining(
    explanations: readonly Explanation[],
    asked: readonly string[],
    size: number,
  ): Promise<ExplainingTerms[]> {
    const frequencies = await this.#loadFrequencies();
    const known = new Set(asked);
    const explained: ExplainingTerms[] = [];
    for (const { term, definition, share } of explanations) {
      const [of, words] = await Promise.all([this.#lexemesOf(term), this.#lexemesOf(definition)]);
      const fresh = words.filter((lexeme) => !known.has(lexeme));
      for (const lexeme of fresh) known.add(lexeme);
      const terms = chooseTerms(fresh, frequencies, size).rank.map((one) => ({ ...one, isCounted: false }));
      explained.push({ of, terms, share });
    }
    return explained;
  }

  async #lexemesOf(text: string): Promise<string[]> {
    return [...(await this.#search.lexemes(text)), ...pairLexemes(findPieces(text).unspaced)];
  }

  async #asksForRecall(query: string): Promise<boolean> {
    const text = newest(query);
    const [lexemes, frequencies] = await Promise.all([this.#search.lexemes(text), this.#loadFrequencies()]);
    return asksForRecall(text, lexemes, frequencies);
  }

  /** Null: there is nothing to look for. */
  async #toSearch(query: Omit<RecallQuery, "channel">): Promise<Search | null> {
    const { from = FIRST, to, limit, depth = limit, leastCoverage = 0, floor } = query;
    if (to < from || query.text.trim() === "") return null;
    const text = newest(query.text);
    const [lexemes, frequencies] = await Promise.all([this.#search.lexemes(text), this.#loadFrequencies()]);
    const pieces = findPieces(text);
    const candidates = Math.max(CANDIDATES, CANDIDATES_PER_LINE * limit);
    const asked = [...lexemes, ...pairLexemes(pieces.unspaced)];
    const { pick, pairs, rank } = chooseTerms(asked, frequencies, to, candidates);
    // A line must hold much of a text that asks little: the rarest terms find it.
    const together = leastCoverage > TELLS_MORE ? [] : pairs;
    const literals = tellingLiterals(pieces.literals, frequencies, to);
    if (pick.length === 0 && literals.length === 0) return null;
    const terms = rank.map((term) => {
      return { ...term, isCounted: pick.includes(term.lexeme) && term.expected <= CANDIDATES };
    });
    const self = asksOfSelf(text, query.askers ?? []);
    const ranking: RankingQuery = { question: text, terms, size: to, now: this.#now(), self };
    const picked = await this.#naming(query.naming ?? [], pickQuery({ pick, pairs: together }));
    return {
      query: { pick: picked, terms: rank.map(({ lexeme }) => lexeme), literals, from, to, limit: depth },
      best({ lines, literals: exact }, explained) {
        const ranked = rankLines({ ...ranking, explained }, lines);
        const isUnderFloor =
          floor !== undefined &&
          ranked.fit < floor.fit &&
          ranked.coverage.every((share) => share < floor.coverage);
        if (isUnderFloor && exact.length === 0) return [];
        const fitting = ranked.seqs.filter((_, place) => (ranked.coverage[place] ?? 0) >= leastCoverage);
        // An identifier that is there letter by letter has no score.
        const best = exact.length === 0 ? fitting : joinByPlace([fitting, exact]);
        return best.slice(0, depth);
      },
    };
  }

  /** A picking query, for lines with one of these names alone: the index has the author's name among a line's words. */
  async #naming(names: readonly string[], pick: string): Promise<string> {
    if (names.length === 0 || pick === "") return pick;
    const words = await Promise.all(names.map(async (name) => this.#lexemesOf(name)));
    // The index has no acronyms of names.
    const named = words.map((lexemes) => lexemes.filter((lexeme) => !lexeme.startsWith("=")));
    // A name without a word that the index knows stands in any line.
    if (named.some((lexemes) => lexemes.length === 0)) return pick;
    const queries = named.map((lexemes) => lexemes.map((lexeme) => saidQuery([lexeme])).join(" & "));
    return `(${pick}) & (${queries.join(" | ")})`;
  }

  /** Only the first load is awaited: later, the known values serve until the new ones are read. */
  async #loadFrequencies(): Promise<ReadonlyMap<string, number>> {
    const forMs = this.#frequencies.size === 0 ? NO_FREQUENCIES_FOR_MS : FREQUENCIES_FOR_MS;
    const isOld =
      this.#now() - this.#frequenciesAt > forMs || this.#frequenciesOf !== this.#search.statistics;
    if (this.#loading === undefined && isOld) {
      this.#loading = this.#readFrequencies();
      // Avoids an unhandled rejection; only the first load is awaited.
      this.#loading.catch(() => undefined);
    }
    if (this.#frequenciesAt === -Infinity) await this.#loading;
    return this.#frequencies;
  }

  async #readFrequencies(): Promise<void> {
    try {
      this.#frequenciesOf = this.#search.statistics;
      this.#frequencies = await this.#search.frequencies();
      this.#frequenciesAt = this.#now();
    } finally {
      this.#loading = undefined;
    }
  }
}

interface Search {
  readonly query: SearchQuery;
  /**
   * The best of the found lines, best first.
   * @param explained terms that definitions add to the query
   */
  best(found: FoundLines, explained: readonly ExplainingTerms[]): Seq[];
}

/** The asker whose words are searched, and the memories that may explain them. */
export interface Explaining {
  readonly memories: RecallMemories;
  readonly asked: MemoryRecallQuery;
  /** People whose pages are asked for; default: nobody. */
  readonly people?: PeopleWords;
}

interface LookedUp {
  /** The best first. */
  readonly seqs: readonly Seq[];
  readonly memories: readonly MemoryHit[];
  /** Of terms in the query. */
  readonly definitions: readonly string[];
  readonly about: FoundPeople;
}

const NOTHING_FOUND: LookedUp = { seqs: [], memories: [], definitions: [], about: NOBODY };

/** What stands on a page takes no other memory's place. */
function withRoomForPages(asked: MemoryRecallQuery, people: PeopleAsked): MemoryRecallQuery {
  return { ...asked, limit: asked.limit + mostOnPages(people) };
}

/** Adds the pages of people to memories that were recalled, and what was so before. */
async function withPagesAndEnded(
  { memories, asked, people }: Explaining & { readonly people: PeopleAsked },
  found: MemoriesWithPeople,
): Promise<Memory[]> {
  const shown = withPages(found.memories, pagesOf(people, found.about), asked.limit);
  return memories.withEnded(asked, shown);
}

/** The words of a message explain the answers to it, as a definition explains its term. */
function repliedTo(text: string, said: string): Explanation[] {
  return said.trim() === "" ? [] : [{ term: newest(text), definition: said, share: 1 }];
}

/** Where words must find enough (`floor`) and do not, only what is certainly near is shown. @param near null: not looked for */
function joined(
  byWords: readonly Seq[],
  near: FoundByMeaning | null,
  { floor, limit }: Pick<RecallQuery, "floor" | "limit">,
): readonly Seq[] {
  if (near === null) return byWords;
  const shown = shownBeside(byWords, near.entries, floor !== undefined);
  return joinWithLesser(byWords, shown, near.weight).slice(0, limit);
}

function armsOf(
  byWords: { readonly entries: readonly Seq[]; readonly memories: readonly Memory[] },
  byMeaning: FoundByMeaning,
): RecallArms {
  const ids = (of: typeof byWords): RecallArms["words"] => {
    return { entries: of.entries, memories: of.memories.map(({ id }) => id) };
  };
  const { entries, memories } = byMeaning;
  return { words: ids(byWords), meaning: ids({ entries: entries.all, memories: memories.all }) };
}

function newest(query: string): string {
  return newestWords(query, MAX_QUERY);
}
