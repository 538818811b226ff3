/** A newer version migrates under a running daemon: what its connections have prepared no longer fits. */
import assert from "node:assert/strict";
import { after, beforeEach, test } from "node:test";
import { Database } from "../../../src/store/database/database.ts";
import { createTestDatabase } from "../../support/database.ts";
import { SILENT } from "../open-store.ts";

const target = await createTestDatabase();
const database = new Database(target.connection, SILENT);
const other = new Database(target.connection, SILENT);
after(async () => {
  await database[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
  await target[Symbol.asyncDispose]();
});
beforeEach(async () =>
  other.script("drop table if exists t; create table t (a int); insert into t values (1)"),
);

const READ = ["read_t", "select * from t"] as const;
const ADD = ["add_t", "insert into t values ($1) returning *"] as const;

/** Every connection of the pool has prepared the statements. */
async function warm(): Promise<void> {
  await Promise.all(
    Array.from({ length: 10 }, async () =>
      database.snapshot(async (client) => {
        await client.query("", "select pg_sleep(0.02)");
        await client.query(...READ);
      }),
    ),
  );
  await Promise.all(Array.from({ length: 10 }, async () => database.query(...ADD, [2])));
}

test("a statement that a migration has outdated is asked again, and done once", async () => {
  await warm();
  await other.script("delete from t; alter table t add column b int default 7");
  assert.deepEqual(await database.query(...ADD, [3]), [{ a: 3, b: 7 }]);
  // All of the connections that were there before are given up, not the one alone that has noticed.
  for (let round = 0; round < 12; round++) {
    assert.deepEqual(await database.query(...READ), [{ a: 3, b: 7 }]);
  }
});

test("a transaction is begun again as a whole, and leaves nothing of its first attempt", async () => {
  await warm();
  await other.script("delete from t; alter table t add column b int default 7");
  const seen = await database.transaction(async (client) => {
    await client.query("", "insert into t values (5)");
    return client.query(...READ);
  });
  assert.deepEqual(seen, [{ a: 5, b: 7 }]);
});

test("what a fresh connection refuses as well is thrown as it is, and what a value is guilty of is not asked again", async () => {
  await assert.rejects(database.query("", "select no_such_column from t"), { code: "42703" });
  await other.script("create sequence asked");
  await assert.rejects(database.query("", "select nextval('asked'), (1 / (a - a)) from t"), {
    code: "22012",
  });
  assert.deepEqual(await other.query("", "select last_value::int as n from asked"), [{ n: 1 }]);
});

test("a transaction that is ended so that another one goes on, which waited for it, is done again", async () => {
  await other.script("insert into t values (2)");
  const met = Array.from({ length: 2 }, () => Promise.withResolvers<void>());
  let attempts = 0;
  const increase = async (order: readonly number[], own: number): Promise<void> =>
    database.transaction(async (client) => {
      attempts++;
      for (const [index, a] of order.entries()) {
        await client.query("", "update t set a = a + 10 where a % 10 = $1", [a]);
        if (index > 0) continue;
        met[own]?.resolve();
        await Promise.all(met.map(async ({ promise }) => promise));
      }
    });
  await Promise.all([increase([1, 2], 0), increase([2, 1], 1)]);
  assert.equal(attempts, 3);
  assert.deepEqual(await database.query("", "select a from t order by a"), [{ a: 21 }, { a: 22 }]);
});
