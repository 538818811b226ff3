import assert from "node:assert/strict";
import { test } from "node:test";

import { ChannelType, Events } from "discord.js";

import { startChildScript } from "../child-script.ts";
import { driveDiscord } from "./control.ts";
import { login } from "./login.ts";
import { until } from "../patience.ts";
import { startDiscordServer } from "./server.ts";

test("edits come whole, partial, and as unfurls that change no text", async () => {
  await using server = await startDiscordServer();
  const { world } = server;
  const channel = world.addChannel({ guild: world.addGuild(), name: "general" });
  const ada = world.addUser({ name: "ada" });
  await using client = await login(server);
  const seen: (readonly unknown[])[] = [];
  client.on(Events.MessageUpdate, (_, { content, embeds, editedTimestamp }) => {
    seen.push([content, embeds.length, editedTimestamp !== null]);
  });
  const id = world.say(ada, channel, "look");
  world.unfurl(id);
  world.edit(id, "look here");
  world.editPartially(id, "look there");
  await until("updates", () => seen.length === 3);
  assert.deepEqual(seen, [
    ["look", 1, false],
    ["look here", 1, true],
    ["look there", 1, true],
  ]);
});

test("deletions, reactions, threads, channels, guilds and members are told", async () => {
  await using server = await startDiscordServer();
  const { world } = server;
  const guild = world.addGuild();
  const channel = world.addChannel({ guild, name: "general" });
  const ada = world.addUser({ name: "ada", globalName: "Ada" });
  await using client = await login(server);
  const seen: string[] = [];
  client.on(Events.Raw, ({ t }: { t: string | null }) => seen.push(t ?? ""));
  const names: (string | undefined)[] = [];
  client.on(Events.MessageCreate, ({ member }) => names.push(member?.displayName));

  const role = world.addRole(guild, "gardener");
  world.setMember(guild, ada, { nick: "Lady Ada", roles: [role] });
  const first = world.say(ada, channel, "one");
  world.react(ada, first, "👍");
  world.unreact(ada, first, "👍");
  const thread = world.openThread(channel, { name: "aside", owner: ada, fromMessage: first });
  world.archive(thread);
  const answer = world.say(ada, thread, "in the thread", { replyTo: first });
  world.remove(answer);
  world.removeMany(channel, [world.say(ada, channel, "a"), world.say(ada, channel, "b")]);
  world.removeChannel(thread);
  world.renameChannel(channel, "garden");
  world.removeChannel(channel);
  world.removeGuild(guild);
  await until("last event", () => seen.includes("GUILD_DELETE"));
  assert.deepEqual(seen, [
    "GUILD_ROLE_CREATE",
    "MESSAGE_CREATE",
    "MESSAGE_REACTION_ADD",
    "MESSAGE_REACTION_REMOVE",
    "THREAD_CREATE",
    "MESSAGE_UPDATE",
    "MESSAGE_CREATE",
    "THREAD_UPDATE",
    "THREAD_UPDATE",
    "MESSAGE_CREATE",
    "MESSAGE_DELETE",
    "MESSAGE_CREATE",
    "MESSAGE_CREATE",
    "MESSAGE_DELETE_BULK",
    "THREAD_DELETE",
    "CHANNEL_UPDATE",
    "CHANNEL_DELETE",
    "GUILD_DELETE",
  ]);
  assert.equal(names[0], "Lady Ada");
});

test("threads are listed, the active ones by guild and the archived ones by channel", async () => {
  await using server = await startDiscordServer();
  const { world } = server;
  const guildId = world.addGuild();
  const channelId = world.addChannel({ guild: guildId, name: "general" });
  const ada = world.addUser({ name: "ada" });
  await using client = await login(server);
  const active = world.openThread(channelId, { name: "active", owner: ada });
  const archived = world.openThread(channelId, { name: "archived", owner: ada });
  world.archive(archived);
  const guild = await client.guilds.fetch(guildId);
  assert.deepEqual([...(await guild.channels.fetchActiveThreads()).threads.keys()], [active]);
  const channel = await client.channels.fetch(channelId);
  assert(channel?.type === ChannelType.GuildText);
  assert.deepEqual([...(await channel.threads.fetchArchived()).threads.keys()], [archived]);
  const started = await channel.threads.create({ name: "by the bot" });
  assert.equal((await client.channels.fetch(started.id))?.isThread(), true);
});

test("people write to the bot in a DM, and it writes to people", async () => {
  await using server = await startDiscordServer();
  const { world } = server;
  const ada = world.addUser({ name: "ada" });
  await using client = await login(server);
  const heard: [string, boolean][] = [];
  client.on(Events.MessageCreate, ({ content, channel }) => heard.push([content, channel.isDMBased()]));
  const dm = world.openDm(ada);
  world.say(ada, dm, "psst");
  await until("message", () => heard.length === 1);
  await (await client.users.fetch(ada)).send("yes?");
  assert.deepEqual(heard, [
    ["psst", true],
    ["yes?", true],
  ]);
  assert.deepEqual(server.answers(dm), ["yes?"]);
});

test("attachments are served: whole, claimed to be larger, missing, stalled", async () => {
  await using server = await startDiscordServer();
  const { world } = server;
  const channel = world.addChannel({ guild: world.addGuild(), name: "general" });
  await using client = await login(server);
  const urls: { url: string; size: number }[] = [];
  client.on(Events.MessageCreate, ({ attachments }) => urls.push(...attachments.values()));
  world.say(world.addUser({ name: "ada" }), channel, "", {
    files: [
      { name: "notes.txt", body: "remember the milk" },
      { name: "large.bin", body: 100, claimedSize: 30_000_000 },
      { name: "gone.txt", body: "", isMissing: true },
      { name: "slow.txt", body: "remember", stallsAfter: 2 },
    ],
  });
  await until("attachments", () => urls.length === 4);
  const [whole, large, missing, stalled] = urls.map(({ url }) => url);
  assert.equal(await (await fetch(whole ?? "")).text(), "remember the milk");
  assert.equal(urls[1]?.size, 30_000_000);
  assert.equal((await (await fetch(large ?? "")).arrayBuffer()).byteLength, 100);
  assert.equal((await fetch(missing ?? "")).status, 404);
  const response = await fetch(stalled ?? "", { signal: AbortSignal.timeout(100) });
  await assert.rejects(response.text(), { name: "TimeoutError" });
});

test("in a process of its own it is driven over HTTP", async () => {
  const token = "another-token";
  await using child = await startChildScript("discord/process.ts", JSON.stringify({ token }));
  const discord = driveDiscord(child.firstLine, token);
  const guild = await discord.world.addGuild({ name: "garden" });
  const channel = await discord.world.addChannel({ guild, name: "general" });
  const ada = await discord.world.addUser({ name: "ada" });
  const id = await discord.world.say(ada, channel, "hello");
  assert.deepEqual(
    (await discord.server.messages(channel)).map(({ text }) => text),
    ["hello"],
  );
  await discord.gateway.cut();
  await discord.world.remove(id);
  assert.deepEqual(await discord.server.messages(channel), []);
  await assert.rejects(discord.world.remove(id), /has no message/);
});
