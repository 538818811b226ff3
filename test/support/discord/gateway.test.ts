import assert from "node:assert/strict";
import { test } from "node:test";

import { Events, GatewayDispatchEvents, GatewayIntentBits, GatewayOpcodes, type Client } from "discord.js";

import { createClient, login } from "./login.ts";
import { until } from "../patience.ts";
import { startDiscordServer, type DiscordServer } from "./server.ts";
import type { DiscordOptions } from "./state.ts";

interface Scene extends AsyncDisposable {
  readonly server: DiscordServer;
  readonly client: Client<true>;
  readonly channel: string;
  say(text: string): string;
  /** Texts that the client received, in order. */
  readonly heard: string[];
  /** Names of the client's connection events, in order. */
  readonly events: string[];
}

async function openScene(options: DiscordOptions = {}): Promise<Scene> {
  const server = await startDiscordServer(options);
  const channel = server.world.addChannel({ guild: server.world.addGuild(), name: "general" });
  const ada = server.world.addUser({ name: "ada" });
  const client = await login(server);
  const heard: string[] = [];
  const events: string[] = [];
  client.on(Events.MessageCreate, (message) => heard.push(message.content));
  client.on(Events.ShardReconnecting, () => events.push(Events.ShardReconnecting));
  client.on(Events.ShardResume, () => events.push(Events.ShardResume));
  client.on(Events.ShardReady, () => events.push(Events.ShardReady));
  client.on(Events.ShardDisconnect, () => events.push(Events.ShardDisconnect));
  client.on(Events.ShardError, () => events.push(Events.ShardError));
  return {
    server,
    client,
    channel,
    heard,
    events,
    say: (text) => server.world.say(ada, channel, text),
    async [Symbol.asyncDispose]() {
      await client.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

const RESUMED = [Events.ShardReconnecting, Events.ShardResume];
const IDENTIFIED_ANEW = [Events.ShardReconnecting, Events.ShardReady];

test("the real client logs in, hears people, and people see what it says", async () => {
  await using scene = await openScene();
  const { client, server, channel } = scene;
  assert.equal(client.user.id, server.world.botId);
  assert.equal(client.guilds.cache.size, 1);
  scene.say("good morning");
  await until("message", () => scene.heard.length === 1);
  const place = await client.channels.fetch(channel);
  assert(place?.isSendable());
  await place.send("good morning, Ada");
  assert.deepEqual(scene.heard, ["good morning", "good morning, Ada"]);
  assert.deepEqual(
    server.messages(channel).map(({ text, isBots }) => [text, isBots]),
    [
      ["good morning", false],
      ["good morning, Ada", true],
    ],
  );
});

test("after a cut, by FIN or by RST, a RESUME brings what was said meanwhile, once", async () => {
  for (const isReset of [false, true]) {
    await using scene = await openScene();
    scene.say("one");
    await until("message", () => scene.heard.length === 1);
    scene.server.gateway.cut({ isReset });
    await until("end of the connection", () => scene.server.gateway.openConnections() === 0);
    scene.say("two");
    await until("resume", () => scene.events.length === 2);
    scene.say("three");
    await until("third message", () => scene.heard.length === 3);
    assert.deepEqual(scene.events, RESUMED);
    assert.deepEqual(scene.heard, ["one", "two", "three"]);
    const paths = scene.server.journal.connections("open").map(({ path }) => path?.split("?")[0]);
    assert.deepEqual(paths, ["/gateway", "/resume"]);
  }
});

test("op 7 makes the client come back and resume", async () => {
  await using scene = await openScene();
  scene.server.gateway.reconnect();
  await until("resume", () => scene.events.length === 2);
  assert.deepEqual(scene.events, RESUMED);
  assert.equal(scene.server.journal.connections("close")[0]?.code, 4200);
});

test("op 9 with d=true is answered by a RESUME on the same connection", async () => {
  await using scene = await openScene();
  scene.server.gateway.invalidate(true);
  await until("resume", () => scene.events.includes(Events.ShardResume));
  assert.deepEqual(scene.events, [Events.ShardResume]);
  assert.equal(scene.server.gateway.openConnections(), 1);
  assert.equal(scene.server.journal.connections("open").length, 1);
});

test("after op 9 with d=false what was said meanwhile is in the history only", async () => {
  await using scene = await openScene();
  const first = scene.say("before");
  await until("message", () => scene.heard.length === 1);
  scene.server.gateway.invalidate(false);
  scene.say("in the gap");
  await until("new session", () => scene.events.length === 2);
  assert.deepEqual(scene.events, IDENTIFIED_ANEW);
  assert.deepEqual(scene.heard, ["before"]);
  const place = await scene.client.channels.fetch(scene.channel);
  assert(place?.isTextBased());
  const missed = await place.messages.fetch({ after: first });
  assert.deepEqual(
    [...missed.values()].map(({ content }) => content),
    ["in the gap"],
  );
});

test("a session that missed more than is kept for it cannot be resumed", async () => {
  await using scene = await openScene({ replayLimit: 3 });
  scene.server.gateway.cut();
  await until("end of the connection", () => scene.server.gateway.openConnections() === 0);
  for (let index = 0; index < 4; index += 1) scene.say(`missed ${index}`);
  await until("new session", () => scene.events.includes(Events.ShardReady));
  assert.equal(scene.server.journal.received(GatewayOpcodes.Resume).length, 1);
  assert.deepEqual(scene.heard, []);
});

test("a client whose heartbeats are not acknowledged notices, and resumes", async () => {
  await using scene = await openScene({ heartbeatIntervalMs: 60 });
  scene.server.gateway.withholdAcks();
  await until("end of the connection", () => scene.events.length === 1);
  scene.server.gateway.withholdAcks(false);
  scene.say("while it was deaf");
  await until("resume", () => scene.events.length === 2);
  assert.deepEqual(scene.events, RESUMED);
  assert.deepEqual(scene.heard, ["while it was deaf"]);
});

test("a frozen connection carries nothing in either direction until it thaws", async () => {
  await using scene = await openScene();
  scene.server.gateway.freeze();
  scene.say("in the ice");
  await scene.client.rest.get("/users/@me");
  assert.deepEqual(scene.heard, []);
  scene.server.gateway.thaw();
  await until("message", () => scene.heard.length === 1);
  assert.deepEqual(scene.events, []);
});

test("each close code leads where Discord's table says", async () => {
  const expected = new Map([
    [4000, RESUMED],
    [4009, RESUMED],
    [4007, IDENTIFIED_ANEW],
    [4008, IDENTIFIED_ANEW],
  ]);
  await Promise.all(
    [...expected].map(async ([code, events]) => {
      await using scene = await openScene();
      scene.server.gateway.close(code);
      await until(`return after ${code}`, () => scene.events.length === 2);
      assert.deepEqual(scene.events, events, String(code));
    }),
  );
});

test("4014 on an established connection ends it for good, though the client still calls itself ready", async () => {
  await using scene = await openScene();
  scene.server.gateway.close(4014);
  await until("error", () => scene.events.length === 2);
  assert.deepEqual(scene.events, [Events.ShardDisconnect, Events.ShardError]);
  assert.equal(scene.client.isReady(), true);
});

test("login rejects for a wrong token, and for an intent that is not allowed", async () => {
  await using server = await startDiscordServer({ allowsMessageContent: false });
  await using stranger = createClient(server);
  await assert.rejects(stranger.login("wrong"), { code: "TokenInvalid" });

  // REST accepts the token; the gateway refuses it.
  const session_start_limit = { total: 1, remaining: 1, reset_after: 1_000, max_concurrency: 1 };
  const body = { url: `${server.url.replace("http", "ws")}/gateway`, shards: 1, session_start_limit };
  server.faults.next({ route: "/gateway/bot", fault: { kind: "status", status: 200, body } });
  await using refused = createClient(server);
  await assert.rejects(refused.login("wrong"), /Authentication failed/);

  await using curious = createClient(server);
  await assert.rejects(curious.login(server.token), /Used disallowed intents/);
  const codes = (): unknown[] => server.journal.connections("close").map(({ code }) => code);
  await until("ends", () => codes().length === 2);
  assert.deepEqual(codes(), [4004, 4014]);
});

test("without the intent, content comes only from DMs and mentions", async () => {
  await using server = await startDiscordServer({ allowsMessageContent: false });
  const { world } = server;
  const channel = world.addChannel({ guild: world.addGuild(), name: "general" });
  const ada = world.addUser({ name: "ada" });
  const { Guilds, GuildMessages, DirectMessages } = GatewayIntentBits;
  await using client = await login(server, { intents: [Guilds, GuildMessages, DirectMessages] });
  const heard: string[] = [];
  client.on(Events.MessageCreate, (message) => heard.push(message.content));
  world.say(ada, channel, "to everybody");
  world.say(ada, channel, `<@${world.botId}> to you`);
  world.say(ada, world.openDm(ada), "in private");
  await until("messages", () => heard.length === 3);
  assert.deepEqual(heard, ["", `<@${world.botId}> to you`, "in private"]);
});

test("events can come twice, never, or in another order", async () => {
  await using scene = await openScene();
  const raw: string[] = [];
  scene.client.ws.on(GatewayDispatchEvents.MessageCreate, (data: { content: string }) =>
    raw.push(data.content),
  );
  const { deliveries } = scene.server.gateway;
  deliveries.duplicate("MESSAGE_CREATE");
  scene.say("twice");
  deliveries.lose("MESSAGE_CREATE");
  scene.say("never");
  deliveries.hold();
  scene.say("first");
  scene.say("second");
  deliveries.release("reversed");
  await until("messages", () => raw.length === 4);
  assert.deepEqual(raw, ["twice", "twice", "second", "first"]);
  // The client drops messages that are in its cache already.
  assert.deepEqual(scene.heard, ["twice", "second", "first"]);
});

test("after an outage in which even connecting fails, the client has given up its session", async () => {
  await using scene = await openScene();
  await scene.server.outage();
  scene.say("in the dark");
  await until("failed attempt", () => scene.events.length === 2);
  await scene.server.listen();
  await until("new session", () => scene.events.includes(Events.ShardReady));
  assert.equal(scene.server.journal.received(GatewayOpcodes.Resume).length, 0);
  assert.deepEqual(scene.heard, []);
});
