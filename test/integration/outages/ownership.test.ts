// proves: src/ownership/takeover-watch.ts, src/channel/loader.ts, src/channel/live-channels.ts
import assert from "node:assert/strict";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { endlessRepetition, text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";
import { piecesIn } from "../../support/request-pieces.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;

test("a second daemon that takes a channel fences the first: one answer is written, the first's is refused", async () => {
  await using server = await startModelServer();
  const gate = Promise.withResolvers<void>();
  await using first = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  server.reply(async (exchange) => {
    await gate.promise;
    await text("from the first")(exchange);
  }, text("from the second"));
  await first.say("hello", { room: "fenced" });
  await server.received(1);
  await using second = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  await second.event("reply_delivered", ({ channel }) => channel === "test:fenced");
  gate.resolve();
  await first.event("channel_lost", ({ channel }) => channel === "test:fenced");
  assert.deepEqual(second.platform.texts("fenced"), ["from the second"]);
  assert.deepEqual(first.platform.texts("fenced"), []);
  const row = await second.daemon.store.channels.find({ platform: "test", name: "fenced" });
  assert.equal(row?.lastSeq, 2);
});

test("a daemon that has lost a channel shows no further piece over the answer of the one that took it", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ streaming: { intervalMs: 0 } });
  const options = { connection: database.connection, modelUrl: server.url, config: CONFIG, platform };
  await using first = await startWeir(options);
  const isAnswered = new AbortController();
  server.reply(endlessRepetition(" piece", 30, isAnswered.signal), text("the whole"));
  await first.say("hello", { room: "pieces" });
  await platform.until(() => platform.shown.size > 0);
  await using second = await startWeir(options);
  await second.event("reply_delivered", ({ channel }) => channel === "test:pieces");
  // Meanwhile the first one has gone on to read its model's answer, however long the second one took.
  isAnswered.abort();
  await first.event("channel_lost", ({ channel }) => channel === "test:pieces");
  assert.deepEqual(
    [...platform.shown.values()].map(({ text: shown, final }) => ({ shown, final })),
    [{ shown: "the whole", final: true }],
  );
});

test("a message that only a daemon hears which does not know of its loss of the channel does not wait as long as for a slow answer", async () => {
  await using server = await startModelServer();
  server.respond(() => text("yes"));
  const options = { connection: database.connection, modelUrl: server.url, config: CONFIG };
  const room = "unheard";
  await using first = await startWeir(options);
  await first.say("one", { room, id: "heard-1" });
  await first.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  await using second = await startWeir(options);
  await second.say("two", { room, id: "heard-2" });
  await second.event("reply_delivered", ({ inReplyTo }) => inReplyTo?.includes("heard-2") === true);
  // The second daemon has answered it: here it is not even due.
  const late = await first.say("two", { room, id: "heard-2" });
  assert.equal(late.outcome, "duplicate");

  // The platform has an acknowledgement by the time the second daemon asks it for events.
  const saidAt = performance.now();
  await first.say("three", { room, id: "unheard-3" });
  await first.event("channel_lost", ({ channel }) => channel === `test:${room}`);
  await first.event("reply_delivered", ({ inReplyTo }) => inReplyTo?.includes("unheard-3") === true);
  assert.ok(performance.now() - saidAt < 60_000);
  assert.equal(server.requests.length, 3);
});

/** Shorter than a daemon's own, so that nobody waits for minutes. */
const SOON = { lookMs: 50, stillMs: 300, searchMs: 50 };

test("what a daemon leaves behind, another that runs beside it goes on with, though nobody says anything more", async () => {
  await using server = await startModelServer();
  const gate = Promise.withResolvers<void>();
  const options = { connection: database.connection, modelUrl: server.url, config: CONFIG };
  await using second = await startWeir({ ...options, takeover: SOON });
  {
    await using first = await startWeir({ ...options, config: `[daemon]\ndrain_deadline_ms = 1\n${CONFIG}` });
    server.reply(async ({ signal }) => {
      await Promise.race([gate.promise, once(signal, "abort")]);
    }, text("here"));
    await first.say("in the middle of a turn", { room: "left-turn" });
    await server.received(1);
  }
  await second.event("reply_delivered", ({ channel }) => channel === "test:left-turn");
  gate.resolve();
  assert.deepEqual(second.platform.texts("left-turn"), ["here"]);
});

test("so it does with a message that the other had not begun to answer", async () => {
  await using server = await startModelServer();
  server.respond(() => text("yes"));
  const options = { connection: database.connection, modelUrl: server.url, config: CONFIG };
  const room = "left-message";
  const takeover = { lookMs: 200, searchMs: 50 };
  await using second = await startWeir({ ...options, takeover });
  const answered = async (weir: TestWeir, id: string): Promise<unknown> =>
    weir.event("reply_delivered", ({ inReplyTo }) => inReplyTo?.includes(id) === true);
  {
    // It does not look at what it has lost before it ends. On a slow machine the second one may take the channel earlier.
    await using first = await startWeir({ ...options, takeover: { lookMs: 3_600_000 } });
    await first.say("one", { room, id: "left-1" });
    await Promise.race([answered(first, "left-1"), answered(second, "left-1")]);
    await second.say("two", { room, id: "left-2" });
    await answered(second, "left-2");
    await first.say("two", { room, id: "left-2" });
    await first.say("three", { room, id: "left-3" });
    await Promise.race([
      first.event("channel_lost", ({ channel }) => channel === `test:${room}`),
      answered(first, "left-3"),
    ]);
  }
  const isWaitedFor = async (): Promise<boolean> =>
    (await second.daemon.store.partitions.waitedFor()).some(({ address }) => address.name === room);
  while (await isWaitedFor()) await delay(20);
});

test("a terminal's channel stays with the process at which its people sit, however slow its model is", async () => {
  await using server = await startModelServer();
  const gate = Promise.withResolvers<void>();
  const options = { connection: database.connection, modelUrl: server.url, config: CONFIG };
  const platform = new TestPlatform({ isHere: true });
  await using second = await startWeir({
    ...options,
    platform: new TestPlatform({ isHere: true }),
    takeover: SOON,
  });
  await using first = await startWeir({ ...options, platform });
  server.reply(async (exchange) => {
    await gate.promise;
    await text("here")(exchange);
  }, text("there"));
  await first.say("hello", { room: "seat" });
  await server.received(1);
  // Time for ten searches and looks.
  await delay(1000);
  gate.resolve();
  await first.event("reply_delivered", ({ channel }) => channel === "test:seat");
  assert.deepEqual([platform.texts("seat"), second.platform.texts("seat")], [["here"], []]);
});

test("a turn that its daemon left behind is begun again by the next, over the same messages", async () => {
  await using server = await startModelServer();
  {
    const config = `[daemon]\ndrain_deadline_ms = 1000\n${CONFIG}`;
    await using dying = await startWeir({ connection: database.connection, modelUrl: server.url, config });
    server.reply(async ({ signal }) => {
      await new Promise((resolve) => {
        signal.addEventListener("abort", resolve, { once: true });
      });
    });
    await dying.say("are you there?", { room: "left" });
    await server.received(1);
  }
  server.reply(text("yes"));
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:left");
  const started = await weir.event("turn_started", ({ channel }) => channel === "test:left");
  assert.equal(started.attempt, 2);
  assert.deepEqual(weir.platform.texts("left"), ["yes"]);
});

test("an actor that is evicted comes back from the log as it was", async () => {
  await using server = await startModelServer();
  server.respond(() => text("noted"));
  const config = `[daemon]\nmax_loaded_channels = 1\n${CONFIG}`;
  await using weir = await startWeir({ connection: database.connection, modelUrl: server.url, config });
  await weir.say("remember the milk", { room: "evicted", at: new Date("2026-05-05T05:05:00Z") });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:evicted");
  await weir.say("hello", { room: "other" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:other");
  weir.daemon.eviction.evictIdle();
  assert.equal(weir.daemon.registry.size, 1);
  await weir.say("what was it?", { room: "evicted" });
  await weir.platform.until(() => weir.platform.texts("evicted").length === 2);
  const [first, , third] = server.requests.map(({ body }) => piecesIn(body));
  assert.ok(first !== undefined && third !== undefined);
  const line = first.at(-2)?.content;
  assert.match(line ?? "", /^\[2026-05-05 05:05\] Ann: remember the milk$/);
  assert.ok(
    third.some(({ content }) => content === line),
    "name and time are the same bytes",
  );
  assert.equal(weir.events.filter((event) => event.type === "channel_loaded").length, 3);
});

test("a message that is delivered twice is in the log once, and answered once", async () => {
  await using server = await startModelServer();
  server.respond(() => text("once"));
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  const receipts = await Promise.all(
    Array.from({ length: 5 }, async () => weir.say("twice", { room: "twice", id: "same-id" })),
  );
  assert.equal(receipts.filter(({ outcome }) => outcome === "accepted").length, 1);
  assert.equal(receipts.filter(({ outcome }) => outcome === "duplicate").length, 4);
  await weir.event("reply_delivered", ({ channel }) => channel === "test:twice");
  assert.equal(server.requests.length, 1);
});
