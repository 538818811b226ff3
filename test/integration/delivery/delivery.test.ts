// proves: src/channel/delivery/outbox.ts, src/store/turns/deliveries.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { channelId } from "../../../src/core/ids.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { openStore } from "../../store/open-store.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { until } from "../../support/patience.ts";
import { gateRows } from "../../support/row-gate.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;

async function startHere({ url: modelUrl }: ModelServer, platform = new TestPlatform()): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl, config: CONFIG, platform });
}

test("an answer that the platform does not take is sent again with the same key, and shown once", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform();
  await using weir = await startHere(server, platform);
  server.respond(() => text("hello Ann"));
  const keys: string[] = [];
  platform.fail = (_operation, message) => {
    keys.push(message.idempotencyKey);
    if (keys.length === 1) throw new PlatformError("test", "unavailable", "reset", { retryAfterMs: 1 });
  };
  await weir.say("hi", { room: "again" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:again");
  assert.equal(keys.length, 2);
  assert.equal(keys[0], keys[1]);
  assert.deepEqual(platform.texts("again"), ["hello Ann"]);
});

test("a long answer goes out in parts, and is resent from the part that failed", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ maxTextLength: 100 });
  await using weir = await startHere(server, platform);
  const answer = Array.from({ length: 10 }, (_, index) => `line ${index} ${"x".repeat(60)}`).join("\n");
  server.respond(() => text(answer));
  const attempts: string[] = [];
  platform.fail = (_operation, message) => {
    attempts.push(message.text.slice(0, 6));
    if (attempts.length === 3) throw new PlatformError("test", "unavailable", "reset", { retryAfterMs: 1 });
  };
  await weir.say("hi", { room: "parts" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:parts");
  assert.equal(platform.texts("parts").join("\n"), answer);
  assert.equal(attempts.length, 11, "only the third part was sent twice");
  assert.equal(attempts[2], attempts[3]);
});

test("where nobody serves the channel any more an answer is left, holds up nothing, and is sent once somebody does", async () => {
  await using server = await startModelServer();
  let isServed = true;
  const platform = new TestPlatform({ serves: ({ platform: name }) => name === "test" && isServed });
  server.respond(() => text("hello Ann"));
  const asked: boolean[] = [];
  platform.fail = () => {
    asked.push(isServed);
    if (!isServed) throw new PlatformError("test", "unavailable", "nobody is there");
  };
  await using weir = await startHere(server, platform);
  server.reply(async (exchange) => {
    isServed = false;
    await text("hello Ann")(exchange);
  });
  await weir.say("hi", { room: "left" });
  await weir.event("delivery_failed", ({ retryInMs }) => retryInMs === null);
  const [row] = await weir.daemon.store.channels.newest(1);
  assert(row !== undefined);
  const actor = weir.daemon.registry.loaded(row.id);
  await until("an idle actor", () => actor?.isIdle === true);
  assert.deepEqual(asked, [false], "it is not tried again by itself");
  isServed = true;
  await weir.daemon.takeUp("test");
  await weir.event("reply_delivered", ({ channel }) => channel === "test:left");
  await weir.daemon.takeUp("test");
  assert.deepEqual(platform.texts("left"), ["hello Ann"]);
  assert.deepEqual(asked, [false, true]);
});

test("a channel that is gone stops no other turn, and is not tried again", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform();
  server.respond(() => text("anybody there?"));
  {
    await using weir = await startHere(server, platform);
    platform.fail = () => {
      throw new PlatformError("test", "gone", "no such channel");
    };
    await weir.say("hi", { room: "gone" });
    const failed = await weir.event("delivery_failed", ({ channel }) => channel === "test:gone");
    assert.equal(failed.retryInMs, null);
  }
  await using again = await startHere(server);
  const left = await again.daemon.store.channels.withWork(["test"], 300);
  assert.ok(left.every(({ address }) => address.name !== "gone"));
});

test("an answer that was not delivered before the end is delivered after the next start", async () => {
  await using server = await startModelServer();
  server.respond(() => text("late but here"));
  {
    const platform = new TestPlatform();
    platform.fail = () => {
      throw new PlatformError("test", "unavailable", "down", { retryAfterMs: 60_000 });
    };
    const config = `[daemon]\ndrain_deadline_ms = 1000\n${CONFIG}`;
    await using weir = await startWeir({
      connection: database.connection,
      modelUrl: server.url,
      config,
      platform,
    });
    await weir.say("hi", { room: "restart" });
    await weir.event("delivery_failed", ({ channel }) => channel === "test:restart");
  }
  await using weir = await startHere(server);
  await weir.event("reply_delivered", ({ channel }) => channel === "test:restart");
  assert.deepEqual(weir.platform.texts("restart"), ["late but here"]);
  assert.equal(server.requests.length, 1, "the model was not asked again");
});

test("a streamed answer is one message that grows into its final text", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ streaming: { intervalMs: 0 } });
  await using weir = await startHere(server, platform);
  server.reply(text(["Once ", "upon ", "a ", "time"], { delayMs: 15 }));
  await weir.say("a story", { room: "stream" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:stream");
  const calls = platform.calls.filter(({ message }) => message.channel.name === "stream");
  assert.equal(calls[0]?.operation, "send");
  assert.equal(calls[0].message.final, false);
  assert.ok(calls.length >= 3);
  assert.equal(new Set(calls.map(({ messageId }) => messageId)).size, 1);
  for (const [index, { message }] of calls.entries()) {
    assert.ok("Once upon a time".startsWith(message.text.trimEnd()), `piece ${index}: ${message.text}`);
  }
  assert.deepEqual(platform.texts("stream"), ["Once upon a time"]);
});

test("a draft whose acknowledgement was lost still ends as one message with the final text", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ streaming: { intervalMs: 0 } });
  await using weir = await startHere(server, platform);
  server.reply(text(["Half ", "and whole"], { delayMs: 15 }));
  const send = platform.send.bind(platform);
  let isLost = false;
  platform.send = async (message) => {
    const id = await send(message);
    if (isLost) return id;
    isLost = true;
    throw new PlatformError("test", "unavailable", "reset after the commit");
  };
  await weir.say("go", { room: "lost-ack" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:lost-ack");
  assert.deepEqual(platform.texts("lost-ack"), ["Half and whole"]);
  assert.equal([...platform.shown.values()].filter(({ channel }) => channel.name === "lost-ack").length, 1);
});

test("an answer that is noted as sent while the log is asked what is undelivered is not sent again", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ takesIdempotencyKeys: false });
  await using weir = await startHere(server, platform);
  const channel = "test:late";
  const { deliveries } = weir.daemon.store;
  const undelivered = deliveries.undelivered.bind(deliveries);
  const send = platform.send.bind(platform);
  const isRead = Promise.withResolvers<void>();
  platform.send = async (message) => {
    await isRead.promise;
    return send(message);
  };
  // The log's answer to the look-up arrives when what it tells of is over.
  deliveries.undelivered = async (id) => {
    const found = await undelivered(id);
    if (found.answers.length === 0) return found;
    isRead.resolve();
    await weir.event("reply_delivered", (event) => event.channel === channel);
    return found;
  };
  server.reply(text("one"), toolCalls([{ name: "skip", arguments: { reason: "thanks" } }]), text("three"));
  await weir.say("hello", { room: "late" });
  await weir.event("turn_settled", (event) => event.channel === channel && event.outcome === "answered");
  // A turn without an answer looks up what is undelivered.
  await weir.say("thanks", { room: "late" });
  await weir.event("turn_settled", (event) => event.channel === channel && event.outcome === "skipped");
  await weir.say("and now?", { room: "late" });
  await platform.until(() => platform.texts("late").includes("three"));
  assert.deepEqual(platform.texts("late"), ["one", "three"]);
  assert.equal(platform.calls.length, 2);
});

test("an answer whose settlement the log confirms late may be sent already: it is looked for first", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform();
  await using weir = await startHere(server, platform);
  await using outside = openStore(database.connection);
  server.respond(() => text("hello Ann"));
  await weir.say("hi", { room: "slow" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:slow");
  const looks: (boolean | undefined)[] = [];
  platform.fail = (_operation, { mayBeThere }) => void looks.push(mayBeThere);
  await using gate = await gateRows(outside, "insert on entries", "new.kind = 'assistant'");
  await weir.say("hi again", { room: "slow" });
  await gate.reached();
  // The time for which nobody takes a channel from a silent daemon.
  await delay(1000);
  await gate.open();
  await until("second answer", () => looks.length === 1);
  assert.deepEqual(looks, [true]);
});

test("an answer that has waited is sent without a look where the channel is still this daemon's, and not where it is another's", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform();
  await using weir = await startHere(server, platform);
  await using outside = openStore(database.connection);
  const channel = "test:waits";
  const send = platform.send.bind(platform);
  const looks: string[] = [];
  let first = Promise.withResolvers<void>();
  platform.send = async (message) => {
    looks.push(`${message.text}: ${message.mayBeThere}`);
    if (["one", "three"].includes(message.text)) await first.promise;
    return send(message);
  };
  server.reply(text("one"), text("two"), text("three"), text("four"));
  const settled = new Set<number>();
  const answerTwo = async (): Promise<void> => {
    for (const question of ["a", "b"]) {
      await weir.say(question, { room: "waits" });
      const isNext = (event: { readonly channel: string; readonly turn: number }): boolean =>
        event.channel === channel && !settled.has(event.turn);
      settled.add((await weir.event("turn_settled", isNext)).turn);
    }
    // The time for which nobody takes a channel from a silent daemon.
    await delay(1000);
  };
  await answerTwo();
  first.resolve();
  await platform.until(() => platform.texts("waits").includes("two"));
  assert.deepEqual(looks, ["one: false", "two: false"]);

  first = Promise.withResolvers<void>();
  await answerTwo();
  const lost = weir.event("channel_lost", (event) => event.channel === channel);
  const row = await outside.store.channels.find({ platform: "test", name: "waits" });
  await outside.store.channels.take(row?.id ?? channelId(0));
  first.resolve();
  await lost;
  assert.ok(!looks.includes("four: false"), looks.join());
});
