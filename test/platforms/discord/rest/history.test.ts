// proves: src/platforms/discord/rest/api.ts, src/platforms/discord/rest/directory.ts, src/platforms/discord/rest/people.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import type { ChannelOnPlatform, InboundMessage, OutboundMessage } from "../../../../src/core/message.ts";
import { DiscordApi } from "../../../../src/platforms/discord/rest/api.ts";
import { Directory } from "../../../../src/platforms/discord/rest/directory.ts";
import { DiscordHistory } from "../../../../src/platforms/discord/rest/history.ts";
import { People } from "../../../../src/platforms/discord/rest/people.ts";
import { MessageReader } from "../../../../src/platforms/discord/inbound/reader.ts";
import { BotIdentity } from "../../../../src/platforms/discord/gateway/bot-identity.ts";
import { compareIds, idOfTime, timeOfId } from "../../../../src/platforms/discord/snowflake.ts";
import { DISCORD_TIMING } from "../../../../src/platforms/discord/timing.ts";
import { pino } from "pino";
import { until } from "../../../support/patience.ts";
import { type DiscordScene, openDiscordScene } from "../discord-harness.ts";

/** A history that knows nothing of the gateway, as right after a start. */
function historyOf({ discord }: DiscordScene): DiscordHistory {
  const apiUrl = discord.api;
  const api = new DiscordApi({
    token: discord.token,
    apiUrl,
    timing: { ...DISCORD_TIMING, callsPerSecond: 1000 },
  });
  const directory = new Directory(api);
  const people = new People(api);
  const reader = new MessageReader({ directory, people, apiUrl, log: pino({ level: "silent" }) });
  return new DiscordHistory({ api, reader, identity: new BotIdentity(api) });
}

function channelOf({ guild, general }: DiscordScene): ChannelOnPlatform {
  const place = { workspace: "Mill", channel: "general", parent: null };
  return { channel: { platform: "discord", name: general }, kind: "channel", workspace: guild, place };
}

function answer(channel: string, text: string): OutboundMessage {
  return {
    channel: { platform: "discord", name: channel },
    idempotencyKey: text,
    mayBeThere: false,
    text,
    final: true,
    inReplyTo: [],
    kind: "answer",
  };
}

function firstOf(where: ChannelOnPlatform, id: string): InboundMessage {
  const author = { id: "1", name: "Ann", isBot: false };
  return { type: "message", ...where, id, author, text: "", at: new Date(), addressed: true };
}

test("it has what people said, with names and roles, and not what the bot said", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, ann, guild, general } = scene;
  const role = discord.world.addRole(guild, "millers");
  discord.world.setMember(guild, ann, { nick: "Annie", roles: [role] });
  const id = discord.world.say(ann, general, `in <#${general}>`);
  await platform.send(answer(general, "an answer"));
  discord.world.edit(id, `in <@&${role}>`);
  const { messages, isAll } = await historyOf(scene).newest(channelOf(scene), 100);
  assert.equal(isAll, true);
  assert.equal(messages.length, 1);
  const [one] = messages;
  const message = await one?.read();
  assert.deepEqual(
    [message?.id, message?.text, message?.author.name, message?.author.roles, message?.author.roleNames],
    [id, "in @millers", "Annie", [role], ["millers"]],
  );
  assert.ok(one?.editedAt instanceof Date);
});

test("pages are full of people's words, however much the bot said between", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, ann, general } = scene;
  const ids: string[] = [];
  for (let index = 0; index < 30; index++) {
    ids.push(discord.world.say(ann, general, `word ${index}`));
    for (let own = 0; own < 8; own++) await platform.send(answer(general, `own ${index} ${own}`));
  }
  const history = historyOf(scene);
  const after = await history.after(channelOf(scene), ids[4] ?? "", 20);
  assert.deepEqual(
    after.map(({ id: one }) => one),
    ids.slice(5, 25),
  );
  const rest = await history.after(channelOf(scene), ids[24] ?? "", 20);
  assert.deepEqual(
    rest.map(({ id: one }) => one),
    ids.slice(25),
  );
  const newest = await history.newest(channelOf(scene), 5);
  assert.deepEqual(
    newest.messages.map(({ id: one }) => one),
    ids.slice(-1),
  );
  assert.equal(newest.isAll, false);
});

test("a thread begins with what its parent said before, and the message it was begun with, also the bot's", async () => {
  await using scene = await openDiscordScene();
  const { discord, platform, ann, general } = scene;
  for (const said of ["one", "two"]) discord.world.say(ann, general, said);
  const root = await platform.send(answer(general, "shall we?"));
  discord.world.say(ann, general, "not in the thread");
  const thread = discord.world.openThread(general, { name: "plans", owner: ann, fromMessage: root });
  discord.world.say(ann, thread, "earlier in the thread");
  const first = discord.world.say(ann, thread, "first");
  const where: ChannelOnPlatform = {
    channel: { platform: "discord", name: thread },
    kind: "thread",
    workspace: scene.guild,
    place: { workspace: "Mill", channel: "plans", parent: { id: general, name: "general" } },
  };
  const history = historyOf(scene);
  const all = await history.background(where, firstOf(where, first), 50);
  assert.deepEqual(
    all.map(({ text }) => text),
    ["one", "two", "shall we?", "earlier in the thread"],
  );
  assert.ok(all.every(({ channel, kind }) => channel.name === thread && kind === "thread"));
  const little = await history.background(where, firstOf(where, first), 0);
  assert.deepEqual(
    little.map(({ text }) => text),
    ["shall we?"],
  );
  assert.equal(history.isOwn(where, root), false);
  assert.equal(history.isOwn(where, first), true);
});

test("an empty page says neither that all was deleted nor that nothing was missed", async () => {
  await using scene = await openDiscordScene();
  const { discord, ann, general, inbox, lines } = scene;
  const first = discord.world.say(ann, general, "first");
  await inbox.received(1);
  inbox.gaps = [{ ...channelOf(scene), afterId: first }];
  discord.world.setAccess(general, "no_history");
  assert.deepEqual(await historyOf(scene).newest(channelOf(scene), 100), {
    messages: [],
    isAll: false,
    isBlank: true,
    lastId: first,
  });
  discord.gateway.invalidate(false);
  await until("the catch-up", () => inbox.closed.length > 0);
  assert.deepEqual(
    inbox.events.map(({ type }) => type),
    ["message"],
  );
  assert.equal(inbox.absences.size, 0, "nothing was said meanwhile");
  discord.gateway.forgetSessions();
  discord.gateway.cut();
  const missed = discord.world.say(ann, general, "nobody hears it");
  await until("the next catch-up", () => inbox.closed.length > 1);
  const absence = { kind: "lost", from: timeOfId(first), to: timeOfId(missed) };
  assert.deepEqual([...inbox.absences], [[`absence/lost/${first}`, absence]]);
  const line = lines.find((one) => one.includes("messages_not_readable"));
  assert.match(line ?? "", /"level":40.*"name":"general"/);
});

test("ids tell what was first, whatever they are", () => {
  assert.ok(compareIds("9", "10") < 0);
  assert.ok(compareIds("1573650639152480257", "1573650639152480256") > 0);
  assert.equal(compareIds("5", "5"), 0);
  assert.ok(compareIds("reaction/1/2/x", "10") > 0);
  assert.ok(compareIds(idOfTime(new Date("2026-01-01")), idOfTime(new Date("2026-01-02"))) < 0);
  assert.equal(idOfTime(new Date(0)), "0");
});
