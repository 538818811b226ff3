// proves: src/admin/commands/memory.ts, src/router/text-commands.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { InboundMessage, Receipt } from "../../../src/core/message.ts";
import { translateDatabaseError } from "../../../src/store/database/errors.ts";
import { openStore } from "../../store/open-store.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import { checkFold } from "../../support/compaction.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
const open = openStore(database.connection);
after(async () => {
  await open[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
});
const CONFIG = `[[agents]]\nid = "main"\nname = "Weir"\nmodel = "test-model"\ntime_zone = "UTC"\n`;

/** A daemon on a platform where people type commands into their messages; `room` has been spoken in. */
async function start(server: ModelServer, room: string): Promise<TestWeir> {
  const platform = new TestPlatform({ hasTextCommands: true });
  const weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    platform,
  });
  await weir.say("hello", { room, addressed: false, author: authorOf(BEN) });
  return weir;
}

/** Ann types it. */
async function type(
  weir: TestWeir,
  room: string,
  words: string,
  extra: Partial<InboundMessage> = {},
): Promise<void> {
  const id = `${room}-typed`;
  const receipt = await weir.say(words, { room, id, author: authorOf(ANN), ...extra });
  assert.deepEqual(receipt, { outcome: "command" });
}

async function takeBack(weir: TestWeir, room: string): Promise<Receipt> {
  return weir.daemon.inbox.receive({
    type: "deletion",
    platform: "test",
    channel: { platform: "test", name: room },
    id: `${room}-typed`,
    at: new Date(),
  });
}

async function edit(weir: TestWeir, room: string, words: string): Promise<Receipt> {
  return weir.daemon.inbox.receive({
    type: "edit",
    platform: "test",
    channel: { platform: "test", name: room },
    id: `${room}-typed`,
    text: words,
    at: new Date(),
  });
}

async function ask(weir: TestWeir, room: string, question: string): Promise<void> {
  const id = `${room}-${question}`;
  await weir.say(question, { room, id });
  await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(id));
}

/** The statements that are remembered in a channel, with how many messages prove each. */
async function statements(room: string): Promise<unknown[][]> {
  const rows = await open.sql(
    `select m.statement, count(s.seq)::integer as proofs from memories m join channels c on c.id = m.channel_id
       left join memory_sources s on s.memory_id = m.id where c.name = $1 group by m.id order by m.id`,
    room,
  );
  return rows.map(({ statement, proofs }) => [statement, proofs]);
}

test("a typed /remember that is deleted takes its entry and its memory, and stands in no later prompt", async () => {
  await using server = await startModelServer();
  server.respond(() => text("I do not know."));
  await using weir = await start(server, "deleted");
  const at = new Date("2026-11-20T09:00:00Z");
  await type(weir, "deleted", "@Weir /remember my shelf mark is  zxq4711", { at });
  const [entry] = await open.sql("select e.at, e.text from entries e where e.message_id = 'deleted-typed'");
  assert.deepEqual(entry, { at, text: "@Weir /remember my shelf mark is  zxq4711" });
  assert.deepEqual(await statements("deleted"), [["my shelf mark is zxq4711", 1]]);
  assert.equal((await takeBack(weir, "deleted")).outcome, "accepted");
  assert.deepEqual(await rowsWith(open, "zxq4711"), []);
  assert.deepEqual(await statements("deleted"), []);
  await ask(weir, "deleted", "what is the shelf mark?");
  assert.doesNotMatch(JSON.stringify(server.requests), /zxq4711/);
  await type(weir, "deleted", "@Weir /remember my shelf mark is  zxq4711", { at });
  assert.deepEqual(await rowsWith(open, "zxq4711"), [], "delivered again, it stays gone");
});

test("a typed /remember that is delivered twice is kept and answered once", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, "twice");
  await Promise.all([1, 2].map(async () => type(weir, "twice", "@Weir /remember the zxqgate sticks")));
  await type(weir, "twice", "@Weir /remember the zxqgate sticks");
  await weir.platform.until(() => weir.platform.texts("twice").length > 0);
  assert.deepEqual(await statements("twice"), [["the zxqgate sticks", 1]]);
  assert.equal((await open.sql("select from entries where message_id = 'twice-typed'")).length, 1);
  assert.equal(weir.platform.texts("twice").length, 1);
});

test("a typed /remember that is edited: the memory says what the message says now, and nothing of what it said", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, "edited");
  await type(weir, "edited", "@Weir /remember my shelf mark is zxq4711");
  const recall = toolCalls([{ name: "memory_recall", arguments: { query: "shelf mark" } }]);
  server.reply(recall, text("You told me."));
  await ask(weir, "edited", "what is the code?");
  assert.equal(
    (await edit(weir, "edited", "@Weir /remember my shelf mark is zxq4711, backwards")).outcome,
    "accepted",
  );
  assert.deepEqual(await statements("edited"), [["my shelf mark is zxq4711, backwards", 1]]);
  // What a tool found is shown as it is in the log.
  await checkFold(weir, "edited");
  await edit(weir, "edited", "@Weir /remember my shelf mark is zxq5822");
  assert.deepEqual(await statements("edited"), [["my shelf mark is zxq5822", 1]]);
  assert.doesNotMatch(await command(weir, "edited", "memory"), /zxq4711/);
  await edit(weir, "edited", "@Weir never mind");
  assert.deepEqual(await statements("edited"), []);
  await checkFold(weir, "edited");
  await takeBack(weir, "edited");
  for (const words of ["zxq4711", "zxq5822", "never mind"])
    assert.deepEqual(await rowsWith(open, words), [], words);
});

test("a typed /remember whose commit nobody hears of brings nothing back that was deleted or edited meanwhile", async () => {
  await using server = await startModelServer();
  for (const [room, left] of [
    ["unheard-deleted", []],
    ["unheard-edited", [["the zxqdoor sticks", 1]]],
  ] as const) {
    await using weir = await start(server, room);
    const { people } = weir.daemon.store;
    const remember = people.remember.bind(people);
    let isFirst = true;
    people.remember = async (...words) => {
      const known = await remember(...words);
      if (!isFirst) return known;
      isFirst = false;
      if (left.length === 0) await takeBack(weir, room);
      else await edit(weir, room, "@Weir /remember the zxqdoor sticks");
      throw translateDatabaseError(Object.assign(new Error("cut"), { code: "ECONNRESET" }));
    };
    await type(weir, room, "@Weir /remember the zxqgarage sticks");
    await weir.platform.until(() => weir.platform.texts(room).length > 0);
    assert.match(weir.platform.texts(room)[0] ?? "", /^Nothing is remembered: /);
    assert.deepEqual(await statements(room), left);
    assert.deepEqual(await rowsWith(open, "zxqgarage"), []);
    await checkFold(weir, room);
    await takeBack(weir, room);
    for (const words of ["zxqgarage", "zxqdoor"]) assert.deepEqual(await rowsWith(open, words), [], words);
  }
});

test("a typed /remember that is edited: the memory of others stays, and an edit that changes nothing changes nothing", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, "shared");
  await command(weir, "shared", "remember the mill is zxqclosed", ANN);
  await type(weir, "shared", "@Weir /remember the mill is zxqclosed");
  const [before] = await open.sql("select id from memories where statement like '%zxqclosed%'");
  assert.deepEqual(await edit(weir, "shared", "@Weir /remember the mill is zxqclosed"), {
    outcome: "duplicate",
    seq: 3,
  });
  assert.deepEqual(await statements("shared"), [["the mill is zxqclosed", 2]]);
  await edit(weir, "shared", "@Weir /remember the mill is zxqopen");
  assert.deepEqual(await statements("shared"), [
    ["the mill is zxqclosed", 1],
    ["the mill is zxqopen", 1],
  ]);
  assert.deepEqual(await open.sql("select id from memories where statement like '%zxqclosed%'"), [before]);
});

test("a typed /remember that is edited twice: one memory says what the message says now, and nothing what it said between", async () => {
  await using server = await startModelServer();
  const room = "typed-twice";
  await using weir = await start(server, room);
  await type(weir, room, "/remember the gate code is zxqfour");
  await edit(weir, room, "/remember the gate code is zxqfive");
  await edit(weir, room, "/remember the gate code is zxqsix");
  const kept = await open.sql(
    "select m.statement from memories m join channels c on c.id = m.channel_id where c.name = $1",
    room,
  );
  assert.deepEqual(kept, [{ statement: "the gate code is zxqsix" }]);
  for (const word of ["zxqfour", "zxqfive"]) assert.deepEqual(await rowsWith(open, word), [], word);
  await edit(weir, room, "never mind");
  assert.deepEqual(await rowsWith(open, "zxqsix"), []);
});
