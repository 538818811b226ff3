// proves: src/daemon/daemon.ts, src/channel/waker.ts, src/store/database/database.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import type { Receipt } from "../../../src/core/message.ts";
import { cutStatements } from "../../support/cut-statements.ts";
import { createTestDatabase } from "../../support/database.ts";
import { stalledStream, text, toolCalls } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";
import { openStore, type OpenStore } from "../../store/open-store.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;

/** Ends every connection of the daemon, as a restart of the server would. */
async function cut(outside: OpenStore): Promise<void> {
  await outside.sql(
    `select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid <> pg_backend_pid()`,
  );
}

/** Lets the next write of this kind fail as if the server went away. @returns whether it has failed by now */
async function failOnce(outside: OpenStore, name: string, write: string): Promise<() => Promise<boolean>> {
  // A sequence remembers over the rollback of what drew from it.
  await outside.db.script(`
    create sequence fail_${name}_calls;
    create function fail_${name}() returns trigger language plpgsql as $$
    begin
      if nextval('fail_${name}_calls') = 1 then raise exception 'away' using errcode = '57P01'; end if;
      return new;
    end $$;
    create trigger fail_${name} before ${write} for each row execute function fail_${name}()`);
  return async () => {
    const [row] = await outside.sql<{ called: boolean }>(
      `select is_called as called from fail_${name}_calls`,
    );
    return row?.called === true;
  };
}

/** What an adapter does: the event is not acknowledged before it is durable, so it comes again. */
async function untilTaken(
  weir: TestWeir,
  words: string,
  options: { room: string; id: string },
): Promise<Receipt> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await weir.say(words, options);
    } catch (error) {
      if (attempt === 100) throw error;
      await delay(20);
    }
  }
}

test("while connections are cut at random, every message is answered once and the log stays dense", async () => {
  await using server = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  await using outside = openStore(database.connection);
  server.respond((_, index) =>
    index % 5 === 0
      ? toolCalls([{ name: "search_history", arguments: { query: "hi" } }])
      : text(`answer ${index}`),
  );
  const rooms = ["cut-a", "cut-b", "cut-c", "cut-d"];
  const messages = Array.from({ length: 80 }, (_, index) => ({
    id: `cut-${index}`,
    room: rooms[index % rooms.length] ?? "",
  }));
  const done = new AbortController();
  let cuts = 0;
  let taken = 0;
  const cutting = (async () => {
    for (let before = -1; !done.signal.aborted;) {
      await delay(40 + Math.random() * 120);
      // A busy machine may take longer than that for a connection and an append: it would never get on.
      if (taken === before) continue;
      before = taken;
      await cut(outside);
      cuts++;
    }
  })();
  for (const { id, room } of messages) {
    await untilTaken(weir, `hi ${id}`, { room, id });
    taken++;
    if (Math.random() < 0.5) await delay(10);
  }
  done.abort();
  await cutting;
  for (const { id, room } of messages) {
    await weir.event(
      "turn_settled",
      ({ channel, inReplyTo }) => channel === `test:${room}` && inReplyTo.includes(id),
    );
  }
  const told = weir.events.flatMap((event) => (event.type === "turn_settled" ? event.inReplyTo : []));
  assert.deepEqual(told.toSorted(), messages.map(({ id }) => id).toSorted(), `after ${cuts} cuts`);
  for (const room of rooms) {
    const row = await outside.store.channels.find({ platform: "test", name: room });
    assert.ok(row);
    const { history, running } = await outside.store.load(row.id);
    assert.equal(running, null);
    assert.deepEqual(
      history.entries.map(({ seq }) => seq),
      Array.from({ length: history.lastSeq }, (_, index) => index + 1),
    );
    const said = history.entries.flatMap((entry) => (entry.kind === "user" ? [entry.messageId] : []));
    assert.deepEqual(
      said,
      messages.filter((message) => message.room === room).map(({ id }) => id),
    );
    const answers = history.entries.flatMap((entry) =>
      entry.kind === "assistant" || (entry.kind === "notice" && entry.text !== "") ? [entry.text] : [],
    );
    await weir.platform.until(() => weir.platform.texts(room).length >= answers.length);
    assert.deepEqual(weir.platform.texts(room), answers, "each answer is shown once, in order");
  }
});

test("a channel that could not be loaded when its message came is answered without a further message", async () => {
  await using server = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  await using outside = openStore(database.connection);
  server.respond(() => text("here I am"));
  // The append goes through, and the load behind it does not.
  await failOnce(outside, "load", "update of epoch on channels");
  assert.equal((await weir.say("hello?", { room: "unloaded" })).outcome, "accepted");
  await weir.event("reply_delivered", ({ channel }) => channel === "test:unloaded");
});

test("a message whose first delivery was cut off behind its commit is answered when it comes again", async () => {
  await using server = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  await using outside = openStore(database.connection);
  server.respond(() => text("yes"));
  await weir.say("first", { room: "again", id: "a1" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:again");
  const row = await outside.store.channels.find({ platform: "test", name: "again" });
  assert.ok(row);
  await outside.say(row.id, "second", { id: "a2" });
  const receipt = await weir.say("second", { room: "again", id: "a2" });
  assert.equal(receipt.outcome, "duplicate");
  await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("a2"));
});

test("a daemon that loses a channel while its model answers lets go of it, and asks no more", async () => {
  await using server = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  await using outside = openStore(database.connection);
  for (const phase of ["model", "tools", "draft"] as const) {
    const room = `lost-${phase}`;
    const gate = Promise.withResolvers<void>();
    const before = server.requests.length;
    server.reply(async (exchange) => {
      await gate.promise;
      await (
        phase === "tools" ? toolCalls([{ name: "search_history", arguments: { query: "x" } }]) : text("late")
      )(exchange);
    });
    await weir.say("hello", { room });
    await server.received(before + 1);
    const row = await outside.store.channels.find({ platform: "test", name: room });
    assert.ok(row);
    await outside.store.channels.take(row.id);
    gate.resolve();
    await weir.event("channel_lost", ({ channel }) => channel === `test:${room}`);
    assert.equal(weir.daemon.registry.loaded(row.id), undefined);
    assert.equal(server.requests.length, before + 1);
    assert.deepEqual(weir.platform.texts(room), []);
  }
});

test("a message that comes after another daemon had its idle channel is answered", async () => {
  await using server = await startModelServer();
  const config = `[daemon]\nmax_loaded_channels = 1\n${CONFIG}`;
  await using weir = await startWeir({ connection: database.connection, modelUrl: server.url, config });
  await using outside = openStore(database.connection);
  server.respond(() => text("hello"));
  for (const room of ["lent", "other"]) {
    await weir.say("hi", { room });
    await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  }
  weir.daemon.eviction.evictIdle();
  const row = await outside.store.channels.find({ platform: "test", name: "lent" });
  assert.ok(row);
  await outside.store.channels.take(row.id);
  await weir.say("back again", { room: "lent", id: "lent-2" });
  await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes("lent-2"));
});

test("a deletion that was committed without our hearing of it reaches the running turn", async () => {
  await using server = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  await using outside = openStore(database.connection);
  await weir.say("zxqdoubt is the word", { room: "doubt", id: "w1", addressed: false });
  server.reply(stalledStream(), text("which word?"));
  await weir.say("what is the word?", { room: "doubt" });
  await server.received(1);
  const row = await outside.store.channels.find({ platform: "test", name: "doubt" });
  assert.ok(row);
  // The first attempt is committed and then cut; the second finds nothing left to delete.
  const hasFailed = await failOnce(outside, "delete", "update on entries");
  const channel = { platform: "test", name: "doubt" };
  const deleting = weir.daemon.inbox.receive({
    type: "deletion",
    platform: "test",
    channel,
    id: "w1",
    at: new Date(),
  });
  while (!(await hasFailed())) await delay(5);
  await outside.store.log.delete(row.id, "w1", TEST_DIGESTER);
  await deleting;
  await weir.event("reply_delivered", ({ channel: name }) => name === "test:doubt");
  assert.doesNotMatch(JSON.stringify(server.requests.at(-1)?.body), /zxqdoubt/);
});

test("a deletion is stored though the connection is cut over its look-up", async () => {
  await using server = await startModelServer();
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
  });
  await using outside = openStore(database.connection);
  await weir.say("the code is zxqlookup", { room: "lookup", id: "l1", addressed: false });
  const cutting = await cutStatements(outside, "where e.message_id = $2", 2);
  const taking = weir.daemon.inbox.receive({
    type: "deletion",
    platform: "test",
    id: "l1",
    at: new Date(),
  });
  await cutting.done;
  assert.equal((await taking).outcome, "accepted");
  assert.deepEqual(await rowsWith(outside, "zxqlookup"), []);
});

test("a start under which the database is cut goes on when it is back", async () => {
  await using server = await startModelServer();
  await using outside = openStore(database.connection);
  for (const [words, table] of [
    ["left join search_progress", "channels"],
    ["or omitted_to > covered_to", "turns"],
  ] as const) {
    const cutting = await cutStatements(outside, words, 2, table);
    const starting = startWeir({
      connection: database.connection,
      modelUrl: server.url,
      config: CONFIG,
    });
    await cutting.done;
    await using weir = await starting;
    await weir.say("are you there?", { room: "cut-at-start" });
    await weir.event("reply_delivered", ({ channel }) => channel === "test:cut-at-start");
  }
});
