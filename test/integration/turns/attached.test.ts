// proves: src/channel/turns/turn-channel.ts, src/platforms/shared/attachments.ts
import assert from "node:assert/strict";
import { after, test } from "node:test";
import type { InboundImage } from "../../../src/core/message.ts";
import { createTestDatabase } from "../../support/database.ts";
import { TEST_DIGESTER } from "../../support/digester.ts";
import { status, text } from "../../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../../support/model-server.ts";
import { startWeir, type TestWeir } from "../../support/weir.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());
const AGENT = `[[agents]]\nid = "main"\nmodel = "test-model"\ntime_zone = "UTC"\n`;
const AT = new Date("2026-03-01T10:30:00Z");

async function start(server: ModelServer, config = AGENT): Promise<TestWeir> {
  return startWeir({ connection: database.connection, modelUrl: server.url, config });
}

/** The messages of the n-th request as text. */
function shown(server: ModelServer, index: number): string {
  return (server.requests[index]?.body.messages ?? []).map(({ content }) => content ?? "").join("\n");
}

async function answered(weir: TestWeir, room: string): Promise<string> {
  await weir.event("reply_delivered", ({ channel }) => channel === `test:${room}`);
  return weir.platform.calls.findLast(({ message }) => message.channel.name === room)?.messageId ?? "";
}

test("a reply shows what it replies to: a person's message, as it reads now, and an answer", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text("It will rain."));
  await weir.say("the key is under the mat", { room: "replies", id: "said-1", addressed: false, at: AT });
  const at = new Date("2026-03-01T10:31:00Z");
  await weir.daemon.inbox.receive({
    type: "edit",
    platform: "test",
    id: "said-1",
    text: "the key is gone",
    at,
  });
  await weir.say("what is this?", { room: "replies", replyTo: "said-1" });
  const answer = await answered(weir, "replies");
  assert.match(shown(server, 0), /> Ann answers \[2026-03-01 10:30\] Ann: the key is gone/);
  await weir.say("really?", { room: "replies", replyTo: answer });
  while (server.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.match(shown(server, 1), /> Ann answers \[[^\]]+\] you: It will rain\./);
});

test("a reply to a deleted or an unknown message shows nothing of it", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text("ok"));
  await weir.say("the secret word", { room: "deleted", id: "d1", addressed: false });
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "d1", at: new Date() });
  await weir.say("this one?", { room: "deleted", replyTo: "d1" });
  await weir.say("or this?", { room: "deleted", replyTo: "never-heard-of" });
  await answered(weir, "deleted");
  assert.doesNotMatch(shown(server, 0), /secret|answers \[/);
});

const PICTURE: InboundImage = {
  name: "cat.png",
  type: "image/png",
  bytes: Buffer.from("not really a picture"),
};
const PICTURED = { images: [PICTURE, PICTURE] };
const WORDS = "look\n[image cat.png, image/png, 20 bytes]";

test("a picture is shown with the message that it belongs to, once, to an agent that sees", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, `${AGENT}sees_images = true\n`);
  server.respond(() => text("a cat"));
  await weir.say(WORDS, { room: "seen", id: "p1", ...PICTURED });
  await answered(weir, "seen");
  assert.match(
    shown(server, 0),
    /\[image cat\.png, image\/png, 20 bytes\]<image><image>\n\[System: what is true/,
  );
  await weir.say("and its name?", { room: "seen" });
  while (server.requests.length < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.doesNotMatch(shown(server, 1), /<image>/);
  const kept = await weir.daemon.store.attached.imagesOf("test", ["p1"], 9);
  assert.deepEqual(
    kept.map(({ bytes }) => Buffer.from(bytes).toString()),
    ["not really a picture", "not really a picture"],
  );
  await weir.daemon.inbox.receive({ type: "deletion", platform: "test", id: "p1", at: new Date() });
  assert.deepEqual(await weir.daemon.store.attached.imagesOf("test", ["p1"], 9), []);
});

test("to an agent that sees none, a picture is a name, and it is not kept", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text("I see its name"));
  await weir.say(WORDS, { room: "unseen", id: "p2", ...PICTURED });
  await answered(weir, "unseen");
  assert.doesNotMatch(shown(server, 0), /<image>/);
  assert.deepEqual(await weir.daemon.store.attached.imagesOf("test", ["p2"], 9), []);
});

test("a model that is said not to see is sent no picture, and none is kept for it", async () => {
  await using server = await startModelServer();
  const blind = `${AGENT}sees_images = true\n[models."test-model"]\nsees_images = false\n`;
  await using weir = await start(server, blind);
  server.respond(() => text("I see its name"));
  await weir.say(WORDS, { room: "blind", id: "b1", ...PICTURED });
  await answered(weir, "blind");
  assert.match(shown(server, 0), /\[image cat\.png, image\/png, 20 bytes\]/);
  assert.doesNotMatch(shown(server, 0), /<image>/);
  assert.deepEqual(await weir.daemon.store.attached.imagesOf("test", ["b1"], 9), []);
});

test("a fallback that is said not to see answers without the picture, and is estimated without it", async () => {
  await using server = await startModelServer();
  const config =
    `[llm]\nmax_retries = 0\n${AGENT}sees_images = true\nfallbacks = ["blind"]\n` +
    `[models."blind"]\nsees_images = false\n`;
  await using weir = await start(server, config);
  server.respond(({ model }) =>
    model === "blind" ? text("a cat, by its name", { usage: { prompt: 900 } }) : status(500, {}),
  );
  await weir.say(WORDS, { room: "fallback", id: "f1", ...PICTURED });
  await answered(weir, "fallback");
  assert.deepEqual(
    server.requests.map(({ body }) => [body.model, /<image>/.test(JSON.stringify(body.messages))]),
    [
      ["test-model", true],
      ["blind", false],
    ],
  );
  const { id } = (await weir.daemon.store.channels.find({ platform: "test", name: "fallback" })) ?? {};
  assert.ok(id !== undefined);
  const { lastUsage } = await weir.daemon.store.load(id);
  assert.equal(lastUsage?.model, "blind");
  assert.ok(lastUsage.estimated < 1900, `${lastUsage.estimated} tokens without two pictures`);
});

test("pictures that do not fit beside the words are left out, and the words are answered", async () => {
  await using server = await startModelServer();
  const small =
    "sees_images = true\ncontext_window = 6000\nmax_output_tokens = 500\ngeneration_reserve = 500\n";
  await using weir = await start(server, AGENT + small);
  server.respond(() => text("too small a window"));
  await weir.say(WORDS, { room: "small", id: "p3", images: [PICTURE, PICTURE, PICTURE, PICTURE] });
  await answered(weir, "small");
  assert.match(shown(server, 0), /look/);
  assert.doesNotMatch(shown(server, 0), /<image>/);
});

test("the model is told where it is, as people call it", async () => {
  await using server = await startModelServer();
  await using weir = await start(server);
  server.respond(() => text("here"));
  await weir.say("where are we?", {
    room: "t1",
    kind: "thread",
    workspace: "9",
    place: { workspace: "River Club", channel: "weirs", parent: { id: "1", name: "general" } },
  });
  await answered(weir, "t1");
  assert.match(shown(server, 0), /Place: "the thread 'weirs' of #general in River Club" on test/);
});

test("a picture goes with an edit that takes it out, and does not come back with a forgotten message", async () => {
  await using server = await startModelServer();
  await using weir = await start(server, `${AGENT}sees_images = true\n`);
  const { store, inbox } = weir.daemon;
  const channel = { platform: "test", name: "gone" };
  const kept = async (id: string): Promise<number> => (await store.attached.imagesOf("test", [id], 9)).length;
  const edit = async (changed: string, minute: number): Promise<unknown> =>
    inbox.receive({
      type: "edit",
      platform: "test",
      id: "g1",
      text: changed,
      at: new Date(AT.getTime() + minute * 60_000),
    });
  const other = { ...PICTURE, name: "dog.png" };
  const words = `${WORDS}\n[image dog.png, image/png, 20 bytes]`;
  const picture = { room: "gone", addressed: false, at: AT };
  await weir.say(words, { ...picture, id: "g1", images: [PICTURE, other] });
  await edit(`${words} `, 1);
  assert.equal(await kept("g1"), 2);
  await edit(WORDS, 2);
  assert.equal(await kept("g1"), 1);
  await edit("look", 3);
  assert.equal(await kept("g1"), 0);
  await weir.say(WORDS, { ...picture, id: "g2", images: [PICTURE] });
  const row = await store.channels.find(channel);
  assert.ok(row);
  await store.people.blank(row.id, ["g2"], TEST_DIGESTER);
  assert.equal(await kept("g2"), 0);
  await weir.say(WORDS, { ...picture, id: "g2", images: [PICTURE] });
  assert.equal(await kept("g2"), 0);
});
