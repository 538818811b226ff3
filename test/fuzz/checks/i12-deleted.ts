import type { Database } from "../../../src/store/database/database.ts";
import { MARKER } from "../texts.ts";
import type { PromptCheck } from "./prompt-check.ts";
import type { RowCheck } from "./row-check.ts";

/** A prompt shows nothing whose deletion was acknowledged before. */
export const checkI12Prompt: PromptCheck = ({ prompt, isSole, gone }) => {
  if (!isSole) return [];
  const shown = [...prompt.markers].filter((marker) => gone.has(marker));
  return shown.length === 0 ? [] : [`a turn's prompt shows deleted text: ${shown.join(", ")}`];
};

/** Nobody is shown in one channel what was said in another one, but a thread what is told of its channel. */
export const checkScope: PromptCheck = ({ prompt }, ledger) => {
  const foreign = [...prompt.markers].filter((marker) => !ledger.mayShow(marker));
  return foreign.length === 0
    ? []
    : [`a turn's prompt shows what another channel said: ${foreign.join(", ")}`];
};

/** What was said while a channel was private, or before, is no other channel's, whenever it is summarised. */
export const checkShared: RowCheck = (_, { shared }, { hidden }) => {
  const told = shared.flatMap((text) => text.match(MARKER) ?? []).filter((marker) => hidden.has(marker));
  return told.length === 0 ? [] : [`what was said in private is shared: ${told.join(", ")}`];
};

/** No summary, and no memory, of a channel holds what was said in another one; and an ended job holds no text at all. */
export const checkI12Rows: RowCheck = (_, { summaries, memories, jobs }, ledger) => {
  const texts = [...summaries.map(({ text }) => text), ...memories.map(({ statement }) => statement)];
  const foreign = texts.flatMap((text) => text.match(MARKER) ?? []).filter((one) => !ledger.mayShow(one));
  const ended = jobs.filter(
    ({ state, result }) => !["running", "staged", "ahead"].includes(state) && result !== null,
  );
  return [
    ...(foreign.length === 0 ? [] : [`what another channel said is summarised: ${foreign.join(", ")}`]),
    ...ended.map(({ id, state, result }) => `job ${id} is ${state} and holds ${JSON.stringify(result)}`),
  ];
};

/** Where deleted texts are looked for, again and again. */
export class DeletedTexts {
  readonly #db: Database;
  /** Rows that older transactions wrote were looked through for all words of then. */
  #seenTo = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** @returns the tables that hold one of these words in any column of any row, and where they do */
  async tablesWith(words: readonly string[]): Promise<string[]> {
    return words.length === 0 ? [] : this.#search("fuzz_tables_with", "", [patterns(words)]);
  }

  /**
   * The same, of words that were looked for in all rows when they were deleted: only a row that was written since the
   * last time can hold one of them.
   */
  async tablesWithAgain(words: readonly string[]): Promise<string[]> {
    const [now] = await this.#db.query<{ xmin: string }>(
      "fuzz_snapshot",
      "select pg_snapshot_xmin(pg_current_snapshot())::text as xmin",
    );
    const values = [patterns(words), this.#seenTo];
    const found = await this.#search("fuzz_tables_with_again", "t.xmin::text::bigint >= $2 and", values);
    this.#seenTo = Number(now?.xmin ?? 0);
    return found;
  }

  async #search(name: string, condition: string, values: readonly unknown[]): Promise<string[]> {
    const selects = (await wordyTables(this.#db)).map(({ table, texts }) => {
      const holds = texts.map((text) => `${text} like any ($1)`).join(" or ");
      return `select '${table}' as name where exists (select from ${table} t where ${condition} (${holds}))`;
    });
    const rows = await this.#db.query<{ name: string }>(name, selects.join(" union all "), values);
    return Promise.all(rows.map(async (row) => this.#placesIn(row.name, values[0])));
  }

  /** @returns the table, with the columns that hold the words and one such row whole */
  async #placesIn(table: string, words: unknown): Promise<string> {
    const texts = (await wordyTables(this.#db)).find((one) => one.table === table)?.texts ?? [];
    const columns = texts.map((text) => `case when ${text} like any ($1) then '${text}' end`).join(", ");
    const holds = texts.map((text) => `${text} like any ($1)`).join(" or ");
    const [row] = await this.#db.query<{ columns: string; row: string }>(
      `fuzz_places_${table}`,
      `select concat_ws(', ', ${columns}) as columns, left(t::text, 600) as row from ${table} t where ${holds} limit 1`,
      [words],
    );
    return row === undefined ? `${table} (gone since)` : `${table} (${row.columns}: ${row.row})`;
  }
}

/** Where texts are made comparable they become lower case, as the words are. */
function patterns(words: readonly string[]): string[] {
  return words.map((word) => `%${word}%`);
}

interface WordyTable {
  readonly table: string;
  /** Expressions: its columns, as texts. */
  readonly texts: readonly string[];
}

const known = new WeakMap<Database, Promise<WordyTable[]>>();

/** All tables, with their columns that can hold a word: a number, a time and a truth cannot. */
async function wordyTables(db: Database): Promise<WordyTable[]> {
  const tables =
    known.get(db) ??
    db.query<WordyTable>(
      "fuzz_tables",
      `select c.relname as table, array_agg('t.' || quote_ident(a.attname) ||
                case when y.typname = 'text' then '' else '::text' end order by a.attnum) as texts
         from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped
         join pg_type y on y.oid = a.atttypid
        where c.relnamespace = 'public'::regnamespace and c.relkind = 'r' and y.typcategory not in ('N', 'D', 'B')
        group by c.relname order by c.relname`,
    );
  known.set(db, tables);
  return tables;
}
