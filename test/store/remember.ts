import type { ChannelId } from "../../src/core/ids.ts";
import type { MemoryDraft } from "../../src/core/memory.ts";
import type { OpenStore } from "./open-store.ts";

/** Puts a memory into the log as a commit does. @returns its id; of a duplicate, the first one's */
export async function rememberIn(
  { sql }: Pick<OpenStore, "sql">,
  channel: ChannelId,
  memory: Omit<Partial<MemoryDraft>, "at"> & Pick<MemoryDraft, "sources"> & { readonly at?: Date | string },
): Promise<number> {
  const draft = {
    type: "fact",
    subject: "Ann",
    assertedBy: "Ann",
    statement: "Ann lives here.",
    importance: 0.5,
    at: "2026-11-21T09:00:00Z",
    ...memory,
  };
  const [row] = await sql<{ id: number }>(
    "select add_memory($1, null, $2) as id",
    channel,
    JSON.stringify(draft),
  );
  if (row === undefined) throw new Error("add_memory returned no row");
  return row.id;
}

/** Puts memories behind an older one, as if their vectors had told that they say the same. */
export async function foldBehind(
  { sql }: Pick<OpenStore, "sql">,
  older: number,
  ...memories: readonly number[]
): Promise<void> {
  await sql("update memories set same_as = $1 where id = any($2)", older, memories);
  await sql("update memories set stands_for = true where id = $1", older);
}
