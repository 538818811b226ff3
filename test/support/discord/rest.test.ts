import assert from "node:assert/strict";
import { test } from "node:test";

import { DiscordAPIError, HTTPError, type Client, type SendableChannels } from "discord.js";

import type { Fault } from "./faults.ts";
import { login } from "./login.ts";
import { ROUTE_MESSAGES, startDiscordServer, type DiscordServer } from "./server.ts";

interface Scene extends AsyncDisposable {
  readonly server: DiscordServer;
  readonly client: Client<true>;
  readonly channelId: string;
  readonly place: SendableChannels;
  readonly ada: string;
  /** Number of the client's attempts to send a message. */
  attempts(): number;
  fault(fault: Fault, times?: number): void;
}

async function openScene(): Promise<Scene> {
  const server = await startDiscordServer();
  const channelId = server.world.addChannel({ guild: server.world.addGuild(), name: "general" });
  const client = await login(server);
  const place = await client.channels.fetch(channelId);
  assert(place?.isSendable());
  return {
    server,
    client,
    channelId,
    place,
    ada: server.world.addUser({ name: "ada" }),
    attempts: () => server.journal.calls("POST", ROUTE_MESSAGES).length,
    fault: (fault, times = 1) => server.faults.next({ method: "POST", route: ROUTE_MESSAGES, fault, times }),
    async [Symbol.asyncDispose]() {
      await client.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

const withCode =
  (code: number, status: number) =>
  (error: unknown): boolean =>
    error instanceof DiscordAPIError && error.code === code && error.status === status;

test("a reset socket is retried by the client itself: without a nonce that may send twice, with one it may not", async () => {
  for (const [when, nonce, visible] of [
    ["before", null, 1],
    ["before", "n-1", 1],
    ["after", null, 2],
    ["after", "n-2", 1],
  ] as const) {
    await using scene = await openScene();
    scene.fault({ kind: "reset", when });
    await scene.place.send({ content: "hello", ...(nonce === null ? {} : { nonce, enforceNonce: true }) });
    assert.equal(scene.attempts(), 2);
    assert.equal(scene.server.answers(scene.channelId).length, visible, `${when}, nonce ${nonce}`);
  }
});

test("a socket closed without an answer is thrown, and a second try with the same nonce sends nothing new", async () => {
  for (const when of ["before", "after"] as const) {
    await using scene = await openScene();
    scene.fault({ kind: "close", when });
    const message = { content: "hello", nonce: "n-1", enforceNonce: true };
    await assert.rejects(scene.place.send(message), { code: "UND_ERR_SOCKET" });
    assert.equal(scene.server.answers(scene.channelId).length, when === "after" ? 1 : 0);
    const sent = await scene.place.send(message);
    assert.equal(sent.id, scene.server.messages(scene.channelId)[0]?.id);
    assert.deepEqual(scene.server.answers(scene.channelId), ["hello"]);
  }
});

test("a nonce is forgotten after its life", async () => {
  await using server = await startDiscordServer({ nonceLifeMs: 0 });
  const guild = server.world.addGuild();
  const channel = server.world.addChannel({ guild, name: "general" });
  await using client = await login(server);
  const place = await client.channels.fetch(channel);
  assert(place?.isSendable());
  await place.send({ content: "hello", nonce: "n", enforceNonce: true });
  await place.send({ content: "hello", nonce: "n", enforceNonce: true });
  assert.equal(server.answers(channel).length, 2);
});

test("5xx is tried four times at once, and a message that was sent nevertheless is there twice", async () => {
  await using scene = await openScene();
  scene.fault({ kind: "status", status: 502 }, 4);
  await assert.rejects(
    scene.place.send("hello"),
    (error) => error instanceof HTTPError && error.status === 502,
  );
  assert.equal(scene.attempts(), 4);
  scene.fault({ kind: "status", status: 500, when: "after" });
  await scene.place.send("hello");
  assert.equal(scene.server.answers(scene.channelId).length, 2);
});

test("429 of a route and a global one are waited for, and sent once", async () => {
  for (const isGlobal of [false, true]) {
    await using scene = await openScene();
    scene.fault({ kind: "rate-limit", retryAfterMs: 150, isGlobal });
    const before = performance.now();
    await scene.place.send("hello");
    assert(performance.now() - before >= 145);
    assert.equal(scene.server.journal.rest.findLast(({ status }) => status === 429)?.isCommitted, false);
    assert.deepEqual(scene.server.answers(scene.channelId), ["hello"]);
  }
});

test("the client waits by itself when a bucket's headers say that it is empty", async () => {
  await using scene = await openScene();
  scene.server.limit("POST", ROUTE_MESSAGES, { requests: 2, windowMs: 300 });
  await Promise.all(["a", "b", "c"].map(async (text) => scene.place.send(text)));
  const calls = scene.server.journal.calls("POST", ROUTE_MESSAGES);
  assert.deepEqual(
    calls.map(({ status }) => status),
    [200, 200, 200],
  );
  assert((calls[2]?.at ?? 0) - (calls[0]?.at ?? 0) >= 250);
});

test("one who ignores the headers gets 429 until the window ends", async () => {
  await using scene = await openScene();
  scene.server.limit("GET", "/users/@me", { requests: 1, windowMs: 60_000 });
  const ask = async (): Promise<Response> =>
    fetch(`${scene.server.api}/v10/users/@me`, { headers: { authorization: `Bot ${scene.server.token}` } });
  assert.equal((await ask()).status, 200);
  const refused = await ask();
  assert.equal(refused.status, 429);
  assert(Number(refused.headers.get("retry-after")) > 59);
});

test("Discord's errors come with code and status", async () => {
  await using scene = await openScene();
  const { server, client, place, channelId, ada } = scene;
  await assert.rejects(place.send("x".repeat(2_001)), withCode(50_035, 400));
  await assert.rejects(place.send(""), withCode(50_006, 400));
  await assert.rejects(place.send({ content: "a", reply: { messageReference: ada } }), withCode(50_035, 400));
  await assert.rejects(place.messages.fetch(ada), withCode(10_008, 404));
  await assert.rejects(client.channels.fetch(ada), withCode(10_003, 404));
  server.world.setAccess(channelId, "read");
  await assert.rejects(place.send("a"), withCode(50_013, 403));
  server.world.denyAccess(channelId);
  await assert.rejects(place.send("a"), withCode(50_001, 403));
  assert.deepEqual(server.answers(channelId), []);
});

test("one 401 is enough for the client to forget its token", async () => {
  await using scene = await openScene();
  scene.fault({ kind: "status", status: 401 });
  await assert.rejects(scene.place.send("a"), withCode(0, 401));
  await assert.rejects(scene.place.send("b"), /Expected token to be set/);
  assert.equal(scene.attempts(), 1);
});

test("history comes newest first, by pages that follow each other", async () => {
  await using scene = await openScene();
  const ids = Array.from({ length: 5 }, (_, index) =>
    scene.server.world.say(scene.ada, scene.channelId, `m${index}`),
  );
  const texts = async (query: object): Promise<string[]> =>
    [...(await scene.place.messages.fetch({ cache: false, ...query })).values()].map(
      ({ content }) => content,
    );
  assert.deepEqual(await texts({ after: ids[1], limit: 2 }), ["m3", "m2"]);
  assert.deepEqual(await texts({ after: ids[3], limit: 2 }), ["m4"]);
  assert.deepEqual(await texts({ before: ids[3], limit: 2 }), ["m2", "m1"]);
  assert.deepEqual(await texts({ around: ids[2], limit: 3 }), ["m3", "m2", "m1"]);
  assert.deepEqual(await texts({ limit: 2 }), ["m4", "m3"]);
});

test("pings, edits, reactions, files and typing are what people would see", async () => {
  await using scene = await openScene();
  const { server, place, channelId, ada } = scene;
  const asked = server.world.say(ada, channelId, "who?");
  const text = `<@${ada}> @everyone`;
  const loud = await place.send({ content: text, reply: { messageReference: asked } });
  assert.deepEqual(server.pings(loud.id), { users: [ada], roles: [], everyone: true });
  const quiet = await place.send({ content: text, allowedMentions: { parse: [] } });
  assert.deepEqual(server.pings(quiet.id), { users: [], roles: [], everyone: false });
  await quiet.edit("calmer");
  await quiet.react("👍");
  await place.sendTyping();
  await place.send({ files: [{ attachment: Buffer.from("a,b"), name: "table.csv" }] });
  await loud.delete();
  const [, edited, file] = server.messages(channelId);
  assert.deepEqual(
    [edited?.text, edited?.isEdited, edited?.reactions["👍"]],
    ["calmer", true, [server.world.botId]],
  );
  assert.deepEqual(file?.files, ["table.csv"]);
  assert.equal(server.journal.calls("POST", "/channels/:channel/typing").length, 1);
});
