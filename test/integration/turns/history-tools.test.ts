// proves: src/tools/search-history.ts, src/tools/read-messages.ts, src/memory/history-search.ts, src/channel/turns/turn-recall.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { authorOf, BEN, command } from "../../support/commands.ts";
import { coverRoom } from "../../support/covered.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
/** No summary is written again: its model is the one whose requests are read. */
const CONFIG = `
[[agents]]
id = "main"
model = "test-model"
time_zone = "UTC"
[agents.compaction]
enabled = false
`;

async function start(server: ModelServer): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl: server.url, config: CONFIG });
}

/** Says lines that need no answer, one a minute. */
async function listen(weir: TestWeir, room: string, lines: readonly string[], from = 0): Promise<void> {
  for (const [index, line] of lines.entries()) {
    const number = from + index;
    await weir.say(line, {
      room,
      id: `${room}-${number}`,
      addressed: false,
      author: authorOf(BEN),
      at: new Date(Date.UTC(2026, 10, 21, 9, number)),
    });
  }
}

/** What the calls of one turn bring, in their order. */
async function called(
  weir: TestWeir,
  server: ModelServer,
  room: string,
  calls: readonly { readonly name: string; readonly arguments: object }[],
): Promise<string[]> {
  const before = [server.requests.length, weir.platform.texts(room).length] as const;
  server.reply(toolCalls(calls), text("found"));
  await weir.say("please look", { room });
  await weir.platform.until(() => weir.platform.texts(room).length > before[1]);
  const made = server.requests[before[0] + 1]?.body.messages ?? [];
  return made.flatMap(({ role, content }) => (role === "tool" ? (content ?? "") : [])).slice(-calls.length);
}

test("a search leaves out what the request shows, and its numbers and those of summaries are read on", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = "read";
  await listen(weir, room, ["the mill is for sale", "how much?", "eleven thousand", "the mill needs a roof"]);
  await coverRoom(database.connection, room, "They spoke of the mill.");
  await listen(weir, room, ["the mill is sold"], 4);
  const [found, around, whole, part, none] = await called(weir, server, room, [
    { name: "search_history", arguments: { query: "mill" } },
    { name: "search_history", arguments: { query: "thousand", limit: 1, context: 1 } },
    { name: "read_messages", arguments: { from: 1 } },
    { name: "read_messages", arguments: { from: 3, to: 99 } },
    { name: "read_messages", arguments: { from: 5 } },
  ]);
  assert.match(found ?? "", /^1\. \[2026-11-21 09:00\] Ben: the mill is for sale$/m);
  assert.match(found ?? "", /^4\. \[2026-11-21 09:03\] Ben: the mill needs a roof$/m);
  assert.doesNotMatch(found ?? "", /sold/);
  assert.match(around ?? "", /^2\. .*how much\?\n3\. .*eleven thousand\n4\. .*roof$/m);
  const lines = (whole ?? "").split("\n").map((line) => line.replace(/^(\d+)\. .*Ben: /, "$1 "));
  assert.deepEqual(lines, [
    "1 the mill is for sale",
    "2 how much?",
    "3 eleven thousand",
    "4 the mill needs a roof",
  ]);
  assert.match(part ?? "", /^3\. [^\n]*\n4\. [^\n]*$/);
  assert.match(none ?? "", /^Nothing is to be read under these numbers/);
  const shown = JSON.stringify(server.requests[0]?.body);
  assert.match(shown, /\[Compaction Summary\]: \(2026-11-21 09:00 – 09:03, 4 messages from #1\) They spoke/);
});

test("each channel is read by its own numbers, and none by those of another one", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  await listen(weir, "inner", ["the code is zxqinner", "keep it"]);
  await listen(weir, "outer", ["good morning", "and to you"]);
  for (const room of ["inner", "outer"]) await coverRoom(database.connection, room);
  const told = await called(weir, server, "outer", [
    { name: "read_messages", arguments: { from: 1, to: 1_000_000 } },
    { name: "search_history", arguments: { person: "Ben" } },
    { name: "search_history", arguments: { query: "the code", when: "2026-11-21", context: 3 } },
  ]);
  assert.match(told[0] ?? "", /good morning/);
  assert.doesNotMatch(told.join("\n"), /zxqinner/);
});

test("an agent finds its own answers by its name, and people by theirs", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = "own";
  server.reply(text("I will oil the wheel tomorrow."));
  await weir.say("who oils the wheel?", { room, author: authorOf(BEN) });
  await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  await coverRoom(database.connection, room);
  const [own, bens, words] = await called(weir, server, room, [
    { name: "search_history", arguments: { person: "Main", query: "wheel" } },
    { name: "search_history", arguments: { person: "ben", query: "wheel" } },
    { name: "search_history", arguments: { person: "main" } },
  ]);
  assert.match(own ?? "", /^2\. \[[^\]]+\] you: I will oil the wheel tomorrow\.$/);
  assert.match(bens ?? "", /^1\. \[[^\]]+\] Ben: who oils the wheel\?$/);
  assert.equal(words, own);
});

test("what was read goes with its message, and reads as an edit has it", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = "gone";
  await listen(weir, room, ["the code is zxqgone", "the mill is blue", "yes"]);
  await coverRoom(database.connection, room);
  const before = await called(weir, server, room, [{ name: "read_messages", arguments: { from: 1 } }]);
  assert.match(before[0] ?? "", /zxqgone\n.*mill is blue/);
  const change = { platform: "test", channel: { platform: "test", name: room }, at: new Date() } as const;
  await weir.daemon.inbox.receive({ type: "deletion", id: `${room}-0`, ...change });
  await weir.daemon.inbox.receive({ type: "edit", id: `${room}-1`, text: "the mill is green", ...change });
  const again = await called(weir, server, room, [{ name: "read_messages", arguments: { from: 1 } }]);
  assert.match(again[0] ?? "", /^1\. .*Ben: \(this message was deleted\)\n2\. .*mill is green\n3\. /);
  const tools = (server.requests.at(-1)?.body.messages ?? []).filter(({ role }) => role === "tool");
  assert.equal(tools.length, 2);
  assert.doesNotMatch(JSON.stringify(tools), /zxqgone|is blue/);
});

test("nothing from before a reset is read or found", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = "fresh";
  await listen(weir, room, ["the code is zxqbefore"]);
  await coverRoom(database.connection, room);
  await listen(weir, room, ["keep it"], 1);
  assert.match(await command(weir, room, "reset"), /^Reset: /);
  await listen(weir, room, ["good morning"], 2);
  const told = await called(weir, server, room, [
    { name: "read_messages", arguments: { from: 1, to: 9 } },
    { name: "search_history", arguments: { query: "code zxqbefore" } },
    { name: "search_history", arguments: { person: "Ben" } },
  ]);
  assert.doesNotMatch(told.join("\n"), /zxqbefore/);
});
