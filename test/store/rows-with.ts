import type { OpenStore } from "./open-store.ts";

/** The tables that hold a word in any column of any kind, in capitals or not, sorted. */
export async function rowsWith({ sql }: Pick<OpenStore, "sql">, word: string): Promise<string[]> {
  const tables = await sql<{ name: string }>(
    "select table_name as name from information_schema.tables where table_schema = 'public' order by 1",
  );
  // Small letters of ASCII are made much faster than those of all scripts.
  const collation = /^\p{ASCII}*$/u.test(word) ? 'collate "C"' : "";
  const found: string[] = [];
  for (const { name } of tables) {
    const [row] = await sql<{ holds: boolean }>(
      `select exists (select from ${name} t where position($1 in lower(t::text ${collation})) > 0) as holds`,
      word.toLowerCase(),
    );
    if (row?.holds === true) found.push(name);
  }
  return found;
}
