// proves: src/router/bindings.ts, src/router/router.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { Binding } from "../../../src/router/bindings.ts";
import { createTestDatabase } from "../../support/database.ts";
import { cutStream, text, toolCalls } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { TestPlatform } from "../../support/test-platform.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const CONFIG = `[[agents]]\nid = "main"\nmodel = "test-model"\n`;

async function start(
  server: ModelServer,
  binding: Partial<Binding>,
  platform = new TestPlatform({ hasTextCommands: true }),
): Promise<TestWeir> {
  server.respond(() => text("an answer"));
  return startWeir({
    connection: database.connection,
    modelUrl: server.url,
    config: CONFIG,
    binding,
    platform,
  });
}

async function delivered(weir: TestWeir, room: string, count = 1): Promise<void> {
  const answers = (): number =>
    weir.events.filter((event) => event.type === "reply_delivered" && event.channel === `test:${room}`)
      .length;
  while (answers() < count) await new Promise((resolve) => setTimeout(resolve, 5));
}

test("who asks too often is told so once, is not answered, and is not lost", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, { rateLimit: 2 });
  for (const [index, said] of ["one", "two", "three", "four"].entries()) {
    await weir.say(said, { room: "often", id: `often-${index}` });
    if (index < 2) await delivered(weir, "often", index + 1);
  }
  await weir.platform.until(() => weir.platform.calls.length === 3);
  const notices = weir.platform.calls.filter(({ message }) => message.kind === "notice");
  assert.deepEqual(
    notices.map(({ message }) => message.inReplyTo),
    [["often-2"]],
  );
  assert.equal(server.requests.length, 2);
  const ben = { id: "u-ben", name: "Ben", isBot: false };
  await weir.say("and I?", { room: "often", author: ben });
  await delivered(weir, "often", 3);
  const shown = server.requests[2]?.body.messages.map(({ content }) => content ?? "").join("\n") ?? "";
  assert.match(shown, /Ann: three\n\[\+\] four\n\[\] Ben: and I\?/);
});

test("a command in a message is run once, and is no message", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, {});
  await weir.say("hello", { room: "commands" });
  await delivered(weir, "commands");
  const command = { room: "commands", id: "command-1" };
  assert.deepEqual(await weir.say("@weir /status", command), { outcome: "command" });
  assert.deepEqual(await weir.say("@weir /status", command), { outcome: "command" });
  await weir.platform.until(() => weir.platform.calls.length === 2);
  const answer = weir.platform.calls[1]?.message;
  assert.match(answer?.text ?? "", /answered by main/);
  assert.deepEqual([answer?.kind, answer?.inReplyTo], ["notice", ["command-1"]]);
  const channel = await weir.daemon.store.channels.find({ platform: "test", name: "commands" });
  assert.equal(channel?.lastSeq, 2, "the message and its answer");
});

test("what a bot says is no command: it is read, and answered as any other message", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, { allowBots: true, mentionRequired: false });
  const author = { id: "u-bot", name: "Bot", isBot: true };
  const room = "bot-commands";
  const said = { room, author, addressed: false };
  const refused = "/reset changes the conversation for everybody here, and is for owners only.";
  assert.equal((await weir.say("hello", { ...said, isBackground: true })).outcome, "accepted");
  assert.equal((await weir.say(refused, { ...said, isBackground: true })).outcome, "accepted");
  assert.equal((await weir.say(refused, said)).outcome, "accepted");
  await delivered(weir, room);
  assert.deepEqual(weir.platform.texts(room), ["an answer"]);
});

test("commands count with questions in what a person may ask in a minute; /stop always works", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, { rateLimit: 2 });
  const room = "often-commands";
  for (const [index, said] of ["/status", "/status", "/status", "/stop", "/status", "hello"].entries()) {
    await weir.say(said, { room, id: `${room}-${index}` });
    if (index === 0) await weir.say(said, { room, id: `${room}-${index}` });
  }
  await weir.platform.until(() => weir.platform.calls.length === 4);
  const told = weir.platform.calls.map(
    ({ message }) => [message.inReplyTo[0]?.at(-1), message.text] as const,
  );
  const answers = new Map(told);
  assert.deepEqual(new Set(answers.keys()), new Set(["0", "1", "2", "3"]));
  // It is no message: nobody may be told that it was read.
  assert.match(
    answers.get("2") ?? "",
    /^That is more than I may do for you in a minute, so it was not run\./,
  );
  assert.match(answers.get("3") ?? "", /Nothing is being written|Nothing has been said/);
  const channel = await weir.daemon.store.channels.find({ platform: "test", name: room });
  assert.equal(channel?.lastSeq, 1, "the question is read, the commands are not");
});

test("a command that is looked at again after a restart is not run again", async () => {
  await using server = await startModelServer();
  const command = { room: "again", id: "command-again" };
  {
    await using weir = await start(server, {});
    await weir.say("@weir /status", command);
    await weir.platform.until(() => weir.platform.calls.length === 1);
  }
  await using weir = await start(server, {});
  assert.deepEqual(await weir.say("@weir /status", command), { outcome: "command" });
  await weir.say("@weir /status", { ...command, id: "command-new" });
  await weir.platform.until(() => weir.platform.calls.length > 0);
  assert.deepEqual(
    weir.platform.calls.map(({ message }) => message.inReplyTo),
    [["command-new"]],
  );
});

test("a thread in which the agent was asked needs no mention any more, also after a restart", async () => {
  const thread = { room: "thread", kind: "thread" as const, addressed: false };
  await using server = await startModelServer();
  {
    await using weir = await start(server, {});
    await weir.say("about rain", thread);
    await weir.say("@weir, will it rain?", { ...thread, addressed: true });
    await delivered(weir, "thread");
    await weir.say("and tomorrow?", thread);
    await delivered(weir, "thread", 2);
  }
  await using weir = await start(server, {});
  await weir.say("and on Sunday?", thread);
  await delivered(weir, "thread");
  assert.equal(server.requests.length, 3);
});

test("a message of a bot, and a DM of somebody who may not send one, are not written down", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, { allowBots: false, dmAllow: ["u-ben"] });
  const bot = { id: "u-bot", name: "Bot", isBot: true };
  assert.deepEqual(await weir.say("beep", { room: "bots", author: bot }), { outcome: "ignored" });
  assert.deepEqual(await weir.say("psst", { room: "dm", kind: "dm" }), { outcome: "ignored" });
  for (const name of ["bots", "dm"])
    assert.equal(await weir.daemon.store.channels.find({ platform: "test", name }), undefined);
});

test("bots that answer one another are left alone after a few turns", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, { allowBots: true });
  const bot = { id: "u-bot", name: "Bot", isBot: true };
  for (let index = 0; index < 12; index++) {
    await weir.say(`beep ${index}`, { room: "loop", author: bot });
    if (index < 5) await delivered(weir, "loop", index + 1);
  }
  await weir.say("enough", { room: "loop" });
  await delivered(weir, "loop", 6);
  assert.equal(server.requests.length, 6);
});

test("an emoji acknowledges what will be answered; a sign stands while it is", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, { acknowledge: "👀" });
  await weir.say("beside", { room: "signs", addressed: false, id: "s1" });
  await weir.say("hello", { room: "signs", id: "s2" });
  await delivered(weir, "signs");
  assert.deepEqual(weir.platform.reactions, ["s2 👀"]);
  assert.deepEqual(weir.platform.signs, [true, false]);
});

test("streaming is off for a binding that says so", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ streaming: { intervalMs: 0 } });
  await using weir = await start(server, { streaming: false }, platform);
  await weir.say("hello", { room: "whole" });
  await delivered(weir, "whole");
  assert.deepEqual(
    platform.calls.map(({ operation, message }) => [operation, message.final]),
    [["send", true]],
  );
});

test("what was shown of an answer that never came is taken back", async () => {
  await using server = await startModelServer();
  const platform = new TestPlatform({ streaming: { intervalMs: 0 } });
  await using weir = await start(server, {}, platform);
  // The first attempt breaks off in the middle of its words; the second one has none.
  server.reply(
    cutStream("Well, "),
    toolCalls([{ id: "c1", name: "skip", arguments: '{"reason":"not for me"}' }]),
  );
  await weir.say("hello", { room: "withdrawn" });
  await weir.event("turn_settled", ({ channel }) => channel === "test:withdrawn");
  while (platform.removed.length === 0) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(platform.texts("withdrawn"), []);
  assert.equal(platform.shown.size, 0);
});

test("an edit and a deletion reach each channel that has the message", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, {});
  for (const room of ["parent", "child"])
    await weir.say("the secret", { room, id: "shared", addressed: false });
  const at = new Date(Date.now() + 1000);
  await weir.daemon.inbox.receive({ type: "edit", platform: "test", id: "shared", text: "the changed", at });
  const texts = async (): Promise<string[]> => {
    const found: string[] = [];
    for (const name of ["parent", "child"]) {
      const channel = await weir.daemon.store.channels.find({ platform: "test", name });
      assert.ok(channel);
      const [entry] = await weir.daemon.store.log.readCurrent(channel.id, 1, 1);
      found.push(entry?.text ?? "none");
    }
    return found;
  };
  assert.deepEqual(await texts(), ["the changed", "the changed"]);
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "shared", at });
  assert.deepEqual(await texts(), ["", ""]);
});

test("what was taken back does not return as the background of a thread", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, {});
  await weir.say("the secret", { room: "above", id: "taken-back", addressed: false });
  const deletion = { type: "deletion", platform: "test", id: "taken-back", at: new Date() } as const;
  await weir.daemon.inbox.receive(deletion);
  const copy = { room: "below", kind: "thread", addressed: false, isBackground: true } as const;
  assert.equal((await weir.say("the secret", { ...copy, id: "taken-back" })).outcome, "ignored");
  assert.equal((await weir.say("the rest", { ...copy, id: "left" })).outcome, "accepted");
});
