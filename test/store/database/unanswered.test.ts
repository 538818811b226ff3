// proves: src/store/database/database.ts
import assert from "node:assert/strict";
import { once } from "node:events";
import { after, test } from "node:test";
import { withDeadline } from "../../../src/async/deadline.ts";
import { Database } from "../../../src/store/database/database.ts";
import { startChildScript } from "../../support/child-script.ts";
import { startTcpProxy } from "../../support/cluster/tcp-proxy.ts";
import { createTestDatabase } from "../../support/database.ts";
import { SILENT } from "../open-store.ts";

/** A server that says nothing any more, and ends no connection. */

/** Less than any limit of a statement, ms. */
const SOON_MS = 30_000;

const target = await createTestDatabase();
after(async () => target[Symbol.asyncDispose]());
const { connection } = target;
assert.ok("host" in connection);
const proxy = await startTcpProxy({ path: `${connection.host}/.s.PGSQL.${connection.port}` });
after(async () => proxy[Symbol.asyncDispose]());
const place = { ...connection, host: "127.0.0.1", port: proxy.port };

async function inTime<Result>(what: string, work: Promise<Result>): Promise<Result> {
  const result = await withDeadline(
    work.then((value) => ({ value })),
    SOON_MS,
  );
  assert.ok(result !== null, `${what}: not in time`);
  return result.value;
}

test("a transaction whose statement is not answered is over then: its end is not waited for as well", async () => {
  const db = new Database(place, SILENT);
  const work = db.transaction(async (client) => {
    await client.query("", "select 1");
    proxy.vanish();
    await client.query("", "select 2", [], 100);
  });
  await inTime("its error", assert.rejects(work, /no answer to a statement/));
  await inTime("its pool", db[Symbol.asyncDispose]());
  proxy.open();
});

test("a process whose server has vanished closes its connections, and ends", async () => {
  const { host, port, user, database } = place;
  const script = await startChildScript("database-user.ts", host, String(port), user, database);
  assert.equal(script.firstLine, "open");
  proxy.vanish();
  const ended = once(script.child, "exit");
  script.child.stdin?.end();
  try {
    assert.deepEqual(await inTime("its end", ended), [0, null]);
  } finally {
    script.child.kill("SIGKILL");
    proxy.open();
  }
});
