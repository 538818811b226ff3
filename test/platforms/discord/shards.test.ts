// proves: src/platforms/discord/gateway/shards.ts, src/platforms/discord/gateway/shard-intake.ts, src/platforms/discord/gateway/logins.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayOpcodes } from "discord.js";
import { pino } from "pino";
import { pause } from "../../../src/async/clock.ts";
import { createDiscord } from "../../../src/platforms/discord/adapter.ts";
import { Logins } from "../../../src/platforms/discord/gateway/logins.ts";
import { shardOf } from "../../../src/platforms/discord/gateway/shard-intake.ts";
import { DiscordApi } from "../../../src/platforms/discord/rest/api.ts";
import type { DiscordConfig } from "../../../src/platforms/discord/row.ts";
import { DISCORD_TIMING } from "../../../src/platforms/discord/timing.ts";
import type { Platform } from "../../../src/platforms/platform.ts";
import { LocalShards, type ShardHomes } from "../../../src/platforms/shared/shard-homes.ts";
import { ScriptedShards } from "../../support/scripted-shards.ts";
import { type DiscordServer, ROUTE_MESSAGES, startDiscordServer } from "../../support/discord/server.ts";
import type { DiscordOptions } from "../../support/discord/state.ts";
import { until } from "../../support/patience.ts";
import { RecordingInbox } from "../recording-inbox.ts";
import { COMMANDS, discordConfig, FAST, gapAfter } from "./discord-harness.ts";

const SHARDS = 3;

interface Scene extends AsyncDisposable {
  readonly discord: DiscordServer;
  readonly inbox: RecordingInbox;
  readonly ann: string;
  /** Of each shard a channel in one of its servers. */
  readonly channels: readonly string[];
  readonly guilds: readonly string[];
  readonly start: (options?: StartOptions) => Promise<Platform>;
}

interface StartOptions {
  readonly config?: Partial<DiscordConfig>;
  readonly shardHomes?: ShardHomes;
  readonly isLoginPaced?: boolean;
}

async function openScene(options: DiscordOptions = {}): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const discord = stack.use(await startDiscordServer({ shards: SHARDS, maxConcurrency: 16, ...options }));
  const { world } = discord;
  const guilds = Array.from({ length: SHARDS }, (_, shard) =>
    world.addGuild({ name: `Mill ${shard}`, shard, of: SHARDS }),
  );
  const channels = guilds.map((guild, shard) => world.addChannel({ guild, name: `room-${shard}` }));
  const ann = world.addUser({ name: "ann", globalName: "Ann" });
  const inbox = new RecordingInbox();
  const processes = stack.use(new AsyncDisposableStack());
  const kept = stack.move();
  return {
    discord,
    inbox,
    ann,
    channels,
    guilds,
    async start({ config = {}, shardHomes, isLoginPaced = false } = {}) {
      const platform = processes.use(
        createDiscord({
          config: discordConfig(discord, { shards: "auto", ...config }),
          log: pino({ level: "silent" }),
          commands: COMMANDS,
          timing: { ...FAST, isLoginPaced },
          ...(shardHomes && { shardHomes }),
        }),
      );
      await platform.start(inbox, inbox);
      return platform;
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** What each login was for. */
function logins({ discord }: Scene): unknown[] {
  return discord.journal.received(GatewayOpcodes.Identify).map(({ d }) => Reflect.get(Object(d), "shard"));
}

test("a server is on the shard that Discord's formula says, and a direct message on the first", () => {
  assert.equal(shardOf("197038439483310086", 1), 0);
  assert.equal(shardOf("197038439483310086", 16), Number((197_038_439_483_310_086n >> 22n) % 16n));
  assert.equal(shardOf("", 16), 0);
});

test("as many connections as Discord recommends; each server is heard once, direct messages too", async () => {
  await using scene = await openScene();
  const { discord, inbox, ann, channels } = scene;
  const platform = await scene.start();
  assert.deepEqual(logins(scene), [
    [0, SHARDS],
    [1, SHARDS],
    [2, SHARDS],
  ]);
  for (const [shard, channel] of channels.entries()) discord.world.say(ann, channel, `on ${shard}`);
  discord.world.say(ann, discord.world.openDm(ann), "alone");
  await until("all four", () => inbox.said.length === 4);
  assert.deepEqual(new Set(inbox.said), new Set(["Ann: on 0", "Ann: on 1", "Ann: on 2", "Ann: alone"]));
  assert.equal(platform.connection?.().kind, "connected");
  assert.equal(platform.connection?.().as, "weir in 3 servers, shards 0-2 of 3");
  assert.equal(discord.journal.calls("GET", "/gateway/bot").length, 1);
  assert.equal(discord.journal.calls("GET", "/users/@me/guilds").length, 1);
});

test("connections that begin together read the open gaps once", async () => {
  await using scene = await openScene();
  const { inbox, ann, channels, discord } = scene;
  const { promise: read, resolve } = Promise.withResolvers<void>();
  const openGaps = inbox.openGaps.bind(inbox);
  inbox.openGaps = async (platform, which) => {
    await read;
    return openGaps(platform, which);
  };
  await scene.start();
  resolve();
  for (const channel of channels) discord.world.say(ann, channel, "hello");
  await inbox.received(SHARDS);
  assert.deepEqual(inbox.askedGaps, ["all"]);
});

test("one connection that is cut is mended alone, and its channels alone are caught up", async () => {
  await using scene = await openScene();
  const { discord, inbox, ann, channels, guilds } = scene;
  const platform = await scene.start();
  const [zero = "", one = ""] = channels;
  const ids = channels.map((channel) => discord.world.say(ann, channel, "first"));
  await inbox.received(SHARDS);
  inbox.gaps = channels.map((general, shard) =>
    gapAfter({ general, guild: guilds[shard] ?? "" }, ids[shard] ?? ""),
  );
  const before = discord.journal.calls("GET", ROUTE_MESSAGES).length;
  discord.gateway.cut({ shard: 1 });
  await until("word of it", () => platform.connection?.().kind === "interrupted");
  assert.equal(platform.connection?.().why, "shard 1");
  discord.world.say(ann, zero, "meanwhile");
  await until("the other shard's", () => inbox.said.includes("Ann: meanwhile"));
  discord.world.say(ann, one, "second");
  await until("the cut shard's", () => inbox.said.includes("Ann: second"));
  await until("the catch-up", () => inbox.closed.length > 0);
  assert.deepEqual(inbox.closed, [one]);
  const fetched = discord.journal.calls("GET", ROUTE_MESSAGES).slice(before);
  assert.ok(fetched.every(({ path }) => path.includes(one)));
});

test("Discord's pace of logins holds for all connections together", async () => {
  await using scene = await openScene({ maxConcurrency: 1 });
  // Before the first login: a busy machine may hear of that late.
  const startedAt = performance.now();
  await scene.start({ config: { shards: 2 }, isLoginPaced: true });
  await until("two logins", () => logins(scene).length === 2);
  const [, second] = scene.discord.journal.received(GatewayOpcodes.Identify);
  assert.ok((second?.at ?? 0) - startedAt >= 4900);
});

/** Lets nobody log in until the test says so. */
class PacedShards extends ScriptedShards {
  isFree = false;
  asked = 0;

  override async takeLogin(): Promise<number> {
    this.asked += 1;
    return this.isFree ? 0 : 10;
  }
}

test("a shard that is lost while it waits to log in waits no more, and logs in with whoever has it next", async () => {
  await using scene = await openScene();
  const homes = new PacedShards();
  await scene.start({ shardHomes: homes, isLoginPaced: true });
  homes.gain(0, 1);
  await until("both wait", () => homes.asked >= 6);
  await homes.lose(0, 1);
  const { asked } = homes;
  await pause(100);
  assert.equal(homes.asked, asked);
  homes.isFree = true;
  await pause(50);
  assert.deepEqual(logins(scene), []);
  homes.gain(1);
  await until("the login", () => scene.discord.journal.dispatched("GUILD_CREATE").length === 1);
  assert.deepEqual([logins(scene), homes.asked], [[[1, SHARDS]], asked + 1]);
});

test("a wait for Discord's pace ends at once where its signal is aborted", async () => {
  const homes = new LocalShards();
  assert.equal(await homes.takeLogin(0, 60_000), 0);
  using api = new DiscordApi({
    token: "t",
    apiUrl: "http://127.0.0.1:1",
    timing: DISCORD_TIMING,
    members: () => 1,
  });
  const ending = new AbortController();
  const begunAt = performance.now();
  const waiting = new Logins(api, homes, DISCORD_TIMING, null).wait(0, ending.signal);
  setTimeout(() => ending.abort(), 20);
  await assert.rejects(waiting, { name: "AbortError" });
  assert.ok(performance.now() - begunAt < 5000);
});

test("a wrong token is told before the number of connections is known", async () => {
  await using scene = await openScene();
  const platform = await scene.start({ config: { token: "wrong" }, shardHomes: new ScriptedShards() });
  assert.equal(platform.connection?.().kind, "waiting");
  assert.match(platform.connection?.().why ?? "", /does not know the token/);
});

test("a shard goes from daemon to daemon: the next one goes on where the last has stopped", async () => {
  await using scene = await openScene();
  const { discord, inbox, ann, channels } = scene;
  const [homesA, homesB] = [new ScriptedShards(), new ScriptedShards()];
  const a = await scene.start({ shardHomes: homesA });
  const b = await scene.start({ shardHomes: homesB });
  assert.equal(a.connection?.().as, "without a shard of the gateway");
  homesA.gain(0, 1);
  homesB.gain(2);
  await until("three logins", () => discord.journal.dispatched("GUILD_CREATE").length === SHARDS);
  await until("three places", () => inbox.sessions.size === SHARDS);
  for (const channel of channels) discord.world.say(ann, channel, "before");
  await inbox.received(SHARDS);
  await homesA.lose(1);
  const [, one = "", two = ""] = channels;
  discord.world.say(ann, one, "nobody listens");
  discord.world.say(ann, two, "somebody does");
  await until("the one that is heard", () => inbox.said.includes("Ann: somebody does"));
  assert.ok(!inbox.said.includes("Ann: nobody listens"));
  const fetched = discord.journal.calls("GET", ROUTE_MESSAGES).length;
  homesB.gain(1);
  await until("the one that was not", () => inbox.said.includes("Ann: nobody listens"));
  assert.equal(discord.journal.received(GatewayOpcodes.Resume).length, 1);
  assert.equal(logins(scene).length, SHARDS);
  assert.equal(discord.journal.calls("GET", ROUTE_MESSAGES).length, fetched);
  await until("the status", () => b.connection?.().as === "weir in 2 servers, shards 1-2 of 3");
  await homesA.lose(0);
  assert.equal(a.connection?.().as, "weir in 0 servers, without a shard of the gateway");
});

test("who takes a shard over believes nothing of its channels that it had asked for before", async () => {
  await using scene = await openScene();
  const { discord, inbox, ann, channels } = scene;
  const [homesA, homesB] = [new ScriptedShards(), new ScriptedShards()];
  await scene.start({ shardHomes: homesA });
  const b = await scene.start({ shardHomes: homesB });
  homesA.gain(0, 1, 2);
  await until("three places", () => inbox.sessions.size === SHARDS);
  const [, one = ""] = channels;
  const channel = { platform: "discord", name: one };
  // Where it is, the one that sends has asked Discord.
  await b.send({
    channel,
    kind: "answer",
    inReplyTo: [],
    text: "@Ann hello",
    idempotencyKey: "one",
    final: true,
    mayBeThere: false,
  });
  const told = inbox.privacy.size;
  inbox.privacy.delete(one);
  discord.world.renameChannel(one, "another-name");
  await until("the change", () => inbox.privacy.size === told);
  await homesA.lose(1);
  homesB.gain(1);
  await until("the hand-over", () => discord.journal.received(GatewayOpcodes.Resume).length === 1);
  discord.world.say(ann, one, "where am I?");
  await until("the message", () => inbox.events.length === 1);
  const [said] = inbox.events;
  assert.ok(said?.type === "message");
  assert.equal(said.place?.channel, "another-name");
});

test("a daemon without a shard sends as one that has heard everything: mentions, references, emoji, buttons", async () => {
  await using scene = await openScene();
  const { discord, ann, channels, guilds } = scene;
  const { world } = discord;
  const [, channel = ""] = channels;
  const [, guild = ""] = guilds;
  world.setMember(guild, ann, { nick: "Ann of the Mill" });
  const emoji = world.addEmoji(guild, "wheel");
  const asked = world.say(ann, channel, "how is it outside?");
  world.say(ann, channel, "I mean the weather");
  const platform = await scene.start({ shardHomes: new ScriptedShards() });
  const address = { platform: "discord", name: channel };
  const message = {
    channel: address,
    kind: "answer" as const,
    inReplyTo: [asked],
    text: "@Ann of the Mill, it rains",
    idempotencyKey: "one",
    final: true,
    mayBeThere: false,
  };
  platform.showTyping?.(address, [asked], true);
  const actions = [{ label: "Allow", style: "primary", command: "status", argument: "" }] as const;
  const id = await platform.send({ ...message, actions });
  await platform.react?.(address, asked, "wheel");
  const there = discord.messages(channel).find(({ isBots }) => isBots);
  const words = (): string | undefined => world.messages(channel).find((one) => one.id === id)?.content;
  assert.equal(words(), `<@${ann}>, it rains`);
  assert.equal(there?.replyTo, asked);
  assert.deepEqual([...world.buttons(id).keys()], ["Allow"]);
  assert.deepEqual(Object.keys(discord.messages(channel)[0]?.reactions ?? {}), [`wheel:${emoji}`]);
  await platform.edit(id, { ...message, actions, text: "@Ann of the Mill, it snows" });
  assert.deepEqual(discord.answers(channel), [`<@${ann}>, it snows`]);
  assert.equal(discord.journal.calls("POST", "/channels/:channel/typing").length, 1);
  // Who speaks there is read once, and not for each piece of an answer.
  assert.equal(discord.journal.calls("GET", ROUTE_MESSAGES).length, 1);
  await platform.remove?.(address, id);
  assert.deepEqual(discord.answers(channel), []);
  assert.equal(discord.journal.connections("open").length, 0);
});
