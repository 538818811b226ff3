// proves: src/admin/commands/recap.ts, src/admin/commands/export.ts, src/admin/reports/export-page.ts, src/admin/commands/reset.ts
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { agentId } from "../../../src/core/ids.ts";
import { bindPlatform } from "../../../src/router/bindings.ts";
import { openStore } from "../../store/open-store.ts";
import { ANN, BEN, authorOf, command } from "../../support/commands.ts";
import { coverRoom } from "../../support/covered.ts";
import { createTestDatabase } from "../../support/database.ts";
import { text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const beside = openStore(database.connection);
after(async () => beside[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\ntime_zone = "UTC"\n`;

/** Noon: no day ends during a test. */
const NOW = new Date("2026-11-21T12:00:00Z");

async function start(server: ModelServer): Promise<TestWeir> {
  server.respond(() => text("It **rises**."));
  const platform = new TestPlatform({ serves: () => true });
  return startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    platform,
    now: () => NOW,
  });
}

/** Ann asks, the agent answers, and Ben says something that he takes back. */
async function talk(weir: TestWeir, room: string): Promise<void> {
  await weir.say("How is the river?\n\u001B[2J", {
    room,
    author: authorOf(ANN),
    id: `${room}-1`,
    at: NOW,
  });
  await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  await weir.say("taken back", { room, author: authorOf(BEN), id: `${room}-2`, addressed: false });
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: `${room}-2`, at: new Date() });
}

describe("/recap", () => {
  test("tells how much was said, since when, and the last of it that nobody took back", async () => {
    await using server = await startModelServer();
    await using weir = await start(server);
    await talk(weir, "recap");
    assert.match(
      await command(weir, "recap", "recap"),
      /^2 messages since today; last, 0 s ago: main: It \*\*rises\*\*\.$/,
    );
  });

  test("tells nothing of how Weir is set up where nothing was said yet, but at the terminal", async () => {
    await using server = await startModelServer();
    await using weir = await start(server);
    assert.match(await command(weir, "nowhere", "recap"), /^Nothing has been said to me here yet/);
    assert.match(await command(weir, "nowhere", "recap", ANN, "terminal"), /^Say something to begin\./);
  });

  test("greets at the terminal as a stand-in where there is no model", async () => {
    await using weir = await startWeir({ connection: database.connection, modelUrl: "", config: CONFIG });
    const greeting = await command(weir, "nowhere", "recap", ANN, "terminal");
    assert.equal(greeting.split("\n").length, 3);
    assert.match(greeting, /stand-in[^]*\/remember[^]*\.env/);
  });
});

describe("/export", () => {
  test("is what was said and not taken back, as Markdown that a terminal can show", async () => {
    await using server = await startModelServer();
    await using weir = await start(server);
    await talk(weir, "export");
    const exported = await command(weir, "export", "export");
    assert.match(
      exported,
      /^# [^\n]+\n\nExported \S+ [\d-]+ [\d:]+ UTC: 2 messages\.\n\n\*\*Ann\*\*, [\d-]+ [\d:]+\n\nHow is the river\?\n␛\[2J\n\n\*\*main\*\*, [\d-]+ [\d:]+\n\nIt \*\*rises\*\*\.$/,
    );
  });

  test("is the newest part of a long conversation where it comes as messages", async () => {
    await using server = await startModelServer();
    await using weir = await start(server);
    for (let index = 1; index <= 30; index++)
      await weir.say(`${index} ${"word ".repeat(100)}`, { room: "long", addressed: false });
    const exported = await command(weir, "long", "export");
    assert.ok(exported.length < 9000);
    assert.match(exported, /Exported [^\n]+: the newest \d+ messages of about 30 entries/);
    assert.match(exported, /\n\n30 word/);
    assert.doesNotMatch(exported, /\n\n1 word/);
  });

  test("has the newest message also where that alone is longer than all that is shown", async () => {
    await using server = await startModelServer();
    await using weir = await start(server);
    await weir.say("an early word", { room: "longest", addressed: false });
    await weir.say(`first ${"word ".repeat(4000)}last`, { room: "longest", addressed: false });
    const exported = await command(weir, "longest", "export");
    assert.ok(exported.length < 9000);
    assert.match(exported, /: the newest 1 message of about 2 entries/);
    assert.match(exported, /\n\nfirst word[^]*cut: \d+ characters in all[^]*word last$/);
  });
});

test("/export tells of attachments, and has the pictures that are kept where it is a page", async () => {
  await using server = await startModelServer();
  server.respond(() => text("I see."));
  const platform = new TestPlatform({ serves: () => true });
  const config = `${CONFIG}sees_images = true\n`;
  await using weir = await startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config,
    platform,
    bindingsOf: () => ["terminal", "test"].map((name) => bindPlatform(name, agentId("main"))),
  });
  const channel = { platform: "terminal", name: "pictured" };
  const image = (name: string, words: string) =>
    ({ name, type: "image/png", bytes: Buffer.from(words) }) as const;
  await weir.say(
    '<script>alert("x")</script>\n[image "a".png, image/png, 3 bytes]\n[file b.pdf, application/pdf, 9 kB]',
    {
      channel,
      addressed: false,
      id: "pic-1",
      images: [image('"a".png', "one")],
    },
  );
  await weir.say("", { channel, addressed: false, id: "pic-2", images: [image("c.png", "two")] });
  const plain = await command(weir, "pictured", "export", ANN, "terminal");
  assert.match(plain, /\[file b\.pdf, application\/pdf, 9 kB\]/);
  // Its text does not name it.
  assert.match(plain, /\[image c\.png, image\/png, 3 bytes\]$/);
  assert.equal(plain.match(/\[image "a"\.png/g)?.length, 1);
  const page = await command(weir, "pictured", "export talk.html", ANN, "terminal");
  assert.match(page, /^<!doctype html>/);
  assert.match(page, /&lt;script&gt;alert\(&quot;x&quot;\)/);
  assert.doesNotMatch(page, /<script/);
  assert.match(
    page,
    /<img src="data:image\/png;base64,b25l" alt="\[image &quot;a&quot;\.png, image\/png, 3 bytes\]">/,
  );
  assert.match(page, /base64,dHdv/);
  // No larger one than there is room for.
  await beside.sql("update images set bytes = repeat('x', 10000001)::bytea where message_id = 'pic-1'");
  const full = await command(weir, "pictured", "export html", ANN, "terminal");
  assert.match(full, /&quot;a&quot;\.png, image\/png, 10\.0 MB\]: left out/);
  assert.match(full, /base64,dHdv/);
  await weir.say("hello", { room: "pictured", addressed: false });
  assert.match(
    await command(weir, "pictured", "export html"),
    /^Pages with pictures are written at the terminal/,
  );
});

test("/new starts afresh, as /reset does", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  await talk(weir, "new");
  assert.match(await command(weir, "new", "new", ANN), /^Reset: /);
});

test("/reset takes the summary out of view also where it covers everything that was said", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  const room = "covered";
  await talk(weir, room);
  await coverRoom(database.connection, room, "Ann has measured the river at zxqmill.");
  assert.match(await command(weir, room, "reset", ANN), /^Reset: /);
  await weir.say("What did I measure?", { room, author: authorOf(ANN) });
  await weir.platform.until(() => weir.platform.texts(room).length === 2);
  assert.doesNotMatch(JSON.stringify(server.requests.at(-1)?.body.messages), /zxqmill/);
  assert.deepEqual(
    await beside.sql(
      "select s.kind from summaries s join channels c on c.id = s.channel_id where c.name = $1 and s.live",
      room,
    ),
    [{ kind: "reset" }],
  );
});
