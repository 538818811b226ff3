// proves: src/store/channels/channels.ts, src/channel/registry.ts, src/channel/live-channels.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { answerText } from "../../../src/core/card.ts";
import type { ChannelRow } from "../../../src/store/channels/channels.ts";
import { createTestDatabase } from "../../support/database.ts";
import { stalledStream, text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[daemon]\ndrain_deadline_ms = 1000\n[[agents]]\nid = "main"\nmodel = "test-model"\n`;

async function start(server: ModelServer, platform = new TestPlatform()): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl: server.url, config: CONFIG, platform });
}

async function command(weir: TestWeir, room: string, name: string): Promise<string> {
  const channel = { platform: "test", name: room };
  const asker = { id: "u-ann", name: "Ann", roles: [] };
  return answerText(await weir.daemon.inbox.command({ channel, name, argument: "", asker }));
}

async function find(weir: TestWeir, name: string): Promise<ChannelRow> {
  const row = await weir.daemon.store.channels.find({ platform: "test", name });
  assert.ok(row);
  return row;
}

/** Resolves when turns of this room have settled all these messages. */
async function settled(weir: TestWeir, room: string, ids: readonly string[]): Promise<string[]> {
  const outcomes: string[] = [];
  for (const id of ids) {
    const end = await weir.event(
      "turn_settled",
      ({ channel, inReplyTo }) => channel === `test:${room}` && inReplyTo.includes(id),
    );
    outcomes.push(end.outcome);
  }
  return outcomes;
}

test("messages that pour in from many sides while turns run are each answered once", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond((_, index) => text(`answer ${index}`));
  const ids = Array.from({ length: 120 }, (_, index) => `pour-${index}`);
  await Promise.all(ids.map(async (id) => weir.say(id, { room: "pour", id })));
  await settled(weir, "pour", ids);
  const ends = weir.events.filter((event) => event.type === "turn_settled");
  const told = ends.flatMap(({ inReplyTo }) => inReplyTo);
  assert.deepEqual(told.toSorted(), ids.toSorted(), "each message is settled by one turn");
  const row = await weir.daemon.store.channels.find({ platform: "test", name: "pour" });
  assert.ok(row);
  assert.equal(row.lastSeq, ids.length + ends.length);
  const { history } = await weir.daemon.store.load(row.id);
  const actor = weir.daemon.registry.loaded(row.id);
  assert.deepEqual(actor?.history.current, history, "memory is the fold of the log");
  await weir.platform.until(() => weir.platform.texts("pour").length === ends.length);
});

test("/reset during a turn ends it and what waits behind it, and every waiting side is told", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.reply(stalledStream("Well,"), text("a fresh start"));
  await weir.say("tell me a fairytale", { room: "reset", id: "s1" });
  await server.received(1);
  await weir.say("a long one", { room: "reset", id: "s2" });
  await weir.say("with a dragon", { room: "reset", id: "s3" });
  assert.match(await command(weir, "reset", "reset"), /afresh/);
  assert.deepEqual(await settled(weir, "reset", ["s1", "s2", "s3"]), ["stopped", "stopped", "stopped"]);
  await weir.say("hello again", { room: "reset", id: "s4" });
  assert.deepEqual(await settled(weir, "reset", ["s4"]), ["answered"]);
  const last = server.requests.at(-1)?.body.messages ?? [];
  assert.doesNotMatch(JSON.stringify(last), /fairytale|dragon|Well/);
  assert.equal(server.requests.length, 2, "nothing was asked of the model in between");
});

test("what was said before a /reset is not recalled after it", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text("I do not know."));
  await weir.say("my parrot is called zxqarchibald", { room: "forget", addressed: false });
  const row = await weir.daemon.store.channels.find({ platform: "test", name: "forget" });
  assert.ok(row);
  await weir.daemon.store.search.indexAll([row.id], 10);
  await command(weir, "forget", "reset");
  await weir.say("what is my parrot called?", { room: "forget", id: "f1" });
  await settled(weir, "forget", ["f1"]);
  assert.doesNotMatch(JSON.stringify(server.requests[0]?.body), /zxqarchibald/);
});

test("a message right behind a /reset is answered, and every one before it has its end", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text("yes"));
  for (let round = 0; round < 10; round++) {
    const room = `behind-${round}`;
    const first = weir.say("first", { room, id: "b1" });
    const second = weir.say("second", { room, id: "b2" });
    await Promise.all([first, second]);
    const reset = command(weir, room, "reset");
    const third = weir.say("third", { room, id: "b3" });
    await Promise.all([reset, third]);
    await settled(weir, room, ["b1", "b2", "b3"]);
    const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
    assert.ok(row);
    const { running, history } = await weir.daemon.store.load(row.id);
    assert.equal(running, null);
    assert.deepEqual(weir.daemon.registry.loaded(row.id)?.history.current, history);
  }
});

test("/stop at any moment after a message was accepted ends its turn, and says so", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => stalledStream("I will"));
  for (let round = 0; round < 12; round++) {
    const room = `stop-${round}`;
    await weir.say("talk", { room, id: "t1" });
    // A round more of the event loop each time: before the load, before the turn began, in the model's answer.
    for (let turn = 0; turn < round * 3; turn++) await new Promise((resolve) => setImmediate(resolve));
    assert.equal(await command(weir, room, "stop"), "Stopped.");
    assert.deepEqual(await settled(weir, room, ["t1"]), ["stopped"]);
    assert.match(await command(weir, room, "stop"), /Nothing/);
  }
  server.respond(() => text("fine"));
  await weir.say("and now?", { room: "stop-0", id: "t2" });
  assert.deepEqual(await settled(weir, "stop-0", ["t2"]), ["answered"], "a stop ends one turn only");
});

test("evictions between messages lose none of them", async () => {
  await using server = await startModelServer();
  const config = `[daemon]\nmax_loaded_channels = 1\n[[agents]]\nid = "main"\nmodel = "test-model"\n`;
  const options = { connection: database.connection, modelUrl: server.url, config };
  await using weir = await startWeir(options);
  server.respond(() => text("ok"));
  const ids = Array.from({ length: 60 }, (_, index) => `ev-${index}`);
  const done = new AbortController();
  const evicting = (async () => {
    while (!done.signal.aborted) {
      weir.daemon.eviction.evictIdle();
      await new Promise((resolve) => setImmediate(resolve));
    }
  })();
  for (const [index, id] of ids.entries()) {
    const room = `evict-${index % 3}`;
    await weir.say("hi", { room, id });
    // Now and then everything is quiet, and can be evicted.
    if (index % 5 === 0) await settled(weir, room, [id]);
    if (index % 10 === 0) await weir.daemon.registry.loaded((await find(weir, room)).id)?.idle();
  }
  for (const [index, id] of ids.entries()) await settled(weir, `evict-${index % 3}`, [id]);
  done.abort();
  await evicting;
  assert.ok(weir.events.filter(({ type }) => type === "channel_loaded").length > 3);
});

test("a drain ends in its deadline also where the platform never answers, and the answer goes out after the next start", async () => {
  await using server = await startModelServer();
  server.respond(() => text("at last"));
  for (const streaming of [false, { intervalMs: 0 }] as const) {
    const room = streaming === false ? "stuck" : "stuck-draft";
    {
      const platform = new TestPlatform({ streaming });
      const reached = Promise.withResolvers<void>();
      platform.send = async () => {
        reached.resolve();
        return new Promise<string>(() => undefined);
      };
      await using weir = await start(server, platform);
      await weir.say("hello?", { room });
      await reached.promise;
    }
    await using weir = await start(server);
    await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
    assert.deepEqual(weir.platform.texts(room), ["at last"]);
  }
});
