// proves: src/context/emergency.ts, src/channel/turns/turn-channel.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { contextLengthError } from "../../support/model-refusals.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";
import { estimateTokens } from "../../../src/text/tokens.ts";
import { piecesIn } from "../../support/request-pieces.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

const CONFIG = `
[[agents]]
id = "main"
model = "test-model"
context_window = 8192
max_output_tokens = 1024
generation_reserve = 1024
[agents.compaction]
enabled = false
`;
async function start({ url }: ModelServer, config = CONFIG): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl: url, config });
}

const USABLE = 8192 - 2048;
const PARAGRAPH = "The quick brown fox jumps over the lazy dog and reports to the committee. ".repeat(8);
/** So many alone fill the window. */
const FULL = Math.ceil(USABLE / estimateTokens(PARAGRAPH));

test("a conversation that outgrows the window is answered all the same, and every request fits", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  // It does not say what it counted: our own estimate is all there is.
  server.respond(() => text("noted", { usage: "none" }));
  for (let index = 1; index <= 60; index++) {
    await weir.say(`${index}: ${PARAGRAPH}`, { room: "long" });
    await weir.event("turn_settled", ({ channel, turn }) => channel === "test:long" && turn === index);
  }
  const sizes = server.requests.map(({ body }) =>
    body.messages.reduce((sum, { content }) => sum + estimateTokens(content ?? ""), 0),
  );
  assert.ok(Math.max(...sizes) <= USABLE, `${Math.max(...sizes)} tokens in ${USABLE}`);
  const emergencies = weir.events.filter(({ type }) => type === "emergency");
  assert.ok(emergencies.length >= 2 && emergencies.length < 20, `${emergencies.length} emergencies`);
  const last = piecesIn(server.requests.at(-1)?.body);
  assert.match(
    last.at(-1)?.content ?? "",
    /\[System: \d+ older messages were truncated due to context limits\]/,
  );
  assert.match(last.at(-2)?.content ?? "", /: 60: The quick/);
  assert.ok(
    last.some(({ content }) => content?.includes(": 59: The quick") === true),
    "the newest stay",
  );
});

test("the omission is durable, and the log keeps every word", async () => {
  await using server = await startModelServer();
  server.respond(() => text("noted"));
  await using weir = await start(server);
  const channel = await weir.daemon.store.channels.find({ platform: "test", name: "long" });
  assert.ok(channel !== undefined && channel.omittedTo > 0 && channel.coveredTo === 0);
  const { history } = await weir.daemon.store.load(channel.id);
  assert.equal(history.entries[0]?.seq, channel.omittedTo + 1);
  assert.equal(history.omission?.count, channel.omittedTo, "every omitted entry of this channel is counted");
  const entries = await weir.daemon.store.log.read(channel.id, 1, channel.lastSeq);
  assert.equal(entries.length, 120);
  assert.equal(entries.filter(({ kind }) => kind === "user").length, 60);
});

test("what was omitted is recalled when it is asked for", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text("noted"));
  await weir.say("My sister's parrot is called Archibald", { room: "recall" });
  await weir.event("turn_settled", ({ channel }) => channel === "test:recall");
  for (let index = 0; index < FULL; index++)
    await weir.say(`${index}: ${PARAGRAPH}`, { room: "recall", addressed: false });
  await weir.say("so much for the foxes", { room: "recall" });
  await weir.event("emergency", ({ channel }) => channel === "test:recall");
  const row = await weir.daemon.store.channels.find({ platform: "test", name: "recall" });
  assert.ok(row);
  await weir.daemon.store.search.indexAll([row.id], 1000);
  await weir.say("what is the parrot called?", { room: "recall" });
  await weir.platform.until(() => weir.platform.texts("recall").length === 3);
  const dynamic = server.requests.at(-1)?.body.messages.at(-1)?.content ?? "";
  assert.match(dynamic, /> \[.*\] Ann: My sister's parrot is called Archibald/);
});

test("a turn recalls what leaves the view while it works", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = "own";
  // The call itself is too much for the window.
  const search = toolCalls([{ name: "search_history", arguments: { query: "fox ".repeat(1500) } }]);
  server.respond(({ messages }) =>
    messages.some(({ role, content }) => role === "user" && content?.includes("look it up") === true) &&
    messages.every(({ role }) => role !== "tool")
      ? search
      : text("noted"),
  );
  await weir.say("My sister's parrot is called Archibald", { room });
  await weir.platform.until(() => weir.platform.texts(room).length === 1);
  for (let index = 0; index < 20; index++)
    await weir.say(`${index}: ${PARAGRAPH}`, { room, addressed: false });
  const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.ok(row);
  await weir.daemon.store.search.indexAll([row.id], 1000);
  const before = server.requests.length;
  await weir.say("what is the parrot called? look it up", { room });
  await weir.platform.until(() => weir.platform.texts(room).length === 2);
  const turns = server.requests
    .slice(before)
    .map(({ body }) => body.messages.map((one) => one.content).join());
  const recalled =
    /Recalled from earlier[^>]*(?:> .*\n)*> \[\d[^\]]*\] Ann: My sister's parrot is called Archibald/;
  const [first = "", second = ""] = turns;
  assert.deepEqual(
    [first, second].map((one) => one.includes("truncated due to context limits")),
    [false, true],
  );
  assert.deepEqual(
    [first, second].map((one) => recalled.test(one)),
    [false, true],
  );
});

test("a server that says how much it takes teaches the window, and the turn goes on", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, CONFIG.replace("context_window = 8192", "context_window = 32768"));
  for (let index = 0; index < 40; index++)
    await weir.say(`${index}: ${PARAGRAPH}`, { room: "learn", addressed: false });
  server.reply(contextLengthError("openai", 6000), text("it fits now"));
  await weir.say("and?", { room: "learn" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:learn");
  assert.deepEqual(weir.platform.texts("learn"), ["it fits now"]);
  assert.equal(server.requests.length, 2);
  const [first = 0, second = 0] = server.requests.map(({ body }) => JSON.stringify(body.messages).length);
  assert.ok(second < first / 2, `${second} after ${first}`);
});

test("a paste larger than the window is answered from a cut copy, and logged whole", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.reply(text("that was long"));
  const paste = `${"lorem ipsum ".repeat(20_000)}the end`;
  await weir.say(paste, { room: "paste" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:paste");
  const shown = piecesIn(server.requests[0]?.body).at(-2)?.content ?? "";
  assert.match(shown, /characters in all/);
  assert.ok(shown.endsWith("the end"));
  const row = await weir.daemon.store.channels.find({ platform: "test", name: "paste" });
  assert.ok(row);
  const [entry] = await weir.daemon.store.log.read(row.id, 1, 1);
  assert.equal(entry?.kind === "user" && entry.text, paste);
});

test("what was omitted is told at once by its extract, and what of it was deleted by none", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text("noted"));
  const room = "extract";
  const dynamic = (): string => server.requests.at(-1)?.body.messages.at(-1)?.content ?? "";
  await weir.say("The contract with Nordwind ends on 2026-12-31, decided Ann", { room });
  await weir.platform.until(() => weir.platform.texts(room).length === 1);
  await weir.say("The door code of the archive is 774411", { room, id: "secret", addressed: false });
  for (let index = 0; index < 36; index++)
    await weir.say(`${index}: ${PARAGRAPH}`, { room, addressed: false });
  await weir.say("so much for the foxes", { room });
  await weir.platform.until(() => weir.platform.texts(room).length === 2);
  // More than one where the compactor comes before the turn.
  assert.ok(weir.events.some(({ type }) => type === "emergency"));
  const told =
    /truncated due to context limits\].*\n\nWhat is left of them\. .*\n> An extract, word for word, of \d+ messages/;
  assert.match(dynamic(), told);
  assert.match(dynamic(), /^> \[.{16}\] Ann: The contract with Nordwind ends on 2026-12-31/m);
  assert.match(dynamic(), /^> \[.{16}\] Ann: The door code of the archive is 774411/m);

  await weir.daemon.inbox.receive({
    type: "deletion",
    platform: "test",
    id: "secret",
    at: new Date(),
  });
  await weir.say("and now?", { room });
  await weir.platform.until(() => weir.platform.texts(room).length === 3);
  assert.match(dynamic(), told);
  assert.match(dynamic(), /Nordwind/);
  assert.doesNotMatch(dynamic(), /774411/);
});
