import assert from "node:assert/strict";
import { after, test } from "node:test";
import { runInNewContext } from "node:vm";
import { setFlagsFromString } from "node:v8";
import pg from "pg";
import { runIn, runOn } from "../../../src/store/database/statements.ts";
import { createTestDatabase } from "../../support/database.ts";

const target = await createTestDatabase();
const pool = new pg.Pool(
  "url" in target.connection
    ? { connectionString: target.connection.url, max: 1 }
    : { ...target.connection, max: 1 },
);
// The database is dropped while a connection ends.
pool.on("error", () => undefined);
pool.on("connect", (client) => void client.on("error", () => undefined));
after(async () => {
  await pool.end();
  await target[Symbol.asyncDispose]();
});

const pidOf = async (): Promise<unknown> =>
  (await runIn(pool, { text: "select pg_backend_pid() as pid" }, 10_000))[0]?.["pid"];

test("keys of rows are in camel case, also of the last of several statements; jsonb keeps its own", async () => {
  const text =
    "select 1 as from_seq, null as reply_to, 'x' as \"ownName\", jsonb_build_object('call_id', 2) as data";
  const row = { fromSeq: 1, replyTo: null, ownName: "x", data: { call_id: 2 } };
  assert.deepEqual(await runIn(pool, { name: "keys", text }, 10_000), [row]);
  assert.deepEqual(await runIn(pool, { name: "keys", text }, 10_000), [row]);
  assert.deepEqual(await runIn(pool, { text: `select 1 as one_more; ${text}` }, 10_000), [row]);
});

test("a statement brings its rows, by a client and by a pool", async () => {
  const add = { name: "add", text: "select $1::int + 1 as sum", values: [1] };
  assert.deepEqual(await runIn(pool, add, 10_000), [{ sum: 2 }]);
  const client = await pool.connect();
  assert.deepEqual(await runOn(client, add, 10_000), [{ sum: 2 }]);
  await assert.rejects(runOn(client, { text: "select 1 / 0" }, 10_000), /division by zero/);
  assert.deepEqual(await runOn(client, add, 10_000), [{ sum: 2 }]);
  client.release();
});

test("one that fails, or that is not answered in time, costs the pool its connection", async () => {
  const first = await pidOf();
  await assert.rejects(runIn(pool, { text: "select 1 / 0" }, 10_000), (error) => {
    assert.ok(error instanceof pg.DatabaseError);
    assert.match(error.stack ?? "", /statements\.test/, "it tells who asked");
    return true;
  });
  const second = await pidOf();
  assert.notEqual(first, second);
  await assert.rejects(runIn(pool, { text: "select pg_sleep(0.4)" }, 50), /timeout/);
  assert.notEqual(await pidOf(), second);
});

test("behind one that is not answered in time nothing waits, and nothing is done", async () => {
  await runIn(pool, { text: "create table done (what text)" }, 10_000);
  const client = await pool.connect();
  const slow = runOn(client, { text: "select pg_sleep(0.4)" }, 10_000);
  const behind = runOn(client, { text: "insert into done values ('told otherwise')" }, 50);
  await assert.rejects(behind, /timeout/);
  await assert.rejects(slow, /terminated/);
  await assert.rejects(runOn(client, { text: "select 1" }, 10_000), /closed/);
  client.release();
  await runIn(pool, { text: "select pg_sleep(0.5)" }, 10_000);
  assert.deepEqual(await runIn(pool, { text: "select * from done" }, 10_000), []);
});

test("what a statement brought does not outlive it until a full collection", async () => {
  setFlagsFromString("--expose-gc");
  const collect: unknown = runInNewContext("gc");
  assert.ok(typeof collect === "function");
  const rows = { name: "rows", text: "select repeat('a', 100000) as text" };
  const usedAfter = async (count: number): Promise<number> => {
    for (let index = 0; index < count; index++) {
      await runIn(pool, rows, 10_000);
      if (index % 5 === 0) Reflect.apply(collect, undefined, [{ type: "minor" }]);
    }
    return process.memoryUsage().heapUsed;
  };
  await usedAfter(20);
  Reflect.apply(collect, undefined, []);
  const before = process.memoryUsage().heapUsed;
  assert.ok((await usedAfter(200)) - before < 5_000_000, "of 20 MB of rows");
});
