// proves: src/admin/commands/usage.ts, src/admin/reports/usage-report.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { ANN, authorOf, BEN, command } from "../../support/commands.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { startModelServer } from "../../support/model-server.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

const CONFIG = `
${OWNED}
[[agents]]
id = "main"
model = "test-model"
[models."test-model"]
price_in = 10
price_out = 100
`;

async function speak(weir: TestWeir, room: string, asker = ANN): Promise<void> {
  const channel = { platform: "discord", name: room };
  const before = weir.events.filter(({ type }) => type === "reply_delivered").length;
  await weir.say("what is it?", { channel, room, workspace: "w", author: authorOf(asker), addressed: true });
  await weir.event(
    "reply_delivered",
    () => weir.events.filter(({ type }) => type === "reply_delivered").length > before,
  );
}

test("/usage tells people of themselves and of the channel, and only a named owner of everything", async () => {
  await using server = await startModelServer();
  server.respond(() => text("an answer", { usage: { prompt: 1000, completion: 10, cached: 0 } }));
  const platform = new TestPlatform({ serves: () => true });
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    platform,
  });
  await speak(weir, "here");
  await speak(weir, "there");
  await speak(weir, "here", BEN);
  const asked = await command(weir, "here", "usage", ANN, "discord");
  assert.match(asked, /^Since \d{4}-\d\d-\d\d \d\d:\d\d:\n/);
  assert.match(asked, /\nYou: 2 model calls, 2,000 tokens in, 20 out; \$0\.022\.\n/);
  assert.match(asked, /\nThis channel: 2 model calls, 2,000 tokens in, 20 out; \$0\.022\.$/);
  assert.match(
    await command(weir, "there", "usage 1h", BEN, "discord"),
    /\nYou: 1 model call, .*\nThis channel: 1 /,
  );
  const owner = await command(weir, "here", "usage", OWNER, "discord");
  assert.match(owner, /\nYou: no model was called\.\n/);
  assert.match(owner, /\nmain +3 +3,000 +0 +30 +\$0\.033$/);
  assert.match(
    await command(weir, "here", "usage soon", ANN, "discord"),
    /^Since when\? \/usage 7d, or a day/,
  );
});
