import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../support/patience.ts";
import type { SlackChannel } from "../../support/slack/model.ts";
import { openSlackScene } from "./slack-harness.ts";

test("a channel is told to be private, as a group DM is, at the start and with each message", async () => {
  const places = new Map<string, SlackChannel>();
  await using scene = await openSlackScene({
    before: ({ world }, inbox) => {
      inbox.mark = new Date();
      const ben = world.addUser("ben", { displayName: "Ben" });
      places.set("group", world.addChannel({ name: "closed", private: true, members: [ben] }));
      places.set("mpim", world.openMpim([ben]));
    },
  });
  const { slack, inbox, ana, general } = scene;
  places.set("channel", general);
  await until("the list", () => inbox.privacy.size === places.size);
  const told = (type: string): boolean | undefined => inbox.privacy.get(places.get(type)?.id ?? "");
  assert.deepEqual([told("channel"), told("group"), told("mpim")], [false, true, true]);
  for (const channel of places.values()) slack.world.say(ana, channel, "hello everybody");
  const said = () => inbox.events.filter((event) => event.type === "message");
  await until("messages", () => new Set(said().map(({ channel }) => channel.name)).size === places.size);
  for (const { channel, isPrivate } of said()) assert.equal(isPrivate, channel.name !== general.id);
});

test("a channel that is shared with another organisation is told to be external, with its threads, as soon as it is", async () => {
  await using scene = await openSlackScene({
    before: ({ world }, inbox) => {
      inbox.mark = new Date();
      world.addChannel({ name: "connect", members: [] }).isConnected = true;
    },
  });
  const { slack, inbox, ana, general } = scene;
  const connect = [...slack.workspace.channels.values()].find(({ name }) => name === "connect");
  assert.ok(connect !== undefined);
  const external = async (channel: SlackChannel, text: string, threadTs?: string): Promise<boolean> => {
    slack.world.say(ana, channel, text, threadTs === undefined ? {} : { threadTs });
    const said = () => inbox.events.find((event) => event.type === "message" && event.text === text);
    await until(text, () => said() !== undefined);
    const event = said();
    assert.ok(event?.type === "message");
    return event.place?.isExternal === true;
  };
  assert.equal(await external(connect, "from the start"), true);
  assert.equal(await external(general, "not yet"), false);
  general.isConnected = true;
  const root = general.messages.at(-1)?.ts;
  assert.equal(await external(general, "from now on"), true);
  assert.equal(await external(general, "in a thread", root), true);
  assert.equal(await external(slack.world.openIm(ana), "in private"), false);
  general.isConnected = false;
  assert.equal(await external(general, "no longer"), false);
});

test("a conversion is told at once, as of right after its message", async () => {
  await using scene = await openSlackScene();
  const { slack, inbox, ana, general } = scene;
  for (const to of ["private", "public"] as const) {
    slack.world.convert(ana, general, to);
    await until("the conversion", () => inbox.privacy.get(general.id) === (to === "private"));
    const at = inbox.privacyAt.get(general.id);
    slack.world.say(ana, general, to);
    const said = () => inbox.events.find((event) => event.type === "message" && event.text === to);
    await until("a message", () => said() !== undefined);
    assert.ok(at !== undefined && (said()?.at ?? 0) >= new Date(at.getTime() - 1), to);
  }
});
