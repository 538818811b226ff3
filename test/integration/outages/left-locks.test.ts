// proves: src/store/database/database.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { WeirError } from "../../../src/core/errors.ts";
import { openStore } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { stalledStream, text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;

test("a channel whose row is locked after a start keeps no other from its answer", async () => {
  await using server = await startModelServer();
  await using outside = openStore(database.connection);
  const config = `[daemon]\ndrain_deadline_ms = 300\n${CONFIG}`;
  const options = { connection: database.connection, modelUrl: server.url, config };
  const rooms = ["locked", "second", "third"];
  server.respond(() => stalledStream(""));
  {
    await using weir = await startWeir(options);
    for (const room of rooms) await weir.say("hello", { room });
  }
  server.respond(() => text("hello Ann"));
  const platform = new TestPlatform();
  const isHeld = Promise.withResolvers<void>();
  const isOver = Promise.withResolvers<void>();
  // What a host that lost its power leaves at a server elsewhere.
  const lock = outside.db.transaction(async (client) => {
    await client.query("lock_room", "select from channels where name = 'locked' for update");
    isHeld.resolve();
    await isOver.promise;
  });
  await isHeld.promise;
  const starting = startWeir({ ...options, platform });
  await platform.until(() => platform.texts("second").length + platform.texts("third").length === 2);
  assert.deepEqual(platform.texts("locked"), []);
  isOver.resolve();
  await lock;
  await using weir = await starting;
  await weir.event("reply_delivered", ({ channel }) => channel === "test:locked");
});

test("a transaction that nobody goes on with is ended by the server, and may be tried again", async () => {
  await using outside = openStore(database.connection);
  const [limit] = await outside.sql<{ limit: string }>(
    "select current_setting('idle_in_transaction_session_timeout') as limit",
  );
  assert.equal(limit?.limit, "1min");
  const stalled = outside.db.transaction(async (client) => {
    await client.query("", "set local idle_in_transaction_session_timeout = 20");
    await delay(300);
    await client.query("", "select 1");
  });
  await assert.rejects(stalled, (error) => error instanceof WeirError && error.retryable);
});
