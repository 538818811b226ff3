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
