import assert from "node:assert/strict";
import { test } from "node:test";
import { GatewayOpcodes } from "discord.js";
import { until } from "../../support/patience.ts";
import { Random } from "../../fuzz/random.ts";
import { HUGE, type Json, mutated } from "../../support/mutated.ts";
import { openSlackScene } from "../slack/slack-harness.ts";
import { type DiscordScene, openDiscordScene } from "./discord-harness.ts";

interface Packet {
  readonly t: string;
  readonly d: Json;
}

/** Lives through every kind of event once, so that the journal has a real packet of each. */
function liveThrough({ discord, ann, general, guild }: DiscordScene): Packet[] {
  const { world, journal } = discord;
  const role = world.addRole(guild, "millers");
  const first = world.say(ann, general, "look: https://example.com", {
    files: [{ name: "a.txt", body: "a" }],
  });
  const reply = world.say(ann, general, `<@&${role}> yes`, { replyTo: first });
  world.edit(first, "look again");
  world.editPartially(first, "and again");
  world.unfurl(first);
  world.react(ann, first, "👍");
  world.unreact(ann, first, "👍");
  world.clearReactions(first);
  const thread = world.openThread(general, { name: "plans", owner: ann, fromMessage: first });
  world.say(ann, thread, "in the thread");
  world.archive(thread);
  const attic = world.addChannel({ guild, name: "attic" });
  world.renameChannel(attic, "cellar");
  world.command(ann, general, "status");
  world.remove(reply);
  world.removeMany(general, [world.say(ann, general, "one"), world.say(ann, general, "two")]);
  world.removeChannel(attic);
  const sent = journal.gateway.filter(({ direction, t }) => direction === "out" && t !== undefined);
  const told = sent.map(({ t, d }): Packet => ({ t: t ?? "", d: JSON.parse(JSON.stringify(d)) }));
  return [...told.filter(({ t }) => t !== "READY"), ...madeUp(guild, general, ann)];
}

/** What the test server does not send, and Discord does. */
function madeUp(guildId: string, channelId: string, userId: string): Packet[] {
  const common = { guild_id: guildId, channel_id: channelId };
  const user = { id: userId, username: "ann", discriminator: "0", avatar: null, global_name: "Ann" };
  const member = {
    nick: null,
    roles: [],
    joined_at: "2026-05-01T12:00:00Z",
    deaf: false,
    mute: false,
    flags: 0,
  };
  const text = { content: "a poll, a sticker and an embed", timestamp: "2026-05-01T12:00:00Z", type: 0 };
  return [
    {
      t: "MESSAGE_CREATE",
      d: {
        ...common,
        ...text,
        id: "1500000000000000001",
        author: user,
        member,
        embeds: [{ type: "rich", title: "t", description: "d", fields: [{ name: "n", value: "v" }] }],
        attachments: [{ id: "1", filename: "a.png", size: 3, url: "https://cdn.discordapp.com/a.png" }],
        mentions: [{ ...user, member }],
        sticker_items: [{ id: "1", name: "wave", format_type: 1 }],
        components: [{ type: 1, components: [{ type: 2, style: 1, custom_id: "x" }] }],
        poll: { question: { text: "?" }, answers: [{ answer_id: 1, poll_media: { text: "a" } }] },
        message_snapshots: [{ message: { content: "forwarded", embeds: [], attachments: [] } }],
        flags: 0,
      },
    },
    { t: "TYPING_START", d: { ...common, user_id: userId, timestamp: 1, member: { ...member, user } } },
    { t: "CHANNEL_PINS_UPDATE", d: { ...common, last_pin_timestamp: "2026-05-01T12:00:00Z" } },
    { t: "GUILD_EMOJIS_UPDATE", d: { guild_id: guildId, emojis: [{ id: "1", name: "e", roles: [] }] } },
    { t: "GUILD_MEMBER_UPDATE", d: { guild_id: guildId, user, roles: [], nick: "A" } },
    { t: "THREAD_LIST_SYNC", d: { guild_id: guildId, threads: [], members: [] } },
    { t: "WEBHOOKS_UPDATE", d: common },
    { t: "USER_UPDATE", d: user },
  ];
}

test("2,000 malformed packets cost nothing but themselves: the channel answers, Slack too, the log stays short", async () => {
  await using scene = await openDiscordScene();
  await using slack = await openSlackScene();
  const { discord, inbox, ann, general, lines } = scene;
  const packets = liveThrough(scene);
  await until("what was real", () => inbox.said.includes("Ann: in the thread"));
  const random = new Random(16);
  for (let sent = 0; sent < 2000; sent++) {
    const { t, d } = random.pick(packets);
    discord.gateway.dispatch(t, mutated(random, d));
    if (sent % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  discord.world.say(ann, general, "still there?");
  await until("the message behind them", () => inbox.said.some((said) => said.endsWith(": still there?")));
  slack.slack.world.say(slack.ana, slack.general, "and here?");
  await until("the message on Slack", () => slack.inbox.said.includes("Ana: and here?"));
  assert.equal(discord.journal.connections("open").length, 1);
  assert.equal(discord.journal.received(GatewayOpcodes.Identify).length, 1);
  const warnings = lines.filter((line) => line.includes('"level":40'));
  assert.notEqual(warnings.length, 0);
  assert.ok(warnings.length <= 100, `${warnings.length} warnings`);
});

test("frames that are none of the gateway's, or break its order, are passed over", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general } = scene;
  const frames = [
    "",
    "null",
    "7",
    '"text"',
    "[]",
    "{}",
    "{",
    '{"op":null}',
    '{"op":99,"d":{}}',
    '{"op":0}',
    '{"op":0,"t":5,"s":"x","d":null}',
    '{"op":0,"t":"MESSAGE_CREATE","s":null,"d":null}',
    '{"op":0,"t":"MESSAGE_CREATE","s":1e308,"d":{}}',
    '{"op":0,"t":"READY","s":2,"d":null}',
    '{"op":0,"t":"READY","s":2,"d":{"session_id":7,"resume_gateway_url":"nowhere"}}',
    '{"op":9}',
    '{"op":9,"d":null}',
    '{"op":9,"d":{"toString":1}}',
    '{"op":10}',
    '{"op":10,"d":null}',
    '{"op":10,"d":{"heartbeat_interval":"soon"}}',
    '{"op":10,"d":{"heartbeat_interval":1}}',
    '{"op":11}',
    `{"op":0,"t":"${HUGE}","s":3,"d":{}}`,
    `{"op":0,"t":"MESSAGE_CREATE","s":3,"d":${"[".repeat(50_000)}${"]".repeat(50_000)}}`,
  ];
  for (const frame of frames) discord.gateway.sendText(frame);
  discord.world.say(ann, general, "still there?");
  await until("the message behind them", () => inbox.said.includes("Ann: still there?"));
  assert.equal(discord.journal.connections("open").length, 1);
  // The numbers of what came are still right: what is missed is replayed.
  discord.gateway.cut();
  discord.world.say(ann, general, "and now?");
  await until("the replay", () => inbox.said.includes("Ann: and now?"));
  assert.equal(discord.journal.received(GatewayOpcodes.Identify).length, 1);
});

test("what cannot be read beside somebody's words costs no message", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general, guild } = scene;
  const author = { id: ann, username: "ann", global_name: "Ann" };
  const where = { channel_id: general, guild_id: guild };
  const message = { ...where, author, id: "1500000000000000001", timestamp: "2026-05-01T12:00:00Z" };
  const odd = { embeds: "none", sticker_items: [null], poll: 7 };
  discord.gateway.dispatch("MESSAGE_CREATE", { ...message, ...odd, content: "the words" });
  await inbox.received(1);
  assert.deepEqual(inbox.said, ["Ann: the words"]);
});
