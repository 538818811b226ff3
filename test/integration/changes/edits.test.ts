// proves: src/router/message-changes.ts, src/channel/guarded-history.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { checkFold } from "../../support/compaction.ts";
import { coverRoom } from "../../support/covered.ts";
import { createTestDatabase } from "../../support/database.ts";
import { stalledStream, status, text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";
import { openStore } from "../../store/open-store.ts";
import { rowsWith } from "../../store/rows-with.ts";
import { piecesIn } from "../../support/request-pieces.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;
/** No summary is written again: its model is the one whose requests are read. */
const ASLEEP = `${CONFIG}[agents.compaction]\nenabled = false\n`;

async function start(server: ModelServer, platform = new TestPlatform(), config = CONFIG): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl: server.url, config, platform });
}

async function erase(weir: TestWeir, room: string, id: string): Promise<void> {
  const channel = { platform: "test", name: room };
  const receipt = await weir.daemon.inbox.receive({
    type: "deletion",
    platform: "test",
    channel,
    id,
    at: new Date(),
  });
  assert.equal(receipt.outcome, "accepted");
}

async function change(weir: TestWeir, room: string, id: string, words: string): Promise<void> {
  const channel = { platform: "test", name: room };
  const event = { type: "edit", platform: "test", channel, id, text: words, at: new Date() } as const;
  assert.equal((await weir.daemon.inbox.receive(event)).outcome, "accepted");
}

test("a text that is deleted during a turn is in no later request, in no row, and not in the answer", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, new TestPlatform({ streaming: { intervalMs: 0 } }));
  await weir.say("the code is zxqsecret", { room: "during", id: "d1", addressed: false });
  server.reply(stalledStream("You said the"), text("I know no code."));
  await weir.say("what is the code?", { room: "during" });
  await weir.platform.until(() => weir.platform.calls.length > 0);
  await erase(weir, "during", "d1");
  await weir.event("reply_delivered", ({ channel }) => channel === "test:during");
  assert.deepEqual(weir.platform.texts("during"), ["I know no code."]);
  assert.equal(weir.platform.shown.size, 1, "the draft became the answer");
  assert.equal(server.requests.length, 2);
  assert.equal(await server.requests[0]?.done, "aborted");
  assert.match(JSON.stringify(server.requests[0]?.body), /zxqsecret/);
  assert.doesNotMatch(JSON.stringify(server.requests[1]?.body), /zxqsecret/);
  await using store = openStore(database.connection);
  assert.deepEqual(await rowsWith(store, "zxqsecret"), []);
});

test("deletions during one turn, however many, are no failed attempts of it", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const ids = Array.from({ length: 8 }, (_, index) => `purge-${index}`);
  for (const id of ids) await weir.say(`spam ${id}`, { room: "purge", id, addressed: false });
  server.respond(({ messages }) =>
    messages.some(({ content }) => content?.includes("spam purge") === true)
      ? stalledStream("So")
      : text("all clean"),
  );
  await weir.say("clean up, please", { room: "purge" });
  for (const [index, id] of ids.entries()) {
    await server.received(index + 1);
    await erase(weir, "purge", id);
  }
  await weir.event("reply_delivered", ({ channel }) => channel === "test:purge");
  assert.deepEqual(weir.platform.texts("purge"), ["all clean"]);
});

test("a turn whose every message was deleted ends without asking the model again", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.reply(stalledStream());
  await weir.say("never mind", { room: "void", id: "v1" });
  await server.received(1);
  await erase(weir, "void", "v1");
  const settled = await weir.event("turn_settled", ({ channel }) => channel === "test:void");
  assert.equal(settled.outcome, "skipped");
  assert.deepEqual(settled.inReplyTo, ["v1"]);
  assert.equal(server.requests.length, 1);
  assert.deepEqual(weir.platform.texts("void"), []);
});

test("a message that is deleted while its channel is being loaded does not reach the model", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text("yes"));
  for (let round = 0; round < 15; round++) {
    const room = `loading-${round}`;
    await weir.say(`zxqloading ${round}`, { room, id: `l-${round}`, addressed: false });
    const said = weir.say("are you there?", { room });
    await Promise.all([said, erase(weir, room, `l-${round}`)]);
    const sent = server.requests.length;
    await weir.event("turn_settled", ({ channel }) => channel === `test:${room}`);
    // What was sent before the deletion was done is no matter; the next turn must not know of it.
    await weir.say("and now?", { room });
    await weir.platform.until(() => weir.platform.texts(room).length === 2);
    const next = server.requests.slice(sent).at(-1);
    assert.doesNotMatch(JSON.stringify(next?.body), /zxqloading/);
  }
});

test("what a tool result quotes goes with the message that it quotes", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, new TestPlatform(), ASLEEP);
  await weir.say("my locker is zxqlocker", { room: "quoted", id: "q1", addressed: false });
  await coverRoom(database.connection, "quoted");
  server.reply(
    toolCalls([{ name: "search_history", arguments: { query: "locker" } }]),
    text("found it"),
    text("no"),
  );
  await weir.say("look for my locker", { room: "quoted" });
  await weir.platform.until(() => weir.platform.texts("quoted").length === 1);
  const result = server.requests[1]?.body.messages.find(({ role }) => role === "tool");
  assert.match(result?.content ?? "", /zxqlocker/);
  await erase(weir, "quoted", "q1");
  await weir.say("and now?", { room: "quoted" });
  await weir.platform.until(() => weir.platform.texts("quoted").length === 2);
  assert.doesNotMatch(JSON.stringify(server.requests[2]?.body), /zxqlocker/);
  assert.ok(server.requests[2]?.body.messages.some(({ role }) => role === "tool"));
});

test("what a tool result quotes reads as an edit has it, and what the model has read itself stays as it was", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, new TestPlatform(), ASLEEP);
  const room = "requoted";
  await weir.say("my locker is zxqlocker", { room, id: "r1", addressed: false });
  await coverRoom(database.connection, room);
  await weir.say("the mill is blue", { room, id: "r2", addressed: false });
  const search = toolCalls([{ name: "search_history", arguments: { query: "locker" } }]);
  server.reply(search, text("found it"), text("elsewhere"));
  await weir.say("look for my locker", { room });
  await weir.platform.until(() => weir.platform.texts(room).length === 1);
  await change(weir, room, "r1", "my locker is secret");
  await change(weir, room, "r2", "the mill is green");
  await weir.say("and now?", { room });
  await weir.platform.until(() => weir.platform.texts(room).length === 2);
  const [was, is] = [1, 2].map((index) => piecesIn(server.requests[index]?.body));
  const saidIn = (messages: typeof was, by: string): string[] =>
    (messages ?? []).flatMap(({ role, content }) => (role === by ? (content ?? "") : []));
  assert.match(saidIn(was, "tool").join(), /zxqlocker/);
  assert.match(saidIn(is, "tool").join(), /Ann: my locker is secret$/);
  const mill = (messages: typeof was): string[] =>
    saidIn(messages, "user").filter((line) => line.includes("mill is blue"));
  assert.equal(mill(was).length, 1);
  assert.deepEqual(mill(is), mill(was));
  assert.ok(saidIn(is, "user").some((line) => line.startsWith("[System: ") && line.includes("is green")));
  await checkFold(weir, room);
});

test("what a provider or the model says of a text is in the log line of its turn, and in no row once it is deleted", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  await using open = openStore(database.connection);
  const words = "the code is zxqechoed";
  const why = `invalid input: ${words}`;
  server.reply(
    status(422, { error: { message: why, type: "invalid_request_error" } }),
    toolCalls([{ name: "skip", arguments: { reason: `Ann only told Ben that ${words}` } }]),
  );
  const told: string[] = [];
  for (const id of ["refused", "skipped"]) {
    await weir.say(words, { room: "echo", id });
    const { reason, said = "" } = await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(id));
    told.push(`${reason}: ${said}`);
    await erase(weir, "echo", id);
  }
  assert.match(told[0] ?? "", /^rejected \(test-model, HTTP 422, invalid_request_error\): .*zxqechoed/);
  assert.match(told[1] ?? "", /zxqechoed/);
  assert.deepEqual(await rowsWith(open, "zxqechoed"), []);
  const rows = await open.sql(
    "select t.state, t.reason from turns t join channels c on c.id = t.channel_id where c.name = 'echo' order by t.id",
  );
  assert.deepEqual(rows, [
    { state: "failed", reason: "rejected (test-model, HTTP 422, invalid_request_error)" },
    { state: "skipped", reason: null },
  ]);
});

test("an edit of what was not answered yet is what the model reads; a later one comes as a note", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text("noted"));
  await weir.say("meet at five", { room: "edited", id: "e1", addressed: false });
  await change(weir, "edited", "e1", "meet at six");
  await weir.say("when?", { room: "edited" });
  await weir.platform.until(() => weir.platform.texts("edited").length === 1);
  const first = piecesIn(server.requests[0]?.body).map(({ content }) => content ?? "");
  assert.ok(first.some((line) => line.endsWith("Ann: meet at six")));
  assert.doesNotMatch(first.join("\n"), /five/);
  await change(weir, "edited", "e1", "meet at seven");
  await weir.say("and now?", { room: "edited" });
  await weir.platform.until(() => weir.platform.texts("edited").length === 2);
  const second = piecesIn(server.requests[1]?.body).map(({ content }) => content ?? "");
  assert.ok(
    second.some((line) => line.endsWith("Ann: meet at six")),
    "what was read stays as it was read",
  );
  assert.ok(second.some((line) => line.includes("meet at seven")));
});
