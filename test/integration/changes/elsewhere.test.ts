// proves: src/router/message-changes.ts
// Two daemons on one database hear of every change: whoever comes second writes nothing, and forgets the old text all the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { startWeir } from "../../support/weir.ts";

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
