// proves: src/channel/turns/steering.ts, src/channel/turns/turn-runner.ts, src/turn/turn.ts, src/core/history.ts, src/context/assemble.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type Behaviour, type ModelServer, startModelServer } from "../../support/model-server.ts";
import { piecesIn } from "../../support/request-pieces.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

const CONFIG = `
[llm]
max_retries = 1
first_token_timeout_ms = 60000
idle_timeout_ms = 60000
[[agents]]
id = "main"
name = "Mira"
model = "test-model"
time_zone = "UTC"
`;
const BOB = { id: "u-bob", name: "Bob", isBot: false };
const SEARCH: Behaviour = toolCalls([{ name: "search_history", arguments: { query: "bicycle" } }]);

async function start(server: ModelServer, config = CONFIG): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl: server.url, config });
}

/** A behaviour before which something happens, while the turn waits for the model. */
function once(before: () => Promise<unknown>, behaviour: Behaviour): Behaviour {
  return async (exchange) => {
    await before();
    await behaviour(exchange);
  };
}

/** Roles of the last request's messages without the system text, and the ends of their texts. */
function shape(server: ModelServer, at: number): string[] {
  const messages = server.requests.at(at)?.body.messages ?? [];
  return messages.slice(1).map(({ role, tool_calls: calls = [] }) => (calls.length > 0 ? "calls" : role));
}

test("what the same person says while the model thinks is shown before its calls are run, and is answered once", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = "think";
  server.reply(
    once(async () => weir.say("stop, the red one", { room }), SEARCH),
    text("The red one."),
    text("And now?"),
  );
  await weir.say("find my bicycle", { room });
  await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  assert.equal(server.requests.length, 2);
  assert.deepEqual(shape(server, 1), ["user", "calls", "tool", "user"]);
  const pieces = piecesIn(server.requests[1]?.body).map(({ content }) => content ?? "");
  assert.match(pieces.at(-2) ?? "", /^Skipped: a new message came\./);
  assert.match(pieces.at(-1) ?? "", /Ann: stop, the red one$/);
  const steered = await weir.event("turn_steered", ({ channel }) => channel === `test:${room}`);
  assert.equal(steered.messages, 1);
  const row = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.equal(row?.settledTo, steered.toSeq);
  assert.deepEqual(weir.platform.texts(room), ["The red one."]);

  // The next turn's request begins with the same bytes.
  const sent = JSON.stringify(server.requests[1]?.body.messages?.slice(2));
  await weir.say("thanks", { room });
  await weir.platform.until(() => weir.platform.texts(room).length === 2);
  const next = server.requests[2]?.body.messages ?? [];
  assert.deepEqual(shape(server, 2), ["user", "calls", "tool", "user", "assistant", "user"]);
  assert.equal(JSON.stringify(next.slice(2, 5)), sent);
});

test("what is said while calls run stands behind their results", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = "calls";
  // The second answer is asked for once the results are in the log: what came before is behind them.
  server.reply(
    SEARCH,
    once(async () => weir.say("also the lamp", { room }), SEARCH),
    text("Both are here."),
  );
  await weir.say("find my bicycle", { room });
  await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  assert.deepEqual(shape(server, 2), ["user", "calls", "tool", "calls", "tool", "user"]);
  assert.deepEqual(weir.platform.texts(room), ["Both are here."]);
});

test("another person is heard by the agent's name, and else waits for the next answer", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.reply(
    once(async () => weir.say("and what is for lunch?", { room: "unnamed", author: BOB }), SEARCH),
    text("In the shed."),
    text("Soup."),
  );
  await weir.say("find my bicycle", { room: "unnamed" });
  await weir.platform.until(() => weir.platform.texts("unnamed").length === 2);
  assert.deepEqual(shape(server, 1), ["user", "calls", "tool"]);
  assert.deepEqual(weir.platform.texts("unnamed"), ["In the shed.", "Soup."]);

  server.reply(
    once(async () => weir.say("Hey MIRA, it is in the shed", { room: "named", author: BOB }), SEARCH),
    text("Thank you, Bob."),
  );
  await weir.say("find my bicycle", { room: "named" });
  await weir.event("reply_delivered", ({ channel }) => channel === "test:named");
  const pieces = piecesIn(server.requests.at(-1)?.body).map(({ content }) => content ?? "");
  assert.match(pieces.at(-1) ?? "", /Bob: Hey MIRA, it is in the shed$/);
});

test("somebody who goes on talking stops the work twice, and then it is done", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = "talkative";
  const more = (words: string): Behaviour => once(async () => weir.say(words, { room }), SEARCH);
  server.reply(more("one"), more("two"), more("three"), text("Done."));
  await weir.say("find my bicycle", { room });
  await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  const results = piecesIn(server.requests[3]?.body)
    .filter(({ role }) => role === "tool")
    .map(({ content }) => (content ?? "").startsWith("Skipped"));
  assert.deepEqual(results, [true, true, false]);
  assert.deepEqual(shape(server, 3).slice(-1), ["user"]);
});

test("without steering, what is said while a turn runs waits for the next answer", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, `[defaults]\nsteer = false\n${CONFIG}`);
  const room = "off";
  server.reply(
    once(async () => weir.say("stop, the red one", { room }), SEARCH),
    text("Here it is."),
    text("The red one."),
  );
  await weir.say("find my bicycle", { room });
  await weir.platform.until(() => weir.platform.texts(room).length === 2);
  assert.deepEqual(shape(server, 1), ["user", "calls", "tool"]);
  assert.deepEqual(weir.platform.texts(room), ["Here it is.", "The red one."]);
});

test("a message that a turn has taken in and that is deleted then is in no later request, and the turn begins again", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = "deleted";
  const id = "steer-deleted";
  const at = { platform: "test", name: room };
  const gone = { type: "deletion", platform: "test", channel: at, id, at: new Date() } as const;
  server.reply(
    once(async () => weir.say("my PIN is 0000", { room, id }), SEARCH),
    once(async () => weir.daemon.inbox.receive(gone), text("Your PIN is 0000.")),
    text("Here it is."),
  );
  await weir.say("find my bicycle", { room });
  await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  assert.deepEqual(weir.platform.texts(room), ["Here it is."]);
  assert.doesNotMatch(JSON.stringify(server.requests.at(-1)?.body), /0000/);
});
