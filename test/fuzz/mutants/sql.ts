import type { Database } from "../../../src/store/database/database.ts";

/**
 * Replaces pieces of a function's body in the test's database.
 * @throws if a piece is not there: the function has changed, and the mutant with it
 */
export async function changeFunction(
  db: Database,
  name: string,
  changes: readonly (readonly [from: string, to: string])[],
): Promise<void> {
  const [row] = await db.query<{ text: string }>(
    "fuzz_function",
    "select pg_get_functiondef($1::regproc) as text",
    [name],
  );
  let text = row?.text ?? "";
  for (const [from, to] of changes) {
    if (!text.includes(from)) throw new Error(`the function ${name} has no "${from}"`);
    text = text.replaceAll(from, () => to);
  }
  await db.script(text);
}

/** Takes away what would refuse a mutant's writes, so that the fuzz has to find them. */
export async function dropGuards(db: Database): Promise<void> {
  await db.script(`
    drop trigger summaries_tile on summaries;
    drop trigger channels_tile on channels;
    drop trigger channels_refuse_fall on channels;
    alter table summaries drop constraint summaries_channel_id_int8range_excl;
    drop trigger memories_have_source on memories;
    drop trigger memory_sources_stay on memory_sources`);
}
