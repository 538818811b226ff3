// proves: src/router/message-changes.ts, src/channel/guarded-history.ts
// Two daemons on one database hear of every change: whoever comes second writes nothing, and forgets the old text all the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type Behaviour, startModelServer } from "../../support/model-server.ts";
import { startWeir } from "../../support/weir.ts";
import { openStore } from "../../store/open-store.ts";
import { rowsWith } from "../../store/rows-with.ts";

for (const [type, isHeard] of [
  ["deletion", true],
  ["edit", true],
  ["deletion", false],
  ["edit", false],
] as const) {
  const hears = isHeard ? "hears of" : "does not hear of";
  test(`a text whose ${type} another daemon has written is in no later request, where the owner ${hears} it`, async () => {
    await using database = await createTestDatabase();
    await using server = await startModelServer();
    server.respond(() => text("noted"));
    const options = { connection: database.connection, modelUrl: server.url };
    await using owner = await startWeir(options);
    await using other = await startWeir(options);
    await owner.say("good morning", { room: "yard", id: "first" });
    await owner.platform.until(() => owner.platform.texts("yard").length === 1);
    // Nobody is asked for it: no turn has read it when it changes.
    await owner.say("the code is zxqpine", { room: "yard", id: "secret", addressed: false });
    const change = { platform: "test", id: "secret", at: new Date() } as const;
    const event =
      type === "edit"
        ? ({ ...change, type: "edit", text: "never mind" } as const)
        : ({ ...change, type: "deletion" } as const);
    assert.equal((await other.daemon.inbox.receive(event)).outcome, "accepted");
    if (isHeard) assert.notEqual((await owner.daemon.inbox.receive(event)).outcome, "accepted");
    await owner.say("and now?", { room: "yard" });
    await owner.platform.until(() => owner.platform.texts("yard").length === 2);
    const told = JSON.stringify(server.requests.at(-1)?.body);
    assert.match(told, /good morning/);
    assert.doesNotMatch(told, /zxqpine/);
    assert.equal(/never mind/.test(told), type === "edit");
  });
}

test("what a model calls that has read a text is in no row, though another daemon took the text back and the owner does not hear of it", async () => {
  await using database = await createTestDatabase();
  await using server = await startModelServer();
  await using owner = await startWeir({ connection: database.connection, modelUrl: server.url });
  await using other = await startWeir({ connection: database.connection, modelUrl: server.url });
  const deleted = Promise.withResolvers<void>();
  const looksFor = toolCalls([{ id: "look", name: "search_history", arguments: { query: "zxqpine" } }]);
  const late: Behaviour = async (exchange) => {
    await deleted.promise;
    await looksFor(exchange);
  };
  server.reply(late, text("it is gone"), text("nothing"));
  await owner.say("the code is zxqpine", { room: "yard", id: "secret", addressed: false });
  await owner.say("what is the code?", { room: "yard" });
  await server.received(1);
  const event = { type: "deletion", platform: "test", id: "secret", at: new Date() } as const;
  assert.equal((await other.daemon.inbox.receive(event)).outcome, "accepted");
  deleted.resolve();
  await owner.platform.until(() => owner.platform.texts("yard").length === 1);
  await owner.say("and now?", { room: "yard" });
  await owner.platform.until(() => owner.platform.texts("yard").length === 2);
  assert.match(JSON.stringify(server.requests[0]?.body), /zxqpine/);
  assert.doesNotMatch(JSON.stringify(server.requests.at(-1)?.body), /zxqpine/);
  await using store = openStore(database.connection);
  assert.deepEqual(await rowsWith(store, "zxqpine"), []);
});
