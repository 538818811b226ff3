// proves: src/channel/actor.ts, src/channel/turns/turn-runner.ts, src/channel/turns/turn-channel.ts, src/turn/turn.ts, src/store/turns/turns.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { coverRoom } from "../../support/covered.ts";
import { createTestDatabase } from "../../support/database.ts";
import { Gate } from "../../support/e2e-model.ts";
import { rateLimited, stalledStream, status, text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { openStore } from "../../store/open-store.ts";
import { byWords } from "../../support/search-words.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";
import { piecesIn } from "../../support/request-pieces.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

async function start(server: ModelServer, config = ""): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl: server.url, config });
}

const CONFIG = `
[llm]
max_retries = 1
first_token_timeout_ms = 30000
idle_timeout_ms = 30000
[[agents]]
id = "main"
model = "test-model"
fallbacks = ["second-model"]
time_zone = "UTC"
`;

test("a message is appended, answered by the model, and the answer delivered", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, CONFIG);
  server.reply(text("Good morning, Ann."));
  const receipt = await weir.say("good morning", { room: "first" });
  assert.deepEqual(receipt, { outcome: "accepted", seq: 1 });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:first");
  assert.deepEqual(weir.platform.texts("first"), ["Good morning, Ann."]);
  const sent = weir.platform.calls[0]?.message;
  assert.equal(sent?.inReplyTo.length, 1);
  const channel = await weir.daemon.store.channels.find({ platform: "test", name: "first" });
  assert.equal(channel?.settledTo, 1);
  assert.equal(channel.lastSeq, 2);
});

test("the model is shown who spoke and when, and the message to answer comes last but what is true now", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, CONFIG);
  server.reply(text("noted"), text("Ann said so."));
  const bob = { id: "u-bob", name: "Bob", isBot: false };
  await weir.say("the key is under the mat", {
    room: "who",
    addressed: false,
    at: new Date("2026-03-01T10:30:00Z"),
  });
  await weir.say("thanks", { room: "who", author: bob, at: new Date("2026-03-01T10:31:00Z") });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:who");
  const messages = piecesIn(server.requests[0]?.body);
  assert.equal(messages[0]?.role, "system");
  assert.deepEqual(
    messages.slice(1, -1).map(({ content }) => content),
    ["[2026-03-01 10:30] Ann: the key is under the mat", "[10:31] Bob: thanks"],
  );
  assert.match(messages.at(-1)?.content ?? "", /^\[System: what is true just now.*\n\nAnswer the newest /s);
});

test("messages that arrive during a turn are answered together in the next", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, CONFIG);
  const gate = Promise.withResolvers<void>();
  server.reply(async (exchange) => {
    await gate.promise;
    await text("first answer")(exchange);
  }, text("second answer"));
  await weir.say("one", { room: "together" });
  await weir.event("turn_started", ({ channel }) => channel === "test:together");
  await weir.say("two", { room: "together" });
  await weir.say("three", { room: "together" });
  gate.resolve();
  await weir.platform.until(() => weir.platform.texts("together").length === 2);
  assert.deepEqual(weir.platform.texts("together"), ["first answer", "second answer"]);
  assert.equal(server.requests.length, 2);
  const second = piecesIn(server.requests[1]?.body).map(({ content }) => content ?? "");
  const places = ["one", "first answer", "two", "three"].map((word) =>
    second.findIndex((line) => line.endsWith(word)),
  );
  assert.deepEqual(
    places,
    places.toSorted((a, b) => a - b),
    "the answer stands behind what it answers",
  );
});

test("parallel tool calls run, their results follow them, and the answer comes after", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, CONFIG);
  server.reply(
    text("I will remember."),
    toolCalls([
      { name: "search_history", arguments: { query: "blue bicycle" } },
      { name: "no_such_tool", arguments: {} },
      { name: "search_history", arguments: { nonsense: true } },
    ]),
    text("It is blue."),
  );
  await weir.say("my bicycle is blue", { room: "tools" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:tools");
  await coverRoom(database.connection, "tools");
  await weir.say("which colour has my bicycle?", { room: "tools" });
  await weir.platform.until(() => weir.platform.texts("tools").length === 2);
  const last = server.requests.at(-1)?.body.messages ?? [];
  const call = last.findIndex(({ tool_calls }) => (tool_calls?.length ?? 0) === 3);
  assert.ok(call > 0);
  const ids = last[call]?.tool_calls?.map(({ id }) => id);
  assert.deepEqual(
    last.slice(call + 1, call + 4).map(({ tool_call_id }) => tool_call_id),
    ids,
  );
  assert.match(last[call + 1]?.content ?? "", /Ann: my bicycle is blue/);
  assert.match(last[call + 2]?.content ?? "", /there is no tool "no_such_tool"/);
  assert.match(last[call + 3]?.content ?? "", /arguments do not fit/);
  const failed = weir.events.filter(({ type }) => type === "tool_failed");
  assert.equal(failed.length, 2);
});

test("what no log can hold, in a model's words and calls, neither fails the turn nor repeats it", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, CONFIG);
  server.reply(
    toolCalls([{ name: "search\0history", arguments: '{"query":"a\0b"}' }]),
    text("zero \0 and half \ud800 a pair"),
  );
  await weir.say("hello", { room: "nul" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:nul");
  assert.deepEqual(weir.platform.texts("nul"), ["zero \uFFFD and half \uFFFD a pair"]);
  assert.ok(server.requests[1]?.body.messages.some(({ tool_calls }) => tool_calls?.length === 1));
  const starts = weir.events.filter(({ type }) => type === "turn_started");
  assert.equal(starts.length, 1, "the turn was not begun again");
});

test("a turn that skips sends nothing and tells why", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, CONFIG);
  server.reply(toolCalls([{ name: "skip", arguments: { reason: "they talk to each other" } }]));
  await weir.say("see you tomorrow, Bob", { room: "skip" });
  const settled = await weir.event("turn_settled", ({ channel }) => channel === "test:skip");
  assert.equal(settled.outcome, "skipped");
  assert.equal(settled.reason, "they talk to each other");
  assert.deepEqual(weir.platform.texts("skip"), []);
});

test("a rate limit is waited out, then the fallback answers; every call is stored", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, CONFIG);
  server.reply(rateLimited(0), status(503), text("from the second"));
  await weir.say("hello", { room: "fallback" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:fallback");
  assert.deepEqual(weir.platform.texts("fallback"), ["from the second"]);
  assert.deepEqual(
    server.requests.map(({ body }) => body.model),
    ["test-model", "test-model", "second-model"],
  );
});

test("when nothing answers, the person gets one plain sentence without the provider's words", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, CONFIG);
  server.respond(() => status(500, { error: { message: "secret-provider-text sk-123" } }));
  await weir.say("hello", { room: "failing" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:failing");
  const [sentence] = weir.platform.texts("failing");
  assert.match(sentence ?? "", /try again/i);
  assert.doesNotMatch(sentence ?? "", /secret-provider-text|sk-123|500/);
  assert.equal(weir.platform.calls.at(-1)?.message.kind, "notice");
  const settled = await weir.event("turn_settled", ({ channel }) => channel === "test:failing");
  assert.equal(settled.outcome, "failed");
});

test("/stop ends the answer that is being written, keeps what was said, and the model's socket is closed", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, CONFIG);
  server.reply(stalledStream("The first half"));
  await weir.say("tell me everything", { room: "stop" });
  await weir.event("turn_started", ({ channel }) => channel === "test:stop");
  const command = {
    channel: { platform: "test", name: "stop" },
    name: "stop",
    argument: "",
    asker: { id: "u-ann", name: "Ann", roles: [] },
  };
  await server.received(1);
  assert.equal(await weir.daemon.inbox.command(command), "Stopped.");
  const settled = await weir.event("turn_settled", ({ channel }) => channel === "test:stop");
  assert.equal(settled.outcome, "stopped");
  assert.equal(await server.requests[0]?.done, "aborted");
});

test("an answer that comes long after its message is indexed, too, though nobody says anything more", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, CONFIG);
  const { search } = weir.daemon.store;
  const gate = new Gate();
  server.reply(gate.between("The kettle", " is on the shelf."));
  await weir.say("where is it?", { room: "late" });
  const found = await weir.daemon.store.channels.find({ platform: "test", name: "late" });
  assert.ok(found !== undefined);
  const isBehind = async (): Promise<boolean> => (await search.behind()).includes(found.id);
  while (await isBehind()) await delay(20);
  gate.open();
  await weir.event("reply_delivered", ({ channel }) => channel === "test:late");
  while (await isBehind()) await delay(20);
  await using outside = openStore(database.connection);
  const query = { pick: "'kettl'", terms: "'kettl'", to: 9, limit: 5 };
  assert.equal((await byWords(outside.db, found.id, query)).length, 1);
});
