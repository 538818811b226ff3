// proves: src/platforms/slack/adapter.ts, src/platforms/slack/inbound/reader.ts, src/platforms/slack/inbound/payload.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { createTestDatabase } from "../../support/database.ts";
import { echo } from "../../support/e2e-model.ts";
import { text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import type { SlackChannel } from "../../support/slack/model.ts";
import {
  accessTo,
  type SlackServer,
  type SlackServerOptions,
  startSlackServer,
} from "../../support/slack/server.ts";
import { type SlackWeir, type SlackWeirOptions, startSlackWeir } from "../../support/slack/slack-weir.ts";
import { connectionUrl } from "../../support/weir.ts";
import { until } from "../../support/patience.ts";
import { botTexts } from "../../platforms/slack/slack-harness.ts";

interface Scene extends AsyncDisposable {
  readonly slack: SlackServer;
  readonly model: ModelServer;
  readonly weir: SlackWeir;
  readonly lines: readonly string[];
}

async function openScene(
  options: Partial<SlackWeirOptions> & { readonly server?: SlackServerOptions } = {},
): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  const slack = stack.use(await startSlackServer({ retryDelaysMs: [0, 200], ...options.server }));
  const database = stack.use(await createTestDatabase());
  const lines: string[] = [];
  const weir = stack.use(
    await startSlackWeir({
      databaseUrl: connectionUrl(database.connection),
      modelUrl: model.url,
      slack: accessTo(slack),
      onLine: (line) => void lines.push(line),
      ...options,
    }),
  );
  const kept = stack.move();
  return { slack, model, weir, lines, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

async function answers({ slack, weir }: Scene, channel: SlackChannel, count: number): Promise<string[]> {
  const delivered = (): number =>
    weir.events.filter(
      (event) => event.type === "reply_delivered" && event.channel.startsWith(`slack:${channel.id}`),
    ).length;
  await slack.journal.until(`${count} answers`, () => delivered() >= count);
  await slack.deliveries.idle();
  return botTexts(slack, channel);
}

test("a mention that comes four times is answered once, as one message that grows", async () => {
  await using scene = await openScene();
  const { slack, model } = scene;
  model.respond(() => text(["It ", "is ", "**raining** ", "& ", "cold."], { delayMs: 30 }));
  const ann = slack.world.addUser("ann");
  const channel = slack.world.addChannel({ name: "weather", members: [ann] });
  slack.deliveries.duplicateNext(2);
  slack.world.say(ann, channel, `<@${slack.world.bot.id}> how is it outside?`);
  assert.deepEqual(await answers(scene, channel, 1), ["It is *raining* & cold."]);
  assert.equal(model.requests.length, 1);
  assert.equal(slack.journal.calls("chat.postMessage").length, 1);
  assert.ok(slack.journal.calls("chat.update").length >= 1);
  assert.equal(
    slack.journal.envelopes("events_api").filter(({ eventId }) => eventId !== undefined).length >= 4,
    true,
  );
});

test("what is said without a connection is answered after it, once; a thread in the thread", async () => {
  await using scene = await openScene({ server: { retryDelaysMs: [] } });
  const { slack, model } = scene;
  model.respond(echo);
  const ann = slack.world.addUser("ann");
  const dm = slack.world.openIm(ann);
  const channel = slack.world.addChannel({ name: "general", members: [ann] });
  const mention = `<@${slack.world.bot.id}>`;
  slack.world.say(ann, dm, "hello");
  slack.world.say(ann, channel, `${mention} hello`);
  await answers(scene, dm, 1);
  await answers(scene, channel, 1);
  slack.deliveries.dropNext(6);
  slack.world.say(ann, dm, "are you there?");
  const root = slack.world.say(ann, channel, "a thread");
  slack.world.say(ann, channel, `${mention} and here?`, { threadTs: root });
  slack.sockets.disconnect("warning");
  assert.deepEqual((await answers(scene, dm, 2)).length, 2);
  await answers(scene, channel, 2);
  assert.equal(botTexts(slack, channel, root).length, 1);
  assert.match(botTexts(slack, channel, root)[0] ?? "", /and here\?/);
  slack.sockets.disconnect("refresh_requested");
  await slack.journal.until("a third socket", () => slack.journal.sockets.at(-1)?.socket === 3);
  await slack.journal.until(
    "what was missed is looked for",
    () => slack.journal.calls("conversations.history").length >= 4,
  );
  assert.equal(model.requests.length, 4);
});

test("edits and deletions while nobody listened reach the log", async () => {
  await using scene = await openScene({ server: { retryDelaysMs: [] } });
  const { slack, model, weir } = scene;
  model.respond(() => text("Noted."));
  const ann = slack.world.addUser("ann");
  const dm = slack.world.openIm(ann);
  const changed = slack.world.say(ann, dm, "the code is 1234");
  await answers(scene, dm, 1);
  const gone = slack.world.say(ann, dm, "my secret");
  await answers(scene, dm, 2);
  slack.deliveries.dropNext(2);
  slack.world.edit(dm, changed, "the code is 9999");
  slack.world.remove(dm, gone);
  slack.sockets.disconnect("warning");
  const row = await weir.daemon.store.channels.find({ platform: "slack", name: dm.id });
  assert.ok(row);
  await slack.journal.until("the deletion", () => weir.daemon.registry.loaded(row.id) !== undefined);
  const held = async (): Promise<readonly string[]> => weir.daemon.store.channels.held(row.address, 10);
  await until("the deletion in the log", async () => (await held()).length === 1);
  assert.deepEqual(await held(), [`${dm.id}/${changed}`]);
  slack.world.say(ann, dm, "what is the code?");
  await answers(scene, dm, 3);
  const shown =
    model.requests
      .at(-1)
      ?.body.messages.map(({ content }) => content ?? "")
      .join("\n") ?? "";
  assert.match(shown, /9999/);
  assert.doesNotMatch(shown, /secret/);
});

test("100 channels at once are all answered, each once", async () => {
  await using scene = await openScene();
  const { slack, model } = scene;
  model.respond(echo);
  const ann = slack.world.addUser("ann");
  const channels = Array.from({ length: 100 }, (_, index) =>
    slack.world.addChannel({ name: `room-${index}`, members: [ann] }),
  );
  for (const channel of channels) slack.world.say(ann, channel, `<@${slack.world.bot.id}> ${channel.name}?`);
  for (const channel of channels) {
    const said = await answers(scene, channel, 1);
    assert.equal(said.length, 1);
    assert.match(said[0] ?? "", new RegExp(`${channel.name}\\?`));
  }
  assert.equal(model.requests.length, 100);
});

test("more people at once than Slack takes updates for: nobody waits for the pieces of another's answer", async () => {
  await using scene = await openScene({ server: { limits: { updatesPerMinute: 50 } } });
  const { slack, model } = scene;
  model.respond(() => text(["One, ", "two, ", "three, ", "four."], { delayMs: 150 }));
  const ann = slack.world.addUser("ann");
  const channels = Array.from({ length: 70 }, (_, index) =>
    slack.world.addChannel({ name: `room-${index}`, members: [ann] }),
  );
  for (const channel of channels) slack.world.say(ann, channel, `<@${slack.world.bot.id}> count`);
  for (const channel of channels)
    assert.deepEqual(await answers(scene, channel, 1), ["One, two, three, four."]);
  const updates = slack.journal.calls("chat.update");
  assert.ok(updates.length > 0);
  assert.deepEqual(
    updates.filter(({ outcome }) => outcome === "rate_limited"),
    [],
  );
});

test("an answer that is whole before its first piece is due is posted once, and never edited", async () => {
  await using scene = await openScene({ timing: { firstPieceMs: 60_000 } });
  const { slack, model } = scene;
  model.respond(() => text(["It ", "is ", "cold."], { delayMs: 30 }));
  const ann = slack.world.addUser("ann");
  const dm = slack.world.openIm(ann);
  slack.world.say(ann, dm, "how is it outside?");
  assert.deepEqual(await answers(scene, dm, 1), ["It is cold."]);
  assert.equal(slack.journal.calls("chat.postMessage").length, 1);
  assert.deepEqual(slack.journal.calls("chat.update"), []);
});

test("an answer of 30 kB full of code comes whole, in order, with every fence closed", async () => {
  await using scene = await openScene();
  const { slack, model } = scene;
  const lines = Array.from(
    { length: 700 },
    (_, index) => `  if (a[${index}] < b && c > ${index}) go("&amp;");`,
  );
  model.respond(() => text(`Here:\n\`\`\`ts\n${lines.join("\n")}\n\`\`\`\nDone.`));
  const ann = slack.world.addUser("ann");
  const dm = slack.world.openIm(ann);
  slack.world.say(ann, dm, "show me");
  const parts = await answers(scene, dm, 1);
  const raw = slack.messages(dm).filter(({ user }) => user === slack.world.bot.id);
  assert.ok(raw.length >= 10);
  assert.ok(raw.every((message) => message.text.length <= 4000 && !/<(?!@|http)/.test(message.text)));
  for (const part of parts) assert.equal((part.match(/```/g) ?? []).length % 2, 0);
  const code = parts
    .join("\n")
    .split("\n")
    .filter((line) => line.startsWith("  if"));
  assert.deepEqual(code, lines);
  assert.match(parts.at(-1) ?? "", /Done\.$/);
});

test("a flood in a channel that nobody answers costs one line, and leaves the others alone", async () => {
  await using scene = await openScene({ binding: { channels: ["mine"] } });
  const { slack, model, weir, lines } = scene;
  model.respond(echo);
  const ann = slack.world.addUser("ann");
  const mine = slack.world.addChannel({ name: "mine", members: [ann] });
  const other = slack.world.addChannel({ name: "other", members: [ann] });
  for (let count = 0; count < 500; count++) slack.world.say(ann, other, `flood ${count}`);
  slack.world.say(ann, mine, `<@${slack.world.bot.id}> still there?`);
  assert.equal((await answers(scene, mine, 1)).length, 1);
  assert.deepEqual(botTexts(slack, other), []);
  assert.equal(await weir.daemon.store.channels.find({ platform: "slack", name: other.id }), undefined);
  assert.equal(lines.filter((line) => line.includes("message_unbound")).length, 1);
  assert.equal(slack.journal.acks.length, slack.journal.envelopes().length);
});

test("a post whose answer is lost after it was made stands there once", async () => {
  await using scene = await openScene({ binding: { streaming: false } });
  const { slack, model } = scene;
  model.respond(echo);
  const ann = slack.world.addUser("ann");
  const channel = slack.world.addChannel({ name: "general", members: [ann] });
  const root = slack.world.say(ann, channel, "root");
  slack.faults.next({ method: "chat.postMessage", fault: "reset_after" });
  slack.faults.next({ method: "conversations.replies", fault: "rate_limited", retryAfterS: 1 });
  slack.world.say(ann, channel, `<@${slack.world.bot.id}> hello`, { threadTs: root });
  await answers(scene, channel, 1);
  assert.equal(botTexts(slack, channel, root).length, 1);
  assert.equal(slack.journal.calls("chat.postMessage").length, 1);
});

test("a command is answered to the asker alone, and is no message", async () => {
  await using scene = await openScene();
  const { slack, model, weir } = scene;
  model.respond(echo);
  const ann = slack.world.addUser("ann");
  const dm = slack.world.openIm(ann);
  slack.world.say(ann, dm, "hello");
  await answers(scene, dm, 1);
  const command = slack.world.command(ann, dm, "/weir", "status");
  await command.acknowledged;
  assert.match(command.posts[0]?.text ?? "", /answered by main/);
  const row = await weir.daemon.store.channels.find({ platform: "slack", name: dm.id });
  assert.equal(row?.lastSeq, 2);
  assert.equal(model.requests.length, 1);
});

test("a channel that is archived meanwhile is told in the log, and blocks nothing", async () => {
  await using scene = await openScene();
  const { slack, model, weir } = scene;
  const ann = slack.world.addUser("ann");
  const dm = slack.world.openIm(ann);
  const channel = slack.world.addChannel({ name: "old", members: [ann] });
  model.respond(echo);
  slack.world.archive(channel);
  slack.world.say(ann, channel, `<@${slack.world.bot.id}> hello`);
  await slack.journal.until("the failure", () =>
    weir.events.some((event) => event.type === "delivery_failed" && event.kind === "gone"),
  );
  slack.world.say(ann, dm, "hello");
  await answers(scene, dm, 1);
});
