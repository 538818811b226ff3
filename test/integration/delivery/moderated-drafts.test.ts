// proves: src/channel/delivery/draft.ts, src/channel/delivery/outbox.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { splitText } from "../../../src/text/split-message.ts";
import { PlatformError } from "../../../src/platforms/platform.ts";
import { createTestDatabase } from "../../support/database.ts";
import { startDiscordWeir } from "../../support/discord/discord-weir.ts";
import { until } from "../../support/patience.ts";
import { startDiscordServer } from "../../support/discord/server.ts";
import { heldText, text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { accessTo, startSlackServer } from "../../support/slack/server.ts";
import { startSlackWeir } from "../../support/slack/slack-weir.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { connectionUrl, startWeir, type TestWeir } from "../../support/weir.ts";
import { botTexts } from "../../platforms/slack/slack-harness.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `
[daemon]
drain_deadline_ms = 300
[[agents]]
id = "main"
model = "test-model"
`;
const LINES = Array.from({ length: 80 }, (_, index) => `line ${index}: ${"words ".repeat(12)}`);
const [BEGINNING, REST] = [LINES.slice(0, 3).join("\n"), `\n${LINES.slice(3).join("\n")}`];

async function start(server: ModelServer, platform: TestPlatform): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl: server.url, config: CONFIG, platform });
}

/** A question is being answered in a room, and the draft of its answer is deleted; the rest of it waits for `go`. */
async function moderateDraft(
  weir: TestWeir,
  server: ModelServer,
  platform: TestPlatform,
  room: string,
): Promise<{ go: () => void }> {
  const { promise, resolve } = Promise.withResolvers<void>();
  server.respond(() => heldText(BEGINNING, promise, REST));
  await weir.say("tell me all", { room, id: `${room}-1` });
  const draftOf = (): string | undefined =>
    [...platform.shown].find(([, { channel }]) => channel.name === room)?.[0];
  await platform.until(() => draftOf() !== undefined);
  platform.moderate(draftOf() ?? "");
  return { go: resolve };
}

/** What a room shows, as one text. */
function whole(platform: TestPlatform, room: string): string {
  return platform.texts(room).join("\n").replaceAll(/\s+/g, " ").trim();
}

const WHOLE = LINES.join(" ").replaceAll(/\s+/g, " ").trim();

test("an answer whose draft was deleted is posted anew, once and whole", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ streaming: { intervalMs: 0 }, maxTextLength: 2000 });
  await using weir = await start(server, platform);
  const { go } = await moderateDraft(weir, server, platform, "anew");
  go();
  await weir.event("reply_delivered", ({ channel }) => channel === "test:anew");
  assert.equal(whole(platform, "anew"), WHOLE);
  // Who deletes it again means it.
  const [id] = [...platform.shown.keys()];
  platform.moderate(id ?? "");
  server.respond(() => text("another"));
  await weir.say("and now?", { room: "anew" });
  await weir.event("reply_delivered", ({ channel, parts }) => channel === "test:anew" && parts === 1);
  assert.ok(!platform.texts("anew").some((shown) => shown.startsWith("line 0:")));
});

test("an answer whose question was deleted as well is not posted anew", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ streaming: { intervalMs: 0 }, maxTextLength: 2000 });
  await using weir = await start(server, platform);
  // The platform takes nothing final before the question is gone.
  const isForgotten = Promise.withResolvers<void>();
  const edit = platform.edit.bind(platform);
  platform.edit = async (id, message) => {
    if (message.final) await isForgotten.promise;
    await edit(id, message);
  };
  const { go } = await moderateDraft(weir, server, platform, "withdrawn");
  go();
  await weir.event("turn_settled", ({ channel }) => channel === "test:withdrawn");
  const at = new Date();
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "withdrawn-1", at });
  isForgotten.resolve();
  const failed = await weir.event("delivery_failed", ({ channel }) => channel === "test:withdrawn");
  assert.equal(failed.retryInMs, null);
  assert.equal(platform.shown.size, 0);
});

for (const [what, isCommitted] of [
  ["before", false],
  ["after", true],
] as const) {
  test(`a daemon that ends right ${what} the second posting was taken leaves one answer, whole`, async () => {
    await using server = await startModelServer();
    const platform = new TestPlatform({ streaming: { intervalMs: 0 }, maxTextLength: 2000 });
    const room = `ends-${what}`;
    const send = platform.send.bind(platform);
    let anew = 0;
    platform.send = async (message) => {
      if (!message.idempotencyKey.endsWith("/anew")) return send(message);
      anew += 1;
      if (isCommitted) await send(message);
      throw new PlatformError("test", "unavailable", "reset", { retryAfterMs: 60_000 });
    };
    {
      await using weir = await start(server, platform);
      const { go } = await moderateDraft(weir, server, platform, room);
      go();
      await weir.event(
        "delivery_failed",
        ({ channel, retryInMs }) => channel === `test:${room}` && retryInMs === 60_000,
      );
    }
    assert.equal(anew, 1);
    platform.send = send;
    await using weir = await start(server, platform);
    await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
    assert.equal(whole(platform, room), WHOLE);
    assert.equal(server.requests.length, 1);
  });
}

/** Without blanks. */
function bare(words: string): string {
  return words.replaceAll(/\s+/g, "");
}

/** What people see of a platform's messages, as one text. */
function asOne(texts: readonly string[]): string {
  return texts.join(" ").replaceAll(/\s+/g, " ").trim();
}

for (const [what, beginning, rest] of [
  ["the beginning", BEGINNING, REST],
  // Nowhere to be parted but where a message is full: the draft shows all that its message ever will.
  ["all of its first message", "字".repeat(3000), "字".repeat(3000)],
] as const)
  test(`on Discord a moderator deletes a draft that shows ${what}: the whole answer is there all the same`, async () => {
    await using model = await startModelServer();
    await using discord = await startDiscordServer();
    await using own = await createTestDatabase();
    const { world } = discord;
    const general = world.addChannel({ guild: world.addGuild({ name: "Mill" }), name: "general" });
    const ann = world.addUser({ name: "ann", globalName: "Ann" });
    const { promise, resolve } = Promise.withResolvers<void>();
    model.respond(() => heldText(beginning, promise, rest));
    await using weir = await startDiscordWeir({
      databaseUrl: connectionUrl(own.connection),
      modelUrl: model.url,
      discord: { token: discord.token, apiUrl: discord.api },
    });
    world.say(ann, general, `<@${world.botId}> tell me all`);
    const first = splitText(beginning, 1900)[0] ?? "";
    await until("the draft", () => bare(discord.answers(general).join("")) === bare(first));
    world.remove(discord.messages(general).find(({ isBots }) => isBots)?.id ?? "");
    resolve();
    await until("the answer", () => weir.events.some(({ type }) => type === "reply_delivered"));
    assert.equal(bare(discord.answers(general).join("")), bare(beginning + rest));
  });

test("on Slack a moderator deletes the draft: the whole answer is there all the same", async () => {
  await using model = await startModelServer();
  await using slack = await startSlackServer();
  await using own = await createTestDatabase();
  const ann = slack.world.addUser("ann");
  const general = slack.world.addChannel({ name: "general", members: [ann] });
  const { promise, resolve } = Promise.withResolvers<void>();
  model.respond(() => heldText(BEGINNING, promise, REST));
  await using weir = await startSlackWeir({
    databaseUrl: connectionUrl(own.connection),
    modelUrl: model.url,
    slack: accessTo(slack),
  });
  const bots = (): string[] => botTexts(slack, general);
  slack.world.say(ann, general, `<@${slack.world.bot.id}> tell me all`);
  await slack.journal.until("the draft", () => bots().length === 1);
  const draft = slack.messages(general).find(({ user }) => user === slack.world.bot.id);
  slack.world.remove(general, draft?.ts ?? "");
  resolve();
  await slack.journal.until("the answer", () => weir.events.some(({ type }) => type === "reply_delivered"));
  assert.equal(asOne(bots()), WHOLE);
});
