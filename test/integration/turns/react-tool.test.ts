// proves: src/tools/react.ts, src/turn/tool-calls.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

async function start(server: ModelServer, platform = new TestPlatform()): Promise<TestWeir> {
  server.respond(() => text("an answer"));
  return startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: `[[agents]]\nid = "main"\nmodel = "test-model"\n`,
    platform,
  });
}

const react = (emoji: string) => ({ name: "react", arguments: { emoji } });
const skip = { name: "skip", arguments: { reason: "a sign is enough" } };

async function settled(weir: TestWeir, room: string, outcome: string): Promise<void> {
  await weir.event("turn_settled", (event) => event.channel === `test:${room}` && event.outcome === outcome);
}

/** What the last request tells of the calls before it. */
function told(server: ModelServer): string[] {
  const messages = server.requests.at(-1)?.body.messages ?? [];
  return messages.flatMap(({ role, content }) => (role === "tool" ? (content ?? "") : []));
}

test("the agent may react to the message that it answers, and say something as well", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.reply(toolCalls([react("🎉")]), text("Congratulations!"));
  await weir.say("I passed!", { room: "said", id: "passed" });
  await settled(weir, "said", "answered");
  await weir.platform.until(() => weir.platform.texts("said").length === 1);
  assert.deepEqual(weir.platform.reactions, ["passed 🎉"]);
  assert.deepEqual(weir.platform.texts("said"), ["Congratulations!"]);
  assert.deepEqual(told(server), ["Your reaction is under the newest message."]);
});

test("of several messages that are answered together the newest gets it", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const held = Promise.withResolvers<undefined>();
  server.reply(
    async (exchange) => {
      await held.promise;
      await text("first")(exchange);
    },
    toolCalls([react("👍")]),
  );
  await weir.say("first", { room: "several" });
  await server.received(1);
  await weir.say("second", { room: "several", id: "second" });
  await weir.say("beside", { room: "several", id: "beside", addressed: false });
  await weir.say("third", { room: "several", id: "third" });
  await weir.say("beside again", { room: "several", id: "again", addressed: false });
  held.resolve(undefined);
  await weir.platform.until(() => weir.platform.texts("several").length === 2);
  assert.deepEqual(weir.platform.reactions, ["third 👍"]);
});

test("a reaction without words stays in the log, so that the agent knows of it", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.reply(toolCalls([react("👍"), skip]));
  await weir.say("thanks", { room: "silent", id: "thanks" });
  await settled(weir, "silent", "skipped");
  assert.deepEqual(weir.platform.reactions, ["thanks 👍"]);
  assert.deepEqual(weir.platform.texts("silent"), []);
  await weir.say("why the thumb?", { room: "silent" });
  await settled(weir, "silent", "answered");
  assert.equal(server.requests.length, 2);
  assert.deepEqual(told(server), ["Your reaction is under the newest message.", "You stay silent."]);
});

test("a message that was taken back meanwhile gets none", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const held = Promise.withResolvers<undefined>();
  server.reply(async (exchange) => {
    await held.promise;
    await text("not this")(exchange);
  });
  await weir.say("hold on", { room: "back" });
  await server.received(1);
  await weir.say("kept", { room: "back", id: "kept" });
  await weir.say("regretted", { room: "back", id: "regretted" });
  server.reply(
    async (exchange) => {
      const at = new Date();
      await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "regretted", at });
      await toolCalls([react("😱")])(exchange);
    },
    toolCalls([react("👍")]),
  );
  held.resolve(undefined);
  await weir.platform.until(() => weir.platform.texts("back").length === 2);
  assert.deepEqual(weir.platform.reactions, ["kept 👍"]);
});

test("somebody who wants very many reactions gets three", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.reply(
    toolCalls(["🍏", "🍐", "🍊", "🍋", "🍌"].map(react)),
    toolCalls(["🍏", "🍉"].map(react)),
    text("That is enough."),
  );
  await weir.say("all the fruit, please", { room: "many", id: "many" });
  await settled(weir, "many", "answered");
  assert.deepEqual(weir.platform.reactions, ["many 🍏", "many 🍐", "many 🍊", "many 🍏"]);
  const shown = told(server).map((words) => words.startsWith("Your reaction"));
  assert.deepEqual(shown, [true, true, true, false, false, true, false]);
});

test("where there are no reactions the model is told, and speaks instead", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform();
  delete platform.react;
  await using weir = await start(server, platform);
  // A sign instead of words: nobody would see anything.
  server.reply(toolCalls([react("👍"), skip]), text("Got it."));
  await weir.say("give me a sign", { room: "none" });
  await settled(weir, "none", "answered");
  await platform.until(() => platform.texts("none").length === 1);
  assert.deepEqual(platform.texts("none"), ["Got it."]);
  assert.deepEqual(told(server), [
    "Error: There are no reactions here. Use words, where something is to be said.",
    "Another call has failed. Call this one alone to stay silent.",
  ]);
});

test("a platform that refuses, or that hangs, costs no answer", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform();
  await using weir = await start(server, platform);
  const rooms: [string, NonNullable<TestPlatform["react"]>, RegExp][] = [
    [
      "refuses",
      async () => {
        throw new PlatformError("test", "rejected", "HTTP 400, code 10014");
      },
      /^Error: There is no reaction: this emoji cannot be put there/,
    ],
    ["hangs", async () => new Promise(() => undefined), /^Error: no result within 3 s\.$/],
  ];
  for (const [room, fails, words] of rooms) {
    platform.react = fails;
    server.reply(toolCalls([react(":nonsense:")]), text("Yes."));
    await weir.say("well?", { room });
    await platform.until(() => platform.texts(room).length === 1);
    assert.deepEqual(platform.texts(room), ["Yes."]);
    assert.match(told(server)[0] ?? "", words);
  }
  const failures = weir.events.flatMap((event) => (event.type === "tool_failed" ? event.why : []));
  assert.deepEqual(failures, ["HTTP 400, code 10014", "no result within 3 s"]);
});
