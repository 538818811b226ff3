import type { Database } from "../../../src/store/pool.ts";
import type { PromptCheck } from "./prompt-check.ts";

/** A prompt shows nothing whose deletion was acknowledged before. */
export const checkI12Prompt: PromptCheck = ({ prompt, isSole, gone }) => {
  if (!isSole) return [];
  const shown = [...prompt.markers].filter((marker) => gone.has(marker));
  return shown.length === 0 ? [] : [`a turn's prompt shows deleted text: ${shown.join(", ")}`];
};

/** @returns the tables that hold one of these words in any column of any row */
export async function tablesWith(db: Database, words: readonly string[]): Promise<string[]> {
  if (words.length === 0) return [];
  const tables = await db.query<{ name: string }>({
    name: "fuzz_tables",
    text: `select table_name as name from information_schema.tables
            where table_schema = 'public' and table_type = 'BASE TABLE' order by 1`,
  });
  const selects = tables.map(({ name }) => {
    return `select '${name}' as name where exists (select from ${name} t where t::text ~* $1)`;
  });
  const rows = await db.query<{ name: string }>(
    { name: "fuzz_tables_with", text: selects.join(" union all ") },
    [words.join("|")],
  );
  return rows.map(({ name }) => name);
}
