import type { Entry, EntryReference } from "../core/entry.ts";
import type { ChannelId, Seq } from "../core/ids.ts";
import { sliceWhole } from "../core/text.ts";
import type { LogStore } from "../store/log.ts";
import type { SearchStore } from "../store/search.ts";
import { chooseTerms, findPieces, fuseRanks, orQuery, type Pieces } from "./terms.ts";

/** Longest query that is looked at, in UTF-16 units. */
const MAX_QUERY = 2000;
/** How long the frequencies of lexemes are good for, ms; they cost 25 ms to load. */
const FREQUENCIES_FOR_MS = 10 * 60_000;

const FIRST: Seq = 1;

export interface RecallQuery {
  readonly channel: ChannelId;
  readonly text: string;
  /** Only entries from here (default: the first)… */
  readonly from?: Seq;
  /** …up to here. */
  readonly to: Seq;
  readonly limit: number;
  /** How many entries before and after a hit come along. */
  readonly neighbours: number;
}

/**
 * Finds earlier entries of one channel. Never another channel's: leaving the filter out would find 3 % more, and
 * show what was said in private.
 */
export class Recall {
  readonly #log: LogStore;
  readonly #search: SearchStore;
  readonly #now: () => number;
  #frequencies: Promise<ReadonlyMap<string, number>> | undefined;
  #frequenciesAt = 0;

  constructor(parts: { log: LogStore; search: SearchStore; now: () => number }) {
    this.#log = parts.log;
    this.#search = parts.search;
    this.#now = parts.now;
  }

  /** @returns hits with their neighbours, in the order of the log; empty where nothing fits */
  async find(query: RecallQuery): Promise<EntryReference[]> {
    if (query.to < (query.from ?? FIRST) || query.text.trim() === "") return [];
    // The newest words are what is asked.
    const text = sliceWhole(query.text, Math.max(0, query.text.length - MAX_QUERY), query.text.length);
    const pieces = findPieces(text);
    const lists = await Promise.all([
      this.#byWords(query, text),
      this.#byLiterals(query, pieces),
      this.#byPieces(query, pieces),
    ]);
    const hits = fuseRanks(lists).slice(0, query.limit);
    if (hits.length === 0) return [];
    const seqs = new Set<Seq>();
    for (const hit of hits) {
      for (let seq = hit - query.neighbours; seq <= hit + query.neighbours; seq++) {
        if (seq >= (query.from ?? FIRST) && seq <= query.to) seqs.add(seq);
      }
    }
    const entries = await this.#log.readAt(query.channel, [...seqs]);
    return entries.flatMap((entry) => toReference(entry) ?? []);
  }

  async #byWords(query: RecallQuery, text: string): Promise<Seq[]> {
    const [lexemes, frequencies] = await Promise.all([this.#search.lexemes(text), this.#loadFrequencies()]);
    if (lexemes.length === 0) return [];
    const terms = chooseTerms(lexemes, frequencies, query.to);
    const hits = await this.#search.byWords(query.channel, {
      pick: orQuery(terms.pick),
      terms: orQuery(terms.rank),
      from: query.from ?? FIRST,
      to: query.to,
      limit: query.limit,
    });
    return hits.map(({ seq }) => seq);
  }

  async #byLiterals(query: RecallQuery, { literals }: Pieces): Promise<Seq[]> {
    if (literals.length === 0) return [];
    const { channel, to, limit } = query;
    const hits = await this.#search.byLiterals(channel, { literals, to, limit });
    return hits.map(({ seq }) => seq);
  }

  async #byPieces(query: RecallQuery, { unspaced }: Pieces): Promise<Seq[]> {
    if (unspaced === "") return [];
    const { channel, to, limit } = query;
    const hits = await this.#search.byPieces(channel, { text: unspaced, to, limit });
    return hits.map(({ seq }) => seq);
  }

  async #loadFrequencies(): Promise<ReadonlyMap<string, number>> {
    if (this.#frequencies === undefined || this.#now() - this.#frequenciesAt > FREQUENCIES_FOR_MS) {
      this.#frequenciesAt = this.#now();
      this.#frequencies = this.#search.frequencies();
      // A failed load is not kept.
      this.#frequencies.catch(() => (this.#frequencies = undefined));
    }
    return this.#frequencies;
  }
}

/** An entry as a quotation; null for what is no one's words. */
function toReference(entry: Entry): EntryReference | null {
  if (entry.deleted || entry.kind === "notice" || entry.kind === "tool_call" || entry.kind === "tool_result")
    return null;
  const author = entry.kind === "user" ? entry.author.name : "you";
  return { seq: entry.seq, at: entry.at, author, text: entry.text };
}
