import { setTimeout as delay } from "node:timers/promises";
import { Patience } from "./patience.ts";
import type { OpenStore } from "../store/open-store.ts";

/**
 * Ends the connection of each statement on a table that has these words, as a server that goes away does, until so many were
 * ended. Other statements on it wait for that.
 * @returns resolves when it has begun, with a promise of its end
 * @throws Error if no more of them come
 */
export async function cutStatements(
  outside: OpenStore,
  words: string,
  times: number,
  table: "channels" | "turns" = "channels",
): Promise<{ readonly done: Promise<void> }> {
  const begun = Promise.withResolvers<void>();
  const done = outside.db.transaction(async (client) => {
    await client.query({ name: "", text: `lock table ${table} in access exclusive mode` });
    begun.resolve();
    let cuts = 0;
    const patience = new Patience(() => cuts);
    while (cuts < times) {
      if (patience.whyOver() !== null) throw new Error(`Only ${cuts} statements came with "${words}".`);
      await delay(5);
      // By another connection: within one transaction the activity of the others stays what it was at the first look.
      const ended = await outside.sql(
        `select pg_terminate_backend(pid) from pg_stat_activity
          where datname = current_database() and wait_event_type = 'Lock' and strpos(query, $1) > 0`,
        words,
      );
      cuts += ended.length;
    }
  });
  await Promise.race([begun.promise, done]);
  return { done };
}
