import type { EntryReference } from "../../core/entry.ts";
import type { ChannelId, Seq } from "../../core/ids.ts";
import { firstSaid, readSaid } from "../log/entry-rows.ts";
import { type MemoryHit, type MemoryQuery, REMEMBERED, toHit } from "../memory/memories.ts";
import { askedBy, type AskingChannel } from "../memory/memory-scope.ts";
import { type ScoredMemory } from "../memory/memory-rows.ts";
import {
  type FoundPeople,
  foundPeople,
  NO_PEOPLE,
  peopleValues,
  type RawPeople,
  readPeople,
} from "../memory/people.ts";
import { type LineColumns, readLines } from "./found-lines.ts";
import { Lexemes } from "./lexemes.ts";
import type { Database } from "../database/database.ts";
import { steadyNow } from "../../async/clock.ts";

export interface SearchQuery {
  /** A query in the syntax of tsquery that finds by the index; "": by no words. */
  readonly pick: string;
  /** All lexemes that rank, those that pick among them. */
  readonly terms: readonly string[];
  /** Identifiers, looked for letter by letter where each of their parts stands whole. */
  readonly literals: readonly string[];
  readonly from: Seq;
  readonly to: Seq;
  /** Most entries that are found by an identifier; of the others, five times as many are brought, and 300 at least. */
  readonly limit: number;
}

export interface FoundLines {
  /** Lines that hold a picking term, and two on each side of them. */
  readonly lines: LineColumns;
  /** Entries with an identifier, the newest first. */
  readonly literals: readonly Seq[];
}

/** Entries of the whole table from which on, and up to which, its statistics are seen to here; then the server does. */
const FEW_ENTRIES = 200;
const MANY_ENTRIES = 20_000;

/**
 * Delay from an erasure to the renewal of the statistics, ms, and the rest between two renewals, as a multiple of their
 * duration. They are of all channels together.
 */
const ERASED_AFTER_MS = 1000;
const ERASED_REST = 20;

export class SearchStore {
  readonly #db: Database;
  readonly #lexemes: Lexemes;
  /** Entries that the planner's statistics are of, as far as that is known, and those that came after. */
  #analysed: number | null = null;
  #sinceAnalysis = 0;
  #statistics = 0;
  /** The last erasure after which the statistics were renewed; null: not read yet. */
  #forgottenTo: Date | null = null;
  #restsUntil = 0;

  constructor(db: Database) {
    this.#db = db;
    this.#lexemes = new Lexemes(db.lookUps());
  }

  /**
   * Brings the indexes of channels up to their logs, in one transaction. {@link settle} it afterwards.
   * @returns how many entries were taken, by channel; less than `limit` means that its index is up to date
   */
  async indexAll(channels: readonly ChannelId[], limit: number): Promise<ReadonlyMap<ChannelId, number>> {
    const rows = await this.#db.query<{ channel: ChannelId; taken: number }>(
      "index_channels",
      "select channel_id as channel, taken from index_channels($1, $2)",
      [channels, limit],
    );
    for (const { taken } of rows) this.#sinceAnalysis += taken;
    return new Map(rows.map(({ channel, taken }) => [channel, taken]));
  }

  /** Merges what was indexed, so that searches stay fast, and renews the statistics of a table that has grown. */
  async settle(): Promise<void> {
    await this.#db.query("index_merge", "select gin_clean_pending_list('entry_search_words')");
    if (this.#sinceAnalysis >= FEW_ENTRIES) await this.#analyseGrown();
  }

  /** Channels with rows that are to be indexed again, because a migration has changed what the index holds. */
  async outdated(): Promise<ChannelId[]> {
    const rows = await this.#db.query<{ id: ChannelId }>(
      "index_outdated",
      "select channel_id as id from search_progress where outdated_to > 0 order by channel_id",
    );
    return rows.map(({ id }) => id);
  }

  /**
   * Indexes at most `limit` of such rows of a channel again, the newest first.
   * @returns false: none is left
   */
  async renew(channel: ChannelId, limit: number): Promise<boolean> {
    const [row] = await this.#db.query<{ left: number }>(
      "index_renew",
      'select renew_index($1, $2) as "left"',
      [channel, limit],
    );
    return (row?.left ?? 0) > 0;
  }

  /** Changes where {@link frequencies} have changed so much that they should be read again. */
  get statistics(): number {
    return this.#statistics;
  }

  /**
   * The server looks once a minute whether a table wants new statistics. A new channel is asked much before that, and
   * without them a recall picks its candidates by common words: so a small table is analysed whenever it has doubled.
   */
  async #analyseGrown(): Promise<void> {
    this.#analysed ??= await this.#knownEntries();
    if (this.#analysed > MANY_ENTRIES || this.#sinceAnalysis < this.#analysed) return;
    await this.#analyse();
  }

  /**
   * Renews the statistics after an erasure or an expiry: they may hold words of the erased text.
   * @returns when to look again, ms from now; null: nothing was erased since
   */
  async forgetErased(): Promise<number | null> {
    const erased = await this.#lastErasure();
    if (erased === null || (this.#forgottenTo !== null && erased <= this.#forgottenTo)) return null;
    const restMs = this.#restsUntil - steadyNow();
    if (restMs > 0) return restMs;
    const begun = steadyNow();
    await this.#analyse();
    this.#restsUntil = steadyNow() + Math.max(ERASED_AFTER_MS, (steadyNow() - begun) * ERASED_REST);
    this.#forgottenTo = erased;
    return null;
  }

  async #analyse(): Promise<void> {
    await this.#db.query("", "analyze entry_search (tsv)");
    this.#sinceAnalysis = 0;
    this.#analysed = await this.#knownEntries();
    this.#statistics++;
  }

  /** Null: no erasure, or the server has renewed the statistics since. */
  async #lastErasure(): Promise<Date | null> {
    const [row] = await this.#db.query<{ at: Date | null }>(
      "index_erased",
      // Whatever was erased while they were made may still be in them.
      `with made as materialized (
         select coalesce((select greatest(s.last_analyze, s.last_autoanalyze) - interval '10 minutes'
                            from pg_stat_user_tables s where s.relid = 'entry_search'::regclass), '-infinity') as at)
       select greatest((select max(p.erased_at) from search_progress p where p.erased_at > made.at),
                       (select max(p.expired_at) from search_progress p where p.expired_at > made.at)) as at
         from made`,
    );
    return row?.at ?? null;
  }

  async #knownEntries(): Promise<number> {
    const [row] = await this.#db.query<{ known: number }>(
      "index_known",
      "select greatest(reltuples, 0)::float8 as known from pg_class where oid = 'entry_search'::regclass",
    );
    return row?.known ?? 0;
  }

  /** False: the database's character type (C) knows no letters but ASCII, so trigrams find nothing in other scripts. */
  async knowsAllScripts(): Promise<boolean> {
    const [row] = await this.#db.query<{ knows: boolean }>(
      "search_scripts",
      "select cardinality(show_trgm('\u5bff\u53f8')) > 0 as knows",
    );
    return row?.knows ?? false;
  }

  async behind(): Promise<ChannelId[]> {
    const rows = await this.#db.query<{ id: ChannelId }>(
      "index_behind",
      `select c.id from channels c left join search_progress p on p.channel_id = c.id
        where c.last_seq > coalesce(p.indexed_to, 0)`,
    );
    return rows.map(({ id }) => id);
  }

  /** A text's lexemes, as the index knows them (stemmed, without stop words). */
  async lexemes(text: string): Promise<string[]> {
    return this.#lexemes.of(text);
  }

  /** Share of the indexed entries that hold a lexeme, for the common ones; by the planner's statistics. */
  async frequencies(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#db.lookUps().query<{ lexeme: string; frequency: number }>(
      "search_frequencies",
      `select e.lexeme, f.frequency
         from pg_stats s,
              unnest(s.most_common_elems::text::text[]) with ordinality e (lexeme, place)
              join unnest(s.most_common_elem_freqs) with ordinality f (frequency, place) using (place)
        where s.schemaname = current_schema() and s.tablename = 'entry_search' and s.attname = 'tsv'`,
    );
    return new Map(rows.map((row) => [row.lexeme, row.frequency]));
  }

  /**
   * What ranks the lines of a channel that may fit a query. Its result is not ordered by how well they do.
   * @param signal ends the look-up
   */
  async find(channel: ChannelId, query: SearchQuery, signal?: AbortSignal): Promise<FoundLines> {
    const [row] = await this.#db
      .lookUps(signal)
      .query<RawLines>("search_lines", `select lines, literals from ${linesBy(1, 2)}`, [
        channel,
        ...findValues(query),
      ]);
    return toLines(row);
  }

  /** The same, and memories by their words, in one round trip; with those of people, if names are looked for. */
  async findWithMemories(
    asker: AskingChannel,
    query: SearchQuery,
    memories: MemoryQuery,
    signal?: AbortSignal,
  ): Promise<{ found: FoundLines; memories: MemoryHit[]; about: FoundPeople }> {
    const { words, limit, people = NO_PEOPLE } = memories;
    const values = [...askedBy(asker), words, limit, ...findValues(query)];
    const isNamed = people.words.length > 0;
    const [row] = await this.#db
      .lookUps(signal)
      .query<RawLines & { remembered: ScoredMemory[]; about?: RawPeople }>(
        isNamed ? "search_lines_all" : "search_lines_both",
        isNamed ? LINES_WITH_PEOPLE : LINES_WITH_MEMORIES,
        isNamed ? [...values, ...peopleValues(people)] : values,
      );
    return {
      found: toLines(row),
      memories: (row?.remembered ?? []).map(toHit),
      about: readPeople(row?.about),
    };
  }

  /**
   * The texts at some seqs of a channel, in their order, up to the limit of one look-up; without deleted ones, and without
   * the stand-in's, which repeat others.
   * @param signal ends the look-up
   */
  async said(channel: ChannelId, seqs: readonly Seq[], signal?: AbortSignal): Promise<EntryReference[]> {
    if (seqs.length === 0) return [];
    const rows = await readSaid(this.#db.lookUps(signal), {
      name: "search_said",
      seqs: "$2::bigint[]",
      values: [channel, seqs],
    });
    return firstSaid(rows.filter(({ standIn }) => !standIn));
  }
}

interface RawLines {
  readonly lines: string | null;
  readonly literals: readonly (number | string)[] | null;
}

function toLines(row: RawLines | undefined): FoundLines {
  return { lines: readLines(row?.lines ?? null), literals: (row?.literals ?? []).map(Number) };
}

/** @param channel, first numbers of parameters: of the channel, and of the first of {@link findValues} */
function linesBy(channel: number, first: number): string {
  const values = Array.from({ length: 7 }, (_, index) => `$${first + index}`);
  return `find_lines($${channel}, ${values.join(", ")})`;
}

const LINES_AND_MEMORIES = `select f.lines, f.literals, ${REMEMBERED}`;
const LINES_WITH_MEMORIES = `${LINES_AND_MEMORIES} from ${linesBy(2, 7)} f`;
const LINES_WITH_PEOPLE = `${LINES_AND_MEMORIES}, ${foundPeople(14)} as about from ${linesBy(2, 7)} f`;

function findValues({ pick, terms, literals, from, to, limit }: SearchQuery): unknown[] {
  return [pick, terms, literals, literals.map(patternOf), from, to, limit];
}

/** For `ilike`: the text anywhere. */
function patternOf(literal: string): string {
  return `%${literal.replaceAll(/[\\%_]/g, "\\$&")}%`;
}
