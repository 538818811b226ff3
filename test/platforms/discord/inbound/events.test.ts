import assert from "node:assert/strict";
import { test } from "node:test";
import type { InboundMessage } from "../../../../src/core/message.ts";
import { until } from "../../../support/patience.ts";
import { ROUTE_MESSAGE } from "../../../support/discord/server.ts";
import { type DiscordScene, openDiscordScene } from "../discord-harness.ts";

/** The event at a place, which has to be a message. */
function message({ inbox }: DiscordScene, index: number): InboundMessage {
  const event = inbox.events.at(index);
  assert.equal(event?.type, "message");
  return event;
}

test("a message in a channel has its place, its author with roles, and readable words", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, guild, general, mention } = scene;
  const role = discord.world.addRole(guild, "millers");
  const ben = discord.world.addUser({ name: "ben", globalName: "Ben" });
  discord.world.setMember(guild, ann, { nick: "Annie", roles: [role] });
  const text = `${mention} ask <@${ben}> in <#${general}> <:weir:99> <t:1714564800:R> <@&${role}> \`<@${ben}>\``;
  const id = discord.world.say(ann, general, text);
  await inbox.received(1);
  const { at, ...rest } = message(scene, 0);
  assert.ok(Math.abs(at.getTime() - Date.now()) < 60_000);
  assert.deepEqual(rest, {
    type: "message",
    channel: { platform: "discord", name: general },
    kind: "channel",
    workspace: guild,
    place: { workspace: "Mill", channel: "general", parent: null },
    isPrivate: false,
    id,
    author: { id: ann, name: "Annie", isBot: false, roles: [role], roleNames: ["millers"] },
    text: `@weir ask @Ben in #general :weir: 2024-05-01 12:00 UTC @millers \`<@${ben}>\``,
    addressed: true,
    mentions: ["weir", "Ben"],
    mentionedRoles: [role, "millers"],
  });
});

test("only a mention, a reply to the bot, or a DM is addressed", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, platform, ann, general, mention } = scene;
  const channel = { platform: "discord", name: general };
  const shared = { mayBeThere: false, final: true, inReplyTo: [], kind: "answer" } as const;
  const own = await platform.send({ ...shared, channel, idempotencyKey: "k", text: "hello" });
  const { world } = discord;
  const first = world.say(ann, general, "just talk");
  world.say(ann, general, "and more", { replyTo: first });
  world.say(ann, general, "thanks", { replyTo: own, ping: false });
  world.say(ann, general, "@everyone look");
  world.say(ann, general, `well, ${mention}`);
  const role = world.addRole(scene.guild, "weir", { isBots: true });
  world.say(ann, general, `well, <@&${role}>`);
  await inbox.received(6);
  world.say(ann, world.openDm(ann), "psst");
  await inbox.received(7);
  const said = inbox.events.map((_, index) => {
    const { text, addressed, replyTo, kind } = message(scene, index);
    return [text, addressed, replyTo, kind];
  });
  assert.deepEqual(said, [
    ["just talk", false, undefined, "channel"],
    ["and more", false, first, "channel"],
    ["thanks", true, own, "channel"],
    ["@everyone look", false, undefined, "channel"],
    ["well, @weir", true, undefined, "channel"],
    ["well, @weir", true, undefined, "channel"],
    ["psst", true, undefined, "dm"],
  ]);
  assert.deepEqual(message(scene, 6).place, { workspace: "", channel: "Ann", parent: null });
});

test("a command behind the bot's name stays one where the name has spaces", async () => {
  await using scene = await openDiscordScene({ server: { botName: "old weir" } });
  scene.discord.world.say(scene.ann, scene.general, `${scene.mention} /status`);
  scene.discord.world.say(scene.ann, scene.general, `${scene.mention} hello`);
  await scene.inbox.received(2);
  assert.deepEqual(scene.inbox.said, ["Ann: /status", "Ann: @old weir hello"]);
});

test("a thread is a channel of its own, with its parent; one that was archived is asked for", async () => {
  await using scene = await openDiscordScene({
    before: ({ discord, ann, general }) => {
      const root = discord.world.say(ann, general, "root");
      const thread = discord.world.openThread(general, { name: "old plans", owner: ann, fromMessage: root });
      discord.world.archive(thread);
    },
  });
  const { discord, inbox, ann, general, guild } = scene;
  const root = discord.messages(general)[0]?.id ?? "";
  discord.gateway.deliveries.lose("THREAD_UPDATE");
  discord.world.say(ann, root, "still there?");
  await inbox.received(1);
  const { channel, kind, workspace, place } = message(scene, 0);
  assert.deepEqual(
    { channel, kind, workspace, place },
    {
      channel: { platform: "discord", name: root },
      kind: "thread",
      workspace: guild,
      place: { workspace: "Mill", channel: "old plans", parent: { id: general, name: "general" } },
    },
  );
  assert.equal(discord.journal.calls("GET", "/channels/:channel").length, 1);
});

test("names follow a renaming", async () => {
  await using scene = await openDiscordScene();
  scene.discord.world.renameChannel(scene.general, "hall");
  scene.discord.world.say(scene.ann, scene.general, `in <#${scene.general}>`);
  await scene.inbox.received(1);
  assert.equal(message(scene, 0).place?.channel, "hall");
  assert.deepEqual(scene.inbox.said, ["Ann: in #hall"]);
});

test("what the bot, and what Discord itself says, is not heard; other bots are told apart", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general, platform } = scene;
  const bot = discord.world.addUser({ name: "feed", isBot: true });
  await platform.send({
    channel: { platform: "discord", name: general },
    idempotencyKey: "k",
    mayBeThere: false,
    final: true,
    inReplyTo: [],
    kind: "answer",
    text: "hello",
  });
  discord.world.openThread(general, { name: "a thread", owner: ann });
  discord.world.say(bot, general, "", { embeds: [{ title: "News", description: "It rained." }] });
  discord.world.say(ann, general, "last");
  await inbox.received(2);
  assert.deepEqual(inbox.said, ["feed: News\nIt rained.", "Ann: last"]);
  assert.equal(message(scene, 0).author.isBot, true);
});

test("an edit is one where words changed: partial ones are fetched, previews are none", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general } = scene;
  const { world } = discord;
  const id = world.say(ann, general, "one", { files: [{ name: "a.bin", body: "x", contentType: "a/b" }] });
  await inbox.received(1);
  world.unfurl(id);
  world.unfurl(id, { isPartial: true });
  world.edit(id, "two");
  world.editPartially(id, "three");
  await inbox.received(3);
  const label = "[file a.bin, a/b, 1 bytes]";
  const edits = inbox.events.map((event) => [event.type, event.id, "text" in event ? event.text : ""]);
  assert.deepEqual(edits, [
    ["message", id, `one\n${label}`],
    ["edit", id, `two\n${label}`],
    ["edit", id, `three\n${label}`],
  ]);
  assert.equal(discord.journal.calls("GET", ROUTE_MESSAGE).length, 1);
  assert.ok(inbox.events.every((event) => event.type === "message" || event.channel === undefined));
});

test("deletions arrive, also many at a time", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general } = scene;
  const ids = ["a", "b", "c"].map((text) => discord.world.say(ann, general, text));
  await inbox.received(3);
  discord.world.remove(ids[0] ?? "");
  discord.world.removeMany(general, ids.slice(1));
  await inbox.received(6);
  const gone = inbox.events.slice(3).map(({ type, id }) => `${type} ${id}`);
  assert.deepEqual(
    gone,
    ids.map((id) => `deletion ${id}`),
  );
});

test("a reaction is a remark under a message, and is taken back as one", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general } = scene;
  const dm = discord.world.openDm(ann);
  const id = discord.world.say(ann, general, "done");
  const direct = discord.world.say(ann, dm, "psst");
  await inbox.received(2);
  discord.world.react(ann, id, "👍");
  discord.world.unreact(ann, id, "👍");
  discord.world.react(ann, direct, "weir:42");
  await inbox.received(5);
  const added = inbox.events.find((event) => event.id === `reaction/${id}/${ann}/👍`);
  assert.equal(added?.type, "message");
  const { text, addressed, replyTo, author } = added;
  assert.deepEqual([text, addressed, replyTo, author.name], ["reacted with 👍", false, id, "Ann"]);
  const removed = inbox.events.find(({ type }) => type === "deletion");
  assert.equal(removed?.id, added.id);
  assert.ok(inbox.said.includes("Ann: reacted with :weir:"));
});

test("files are read where they are wanted, and nowhere else", async () => {
  await using scene = await openDiscordScene({
    before: ({ discord, guild, inbox }) => {
      const quiet = discord.world.addChannel({ guild, name: "quiet" });
      inbox.policy = ({ channel }) => ({
        isBound: channel.name !== quiet,
        listens: true,
        answersAll: false,
        isKnown: true,
      });
    },
  });
  const { discord, inbox, ann, general, guild } = scene;
  const unbound = discord.world.addChannel({ guild, name: "quieter" });
  inbox.policy = ({ channel }) => ({
    isBound: channel.name === general,
    listens: true,
    answersAll: false,
    isKnown: true,
  });
  const files = [
    { name: "plan.txt", body: "dig here", contentType: "text/plain" },
    { name: "map.gif", body: "GIF89a", contentType: "image/gif" },
  ];
  discord.world.say(ann, unbound, "there", { files });
  await inbox.received(1);
  discord.world.say(ann, general, "here", { files });
  await inbox.received(2);
  const [there, here] = [message(scene, 0), message(scene, 1)];
  assert.equal(there.images, undefined);
  assert.equal(
    there.text,
    "there\n[file plan.txt, text/plain, 8 bytes]\n[image map.gif, image/gif, 6 bytes]",
  );
  assert.match(here.text, /\[file plan\.txt, text\/plain, 8 bytes\]\n```\ndig here\n```\n\[image map\.gif/);
  assert.deepEqual(
    here.images?.map(({ name, type }) => [name, type]),
    [["map.gif", "image/gif"]],
  );
});

test("an event that nobody can read harms nothing", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general } = scene;
  // A channel that is gone before its message is read.
  discord.faults.next({ method: "GET", route: "/channels/:channel", fault: { kind: "status", status: 404 } });
  discord.gateway.deliveries.lose("CHANNEL_CREATE");
  const hidden = discord.world.addChannel({ guild: scene.guild, name: "hidden" });
  discord.world.say(ann, hidden, "from nowhere");
  discord.world.say(ann, general, "from here");
  await until("two messages", () => inbox.events.length === 2);
  assert.deepEqual(inbox.said.toSorted(), ["Ann: from here", "Ann: from nowhere"]);
  assert.equal(discord.gateway.openConnections(), 1);
});

test("where nobody answers, an edit has no file downloaded either", async () => {
  await using scene = await openDiscordScene({
    before: ({ inbox }) => {
      inbox.policy = () => ({ isBound: false, listens: false, answersAll: false, isKnown: false });
    },
  });
  const { discord, inbox, ann, general } = scene;
  const files = [{ name: "note.txt", body: "private words", contentType: "text/plain" }];
  const id = discord.world.say(ann, general, "one", { files });
  await inbox.received(1);
  discord.world.edit(id, "two");
  await inbox.received(2);
  const texts = inbox.events.map((event) => ("text" in event ? event.text : ""));
  assert.match(texts[1] ?? "", /^two\n\[file note\.txt/);
  for (const text of texts) assert.doesNotMatch(text, /private words/);
});
