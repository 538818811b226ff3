import type { OpenStore } from "./open-store.ts";

/** The tables that hold a word in any column of any kind, in capitals or not, sorted. */
export async function rowsWith({ sql }: Pick<OpenStore, "sql">, word: string): Promise<string[]> {
  const tables = await sql<{ name: string }>(
    `select c.oid::regclass::text as name from pg_class c
      where c.relnamespace = 'public'::regnamespace and c.relkind in ('r', 'p', 'v', 'f')`,
  );
  // Small letters of ASCII are made much faster than those of all scripts.
  const collation = /^\p{ASCII}*$/u.test(word) ? 'collate "C"' : "";
  const holding = tables.map(
    ({ name }) =>
      `select '${name}' as name where exists
        (select from ${name} t where position($1 in lower(t::text ${collation})) > 0)`,
  );
  const found = await sql<{ name: string }>(holding.join(" union all "), word.toLowerCase());
  return found.map(({ name }) => name).toSorted();
}
