import { type ChannelId, type Seq, channelId } from "../core/ids.ts";
import type { Database } from "./pool.ts";

/** A found entry. */
export interface SearchHit {
  readonly seq: Seq;
  readonly score: number;
}

/** Most entries that are ranked; the picking terms are chosen to bring fewer. */
const CANDIDATES = 4000;

/** The search index beside the log. */
export class SearchStore {
  readonly #db: Database;

  constructor(db: Database) {
    this.#db = db;
  }

  /**
   * Brings a channel's index up to its log.
   * @returns how many entries were taken; less than `limit` means that it is up to date
   */
  async index(channel: ChannelId, limit: number): Promise<number> {
    const [row] = await this.#db.query<{ taken: number }>(
      { name: "index_channel", text: "select index_channel($1, $2) as taken" },
      [channel, limit],
    );
    return row?.taken ?? 0;
  }

  /** False: the database's character type (C) knows no letters but ASCII, so trigrams find nothing in other scripts. */
  async knowsAllScripts(): Promise<boolean> {
    const [row] = await this.#db.query<{ knows: boolean }>({
      name: "search_scripts",
      text: "select cardinality(show_trgm('\u5bff\u53f8')) > 0 as knows",
    });
    return row?.knows ?? false;
  }

  /** Channels whose log is ahead of their index. */
  async behind(): Promise<ChannelId[]> {
    const rows = await this.#db.query<{ id: number }>({
      name: "index_behind",
      text: `select c.id from channels c left join search_progress p on p.channel_id = c.id
              where c.last_seq > coalesce(p.indexed_to, 0)`,
    });
    return rows.map((row) => channelId(row.id));
  }

  /** A text's lexemes, as the index knows them (stemmed, without stop words). */
  async lexemes(text: string): Promise<string[]> {
    const [row] = await this.#db.query<{ lexemes: string[] }>(
      { name: "search_lexemes", text: "select tsvector_to_array(to_tsvector('english', $1)) as lexemes" },
      [text],
    );
    return row?.lexemes ?? [];
  }

  /** Share of the indexed entries that hold a lexeme, for the common ones; by the planner's statistics. */
  async frequencies(): Promise<ReadonlyMap<string, number>> {
    const rows = await this.#db.query<{ lexeme: string; frequency: number }>({
      name: "search_frequencies",
      text: `select e.lexeme, f.frequency
               from pg_stats s,
                    unnest(s.most_common_elems::text::text[]) with ordinality e (lexeme, place)
                    join unnest(s.most_common_elem_freqs) with ordinality f (frequency, place) using (place)
              where s.schemaname = current_schema() and s.tablename = 'entry_search' and s.attname = 'tsv'`,
    });
    return new Map(rows.map((row) => [row.lexeme, row.frequency]));
  }

  /**
   * Entries of a channel in `from`..`to` that hold any of `pick`, ranked with all of `terms`. Author and text weigh 1,
   * the text before them 0.4.
   */
  async byWords(
    channel: ChannelId,
    query: { pick: string; terms: string; from?: Seq; to: Seq; limit: number },
  ): Promise<SearchHit[]> {
    return this.#db.query<{ seq: number; score: number }>(
      {
        name: "search_words",
        text: `select seq, ts_rank('{0.4, 0.4, 0.4, 1}', tsv, $3::tsquery) as score from (
                 select seq, tsv from entry_search
                  where channel_id = $1 and tsv @@ $2::tsquery and seq between $6 and $4
                  limit ${CANDIDATES}
               ) candidates order by score desc, seq desc limit $5`,
      },
      [channel, query.pick, query.terms, query.to, query.limit, query.from ?? 1],
    );
  }

  /** Entries that hold one of these literally, the newest first: for identifiers, paths and links. */
  async byLiterals(
    channel: ChannelId,
    query: { literals: readonly string[]; to: Seq; limit: number },
  ): Promise<SearchHit[]> {
    const patterns = query.literals.map((literal) => `%${literal.replaceAll(/[\\%_]/g, "\\$&")}%`);
    return this.#db.query<{ seq: number; score: number }>(
      {
        name: "search_literals",
        text: `select seq, 1 as score from entry_search
                where channel_id = $1 and body ilike any($2) and seq <= $3
                order by seq desc limit $4`,
      },
      [channel, patterns, query.to, query.limit],
    );
  }

  /** Entries that hold something close to `text` letter by letter: for scripts without spaces. */
  async byPieces(
    channel: ChannelId,
    query: { text: string; from?: Seq; to: Seq; limit: number },
  ): Promise<SearchHit[]> {
    return this.#db.transaction(async (client) => {
      await client.query({
        name: "search_threshold",
        text: "set local pg_trgm.word_similarity_threshold = 0.3",
      });
      return client.query<{ seq: number; score: number }>(
        {
          name: "search_pieces",
          text: `select seq, word_similarity($2, body) as score from entry_search
                  where channel_id = $1 and $2 <% body and seq between $5 and $3
                  order by score desc, seq desc limit $4`,
        },
        [channel, query.text, query.to, query.limit, query.from ?? 1],
      );
    });
  }
}
