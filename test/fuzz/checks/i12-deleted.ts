import type { Database } from "../../../src/store/pool.ts";
import { MARKER } from "../texts.ts";
import type { PromptCheck } from "./prompt-check.ts";
import type { RowCheck } from "./row-check.ts";

/** A prompt shows nothing whose deletion was acknowledged before. */
export const checkI12Prompt: PromptCheck = ({ prompt, isSole, gone }) => {
  if (!isSole) return [];
  const shown = [...prompt.markers].filter((marker) => gone.has(marker));
  return shown.length === 0 ? [] : [`a turn's prompt shows deleted text: ${shown.join(", ")}`];
};

/** Nobody is shown in one channel what was said in another one. */
export const checkScope: PromptCheck = ({ prompt }, ledger) => {
  const foreign = [...prompt.markers].filter((marker) => !ledger.own.has(marker));
  return foreign.length === 0
    ? []
    : [`a turn's prompt shows what another channel said: ${foreign.join(", ")}`];
};

/** No summary, and no memory, of a channel holds what was said in another one. */
export const checkI12Rows: RowCheck = (_, { summaries, memories }, ledger) => {
  const texts = [...summaries.map(({ text }) => text), ...memories.map(({ statement }) => statement)];
  const foreign = texts.flatMap((text) => text.match(MARKER) ?? []).filter((one) => !ledger.own.has(one));
  return foreign.length === 0 ? [] : [`what another channel said is summarised: ${foreign.join(", ")}`];
};

/** Where deleted texts are looked for, again and again. */
export class DeletedTexts {
  readonly #db: Database;
  /** Rows that older transactions wrote were looked through for all words of then. */
  #seenTo = 0;

  constructor(db: Database) {
    this.#db = db;
  }

  /** @returns the tables that hold one of these words in any column of any row */
  async tablesWith(words: readonly string[]): Promise<string[]> {
    return words.length === 0 ? [] : this.#search("fuzz_tables_with", "", [patterns(words)]);
  }

  /**
   * The same, of words that were looked for in all rows when they were deleted: only a row that was written since the
   * last time can hold one of them.
   */
  async tablesWithAgain(words: readonly string[]): Promise<string[]> {
    const [now] = await this.#db.query<{ xmin: string }>({
      name: "fuzz_snapshot",
      text: "select pg_snapshot_xmin(pg_current_snapshot())::text as xmin",
    });
    const values = [patterns(words), this.#seenTo];
    const found = await this.#search("fuzz_tables_with_again", "t.xmin::text::bigint >= $2 and", values);
    this.#seenTo = Number(now?.xmin ?? 0);
    return found;
  }

  async #search(name: string, condition: string, values: readonly unknown[]): Promise<string[]> {
    const selects = (await tableNames(this.#db)).map(
      (table) =>
        `select '${table}' as name where exists (select from ${table} t where ${condition} t::text like any ($1))`,
    );
    const rows = await this.#db.query<{ name: string }>({ name, text: selects.join(" union all ") }, values);
    return rows.map((row) => row.name);
  }
}

/** Where texts are made comparable they become lower case, as the words are. */
function patterns(words: readonly string[]): string[] {
  return words.map((word) => `%${word}%`);
}

const known = new WeakMap<Database, Promise<string[]>>();

async function tableNames(db: Database): Promise<string[]> {
  const names =
    known.get(db) ??
    db
      .query<{ name: string }>({
        name: "fuzz_tables",
        text: `select table_name as name from information_schema.tables
                where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
      })
      .then((rows) => rows.map(({ name }) => name));
  known.set(db, names);
  return names;
}
