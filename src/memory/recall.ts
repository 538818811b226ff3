import type { EntryReference } from "../core/entry.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import type { Memory } from "../core/memory.ts";
import { sliceWhole, storableText } from "../text/text.ts";
import type { FoundLines, SearchQuery, SearchStore } from "../store/search/search.ts";
import type { MemoryRecallQuery, RecallMemories } from "./recall-memories.ts";
import { asksForRecall, isQuestion } from "./recall-worth.ts";
import { type RankedLine, rankLines } from "./rank-lines.ts";
import { CANDIDATES, chooseTerms, findPieces, pairLexemes, saidQuery, tellingLiterals } from "./terms.ts";

/** Longest query that is looked at, in UTF-16 units. */
const MAX_QUERY = 2000;
/** How long the frequencies of lexemes are good for, ms; they cost 25 ms to load. */
const FREQUENCIES_FOR_MS = 10 * 60_000;
/** The same where there were none: the server takes its statistics about a minute after the first entries. */
const NO_FREQUENCIES_FOR_MS = 20_000;

const FIRST: Seq = 1;

export interface RecallQuery {
  readonly channel: ChannelId;
  readonly text: string;
  /** Only entries from here (default: the first)… */
  readonly from?: Seq;
  /** …up to here. */
  readonly to: Seq;
  readonly limit: number;
  /** Nothing that holds a smaller share of what is asked (see `RankedLine`); default: 0. */
  readonly leastCoverage?: number;
  /** Ends the look-up, which then rejects. */
  readonly signal?: AbortSignal | undefined;
}

/**
 * Finds earlier entries of one channel. Never another channel's: leaving the filter out would find 3 % more, and
 * show what was said in private.
 */
export class Recall {
  readonly #search: SearchStore;
  readonly #now: () => number;
  #frequencies: ReadonlyMap<string, number> = new Map();
  #frequenciesAt = -Infinity;
  #frequenciesOf = 0;
  #loading: Promise<void> | undefined;

  constructor(parts: { search: SearchStore; now: () => number }) {
    this.#search = parts.search;
    this.#now = parts.now;
  }

  /** @returns the best first; empty if nothing fits */
  async find(query: RecallQuery): Promise<EntryReference[]> {
    const search = await this.#toSearch(query);
    if (search === null) return [];
    const found = await this.#search.find(query.channel, search.query, query.signal);
    return this.#search.said(query.channel, search.best(found), query.signal);
  }

  /** Entries and memories for a turn, if its text asks for any: in one look-up where both are looked for by words. */
  async findWithMemories(
    query: Omit<RecallQuery, "channel">,
    memories: RecallMemories,
    asked: MemoryRecallQuery,
  ): Promise<{ entries: EntryReference[]; memories: Memory[] }> {
    if (!(await this.#asksForRecall(query.text))) return { entries: [], memories: [] };
    const [search, words] = await Promise.all([
      this.#toSearch(query),
      memories.toSearch(asked.text, isQuestion(asked.text)),
    ]);
    if (search === null || words === null || words.pieces.length > 0 || words.times.length > 0) {
      const entries = await this.find({ ...query, channel: asked.channel });
      return {
        entries,
        memories: words === null ? [] : memories.best(asked, await memories.search(asked, words)),
      };
    }
    const both = await this.#search.findWithMemories(asked, search.query, words, query.signal);
    const entries = await this.#search.said(asked.channel, search.best(both.found), query.signal);
    return { entries, memories: memories.best(asked, both.memories) };
  }

  async #asksForRecall(query: string): Promise<boolean> {
    const text = newest(query);
    const [lexemes, frequencies] = await Promise.all([this.#search.lexemes(text), this.#loadFrequencies()]);
    return asksForRecall(text, lexemes, frequencies);
  }

  /** Null: there is nothing to look for. */
  async #toSearch(query: Omit<RecallQuery, "channel">): Promise<Search | null> {
    const { from = FIRST, to, limit, leastCoverage = 0 } = query;
    if (to < from || query.text.trim() === "") return null;
    const text = newest(query.text);
    const [lexemes, frequencies] = await Promise.all([this.#search.lexemes(text), this.#loadFrequencies()]);
    const pieces = findPieces(text);
    const { pick, rank } = chooseTerms([...lexemes, ...pairLexemes(pieces.unspaced)], frequencies, to);
    const literals = tellingLiterals(pieces.literals, frequencies, to);
    if (pick.length === 0 && literals.length === 0) return null;
    const terms = rank.map((term) => {
      return { ...term, isCounted: pick.includes(term.lexeme) && term.expected <= CANDIDATES };
    });
    const ranking = { question: text, terms, size: to, now: this.#now() };
    return {
      query: { pick: saidQuery(pick), terms: rank.map(({ lexeme }) => lexeme), literals, from, to, limit },
      best: ({ lines, literals: exact }) =>
        bestOf(
          rankLines(ranking, lines).filter(({ coverage }) => coverage >= leastCoverage),
          exact,
        ).slice(0, limit),
    };
  }

  /** Only the first load is waited for: what is known is good enough while it is read again. */
  async #loadFrequencies(): Promise<ReadonlyMap<string, number>> {
    const forMs = this.#frequencies.size === 0 ? NO_FREQUENCIES_FOR_MS : FREQUENCIES_FOR_MS;
    const isOld =
      this.#now() - this.#frequenciesAt > forMs || this.#frequenciesOf !== this.#search.statistics;
    if (this.#loading === undefined && isOld) {
      this.#loading = this.#readFrequencies();
      // Whoever does not wait for it does not care.
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
  /** The best of what it has found, best first. */
  best(found: FoundLines): Seq[];
}

/** Joins the two lists by places, because an identifier that is there letter by letter has no score. */
function bestOf(ranked: readonly RankedLine[], exact: readonly Seq[]): Seq[] {
  if (exact.length === 0) return ranked.map(({ seq }) => seq);
  const scores = new Map<Seq, number>();
  for (const seqs of [ranked.map(({ seq }) => seq), exact])
    for (const [place, seq] of seqs.entries()) scores.set(seq, (scores.get(seq) ?? 0) + 1 / (60 + place));
  return [...scores].toSorted(([a, one], [b, other]) => other - one || b - a).map(([seq]) => seq);
}

/** The newest words are what is asked. */
function newest(query: string): string {
  const whole = storableText(query);
  return sliceWhole(whole, Math.max(0, whole.length - MAX_QUERY), whole.length);
}
