import { openStore } from "../store/open-store.ts";
import { channelId } from "../../src/core/ids.ts";
import type { Connection } from "../../src/store/database/queryable.ts";
import type { SearchStore } from "../../src/store/search/search.ts";

const ENTRIES = 20_000;

/** Indexes all that was said, as a daemon does within half a second. */
export async function indexAll(search: SearchStore): Promise<void> {
  for (const channel of await search.behind()) await search.indexAll([channel], ENTRIES);
}

/**
 * Indexes what was said in a room and covers it with a summary, so that a search finds it: what stands in view is not searched. The daemon
 * reads its rows again before its next turn.
 */
export async function coverRoom(
  connection: Connection,
  room: string,
  summary = "They talked.",
): Promise<void> {
  await using open = openStore(connection);
  const [row] = await open.sql<{ id: number; epoch: number; last: number; covered: number }>(
    "select id, epoch, last_seq as last, covered_to as covered from channels where name = $1",
    room,
  );
  if (row === undefined) throw new Error(`there is no room ${room}`);
  const channel = channelId(row.id);
  const { jobs, search } = open.store;
  await search.indexAll([channel], ENTRIES);
  const range = { fromSeq: row.covered + 1, toSeq: row.last };
  const plan = { kind: "leaf", tier: "forced", level: 1, sourceTokens: 1000, ...range } as const;
  const job = await jobs.begin({ channel, epoch: row.epoch }, plan);
  const made = { kind: "model", text: summary, tokens: 8, model: "test-model" } as const;
  await jobs.stage(job, { parts: [], memories: [], summary: made });
  const outcome = await jobs.commit(job);
  if (outcome !== "committed") throw new Error(`the summary of ${room} is ${outcome}`);
  await open.sql("update search_progress set erased_at = clock_timestamp() where channel_id = $1", channel);
}
