import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { WeirError } from "../../../src/core/errors.ts";
import { createTestDatabase } from "../../support/database.ts";
import { openStore } from "../open-store.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

/** The store that is tried, and one beside it that looks at what the server is doing. */
function openBoth() {
  const tried = openStore(database.connection);
  const outside = openStore(database.connection);
  /** Resolves when so many statements with these words run on the server. */
  const untilRunning = async (words: string, count: number): Promise<void> => {
    for (;;) {
      const [row] = await outside.sql<{ count: number }>(
        `select count(*) as count from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and state = 'active' and strpos(query, $1) > 0`,
        words,
      );
      if (row?.count === count) return;
      await delay(5);
    }
  };
  return {
    tried,
    outside,
    untilRunning,
    async [Symbol.asyncDispose]() {
      await tried[Symbol.asyncDispose]();
      await outside[Symbol.asyncDispose]();
    },
  };
}

test("a look-up that is dropped ends on the server; one that nobody drops is ended by the server", async () => {
  await using scene = openBoth();
  const { db } = scene.tried;
  const older = db.lookUps().query("", "select pg_sleep(60) as older");
  older.catch(() => undefined);
  await scene.untilRunning("as older", 1);
  const drop = new AbortController();
  const dropped = db.lookUps(drop.signal).query("", "select pg_sleep(60) as dropped");
  await scene.untilRunning("as dropped", 1);
  drop.abort();
  const first = await Promise.race([
    older.catch(() => "older"),
    dropped.catch((error: unknown) => (error === drop.signal.reason ? "dropped" : error)),
  ]);
  // By the server's limit alone, the older one would have been the first.
  assert.equal(first, "dropped");
  await scene.untilRunning("as dropped", 0);
  await assert.rejects(
    older,
    (error) => error instanceof WeirError && error.message === "a look-up took longer than 3 s and was ended",
  );
  await scene.untilRunning("as older", 0);
});

test("whatever look-ups take, other statements do not wait, and one that waits for its turn can be dropped", async () => {
  await using scene = openBoth();
  const { db } = scene.tried;
  const drop = new AbortController();
  const many = Array.from({ length: 12 }, async (_, index) =>
    db.lookUps(drop.signal).query("", `select pg_sleep(60) as slow, ${index}`),
  );
  const ended = Promise.allSettled(many);
  await scene.untilRunning("as slow", 3);
  assert.deepEqual(await db.query("", "select 1 as one"), [{ one: 1 }]);
  const last = db.lookUps().query("", "select 2 as two");
  drop.abort();
  assert.ok((await ended).every(({ status }) => status === "rejected"));
  assert.deepEqual(await last, [{ two: 2 }]);
  await scene.untilRunning("as slow", 0);
});

test("a cancellation never ends another look-up, however close they follow", async () => {
  await using scene = openBoth();
  const { db } = scene.tried;
  const results = await Promise.all(
    Array.from({ length: 300 }, async (_, index) => {
      if (index % 2 === 0) return db.lookUps().query("", `select ${index} as number, pg_sleep(0.001)`);
      const drop = new AbortController();
      const dropped = db
        .lookUps(drop.signal)
        .query("", `select pg_sleep(0.00${index % 10})`)
        .then(
          // Its answer came first: the cancellation is for nobody.
          () => drop.abort(),
          () => undefined,
        );
      await scene.outside.sql("select 1");
      if (index % 3 === 0) drop.abort();
      await dropped;
      return null;
    }),
  );
  const kept = results.flatMap((rows) => (rows === null ? [] : rows.map((row) => row["number"])));
  assert.deepEqual(
    kept,
    Array.from({ length: 150 }, (_, index) => index * 2),
  );
});
