import assert from "node:assert/strict";
import { test } from "node:test";

import { createSocketApp } from "./bolt-app.ts";
import { startSlackServer } from "./server.ts";

test("what people do arrives as Slack tells it", async () => {
  await using slack = await startSlackServer();
  const ada = slack.world.addUser("ada");
  const other = slack.world.addUser("other", { isBot: true });
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = createSocketApp(slack);
  await bolt.app.start();
  const { world } = slack;
  const ts = world.say(ada, channel, "a <https://example.com|link>");
  world.unfurl(channel, ts, "https://example.com");
  world.edit(channel, ts, "another");
  world.say(ada, channel, "also there", { threadTs: ts, broadcast: true });
  world.say(other, channel, "beep", { subtype: "bot_message" });
  world.react(ada, channel, ts, "eyes");
  world.unreact(ada, channel, ts, "eyes");
  world.join(world.addUser("bea"), channel, ada);
  world.rename(ada, channel, "plaza");
  world.say(ada, world.openIm(ada), `<@${world.bot.id}> in private`);
  world.say(ada, world.openMpim([ada]), "to a few");
  world.remove(channel, ts);
  world.leave(world.bot, channel);
  world.say(ada, channel, "now among us");
  await slack.deliveries.idle();
  const told = bolt.heard.map(({ event }) => {
    const subtype = "subtype" in event && event.subtype !== undefined ? `.${event.subtype}` : "";
    const type = "channel_type" in event ? ` ${event.channel_type}` : "";
    return `${event.type}${subtype}${type}`;
  });
  assert.deepEqual(told, [
    "message channel",
    "message.message_changed channel",
    "message.message_changed channel",
    "message.thread_broadcast channel",
    "message.bot_message channel",
    "reaction_added",
    "reaction_removed",
    "message.channel_join channel",
    "member_joined_channel C",
    "message.channel_name channel",
    "channel_rename",
    "message im",
    "message mpim",
    "message.message_deleted channel",
    "message.channel_leave channel",
    "channel_left",
  ]);
  const [unfurled, edited] = bolt.heard.slice(1, 3).map(({ event }) => event);
  assert(unfurled?.type === "message" && unfurled.subtype === "message_changed");
  assert(edited?.type === "message" && edited.subtype === "message_changed");
  const textOf = (message: object): unknown => ("text" in message ? message.text : undefined);
  assert.equal(textOf(unfurled.message), textOf(unfurled.previous_message));
  assert.deepEqual(
    [textOf(edited.previous_message), textOf(edited.message)],
    ["a <https://example.com|link>", "another"],
  );
  assert("edited" in edited.message && !("edited" in unfurled.message));
});

test("an app hears only of what it subscribed to", async () => {
  await using slack = await startSlackServer({ subscriptions: ["app_mention"] });
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = createSocketApp(slack);
  await bolt.app.start();
  slack.world.say(ada, channel, `<@${slack.world.bot.id}> hello`);
  await slack.deliveries.idle();
  assert.deepEqual(
    bolt.heard.map(({ event }) => event.type),
    ["app_mention"],
  );
});
