import { setTimeout as delay } from "node:timers/promises";
import { Patience } from "./patience.ts";
import type { OpenStore } from "../store/open-store.ts";

/**
 * Ends the connection of each statement on a table with these words, like a server that fails, up to a number of times.
 * Other statements on the table wait meanwhile.
 * @param isVain looked at while none comes: true ends it
 * @returns resolves at the beginning, with a promise of the end, and of whether all were cut
 * @throws Error if no more of them come
 */
export async function cutStatements(
  outside: OpenStore,
  words: string,
  times: number,
  table: "channels" | "turns" = "channels",
  isVain: () => Promise<boolean> = async () => false,
): Promise<{ readonly done: Promise<boolean> }> {
  const begun = Promise.withResolvers<void>();
  const done = outside.db.transaction(async (client) => {
    await client.query("", `lock table ${table} in access exclusive mode`);
    begun.resolve();
    let cuts = 0;
    const patience = new Patience(() => cuts);
    while (cuts < times) {
      if (patience.whyOver() !== null) throw new Error(`Only ${cuts} statements came with "${words}".`);
      await delay(5);
      // From another connection: within one transaction, the others' activity stays as first read.
      const ended = await outside.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and strpos(query, $1) > 0`,
        words,
      );
      cuts += ended.length;
      if (ended.length === 0 && (await isVain())) return false;
    }
    return true;
  });
  await Promise.race([begun.promise, done]);
  return { done };
}
