// proves: src/channel/actor.ts, src/store/log/append-queue.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { quiet } from "../../support/compaction.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;

test("a message alone in its channel is answered by the turn that began with its append", async () => {
  await using server = await startModelServer();
  const { connection } = database;
  await using weir = await startWeir({ connection, modelUrl: server.url, config: CONFIG });
  const { turns } = weir.daemon.store;
  let begins = 0;
  const begin = turns.begin.bind(turns);
  turns.begin = async (...which) => {
    begins++;
    return begin(...which);
  };
  const room = "lone";
  server.reply(text("one"), text("two"));
  await weir.say("first", { room });
  await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  assert.equal(begins, 1, "the channel was not in memory yet");
  await weir.say("second", { room });
  const second = await weir.event("turn_started", ({ fromSeq }) => fromSeq === 3);
  assert.deepEqual([second.toSeq, second.attempt], [3, 1]);
  await weir.event("turn_settled", ({ turn }) => turn === second.turn);
  assert.equal(begins, 1);
  await quiet(weir, room);
  assert.deepEqual(weir.platform.texts(room), ["one", "two"]);
});

test("a turn that began with an append of which nobody heard is found in the log, and answers once", async () => {
  await using server = await startModelServer();
  const { connection } = database;
  await using weir = await startWeir({ connection, modelUrl: server.url, config: CONFIG });
  const { log } = weir.daemon.store;
  const room = "unheard";
  server.reply(text("one"), text("two"));
  await weir.say("first", { room });
  await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  const append = log.appendMessage.bind(log);
  let cuts = 0;
  log.appendMessage = async (...what) => {
    const appended = await append(...what);
    // The connection ends behind the commit; the platform delivers the message again.
    if (cuts++ === 0) throw new Error("Connection terminated unexpectedly");
    return appended;
  };
  const again = { room, id: "delivered-twice" };
  await assert.rejects(weir.say("second", again));
  assert.deepEqual(await weir.say("second", again), { outcome: "duplicate", seq: 3 });
  await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(again.id));
  await quiet(weir, room);
  assert.deepEqual(weir.platform.texts(room), ["one", "two"]);
  assert.equal(server.requests.length, 2);
});
