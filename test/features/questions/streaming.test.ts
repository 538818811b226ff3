// proves: src/features/questions/question-board.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { createTestDatabase, plainClient } from "../../support/database.ts";
import { Gate } from "../../support/e2e-model.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

test("an answer is shown as it is written, however long the look for questions of its channel takes", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ streaming: { intervalMs: 0 } });
  await using weir = await startWeir({ connection: database.connection, modelUrl: server.url, platform });
  const other = plainClient(database.connection);
  await other.connect();
  try {
    // The start has looked for open questions.
    server.reply(text("Good morning."));
    await weir.say("good morning", { room: "slow" });
    await weir.event("reply_delivered", ({ channel }) => channel === "test:slow");
    const before = platform.calls.length;
    await other.query("begin");
    await other.query("lock table approvals in access exclusive mode");
    const gate = new Gate();
    server.reply(gate.between("Half of it,", " and the rest."));
    await weir.say("tell me something", { room: "slow" });
    await platform.until(() => platform.calls.length > before);
    const first = platform.calls[before]?.message;
    assert.deepEqual([first?.text, first?.final], ["Half of it,", false]);
    await other.query("rollback");
    gate.open();
    await platform.until(() => platform.texts("slow").includes("Half of it, and the rest."));
  } finally {
    await other.end();
  }
});
