import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../support/patience.ts";
import { openDiscordScene } from "./discord-harness.ts";

test("a channel is told to be private where not everybody of its server may see it, at the start and at each change", async () => {
  let hidden = "";
  await using scene = await openDiscordScene({
    before: ({ discord, guild }) => {
      hidden = discord.world.addChannel({ guild, name: "hidden" });
      discord.world.setAccess(hidden, "none");
    },
  });
  const { discord, inbox, general, guild } = scene;
  await until("both", () => inbox.privacy.size === 2);
  assert.deepEqual([inbox.privacy.get(general), inbox.privacy.get(hidden)], [false, true]);
  discord.world.setAccess(general, "read");
  const next = discord.world.addChannel({ guild, name: "next" });
  await until("the new one", () => inbox.privacy.has(next));
  assert.equal(inbox.privacy.get(general), false, "who may only read sees it");
  discord.world.setAccess(general, "none");
  await until("the change", () => inbox.privacy.get(general) === true);
  discord.world.setAccess(general, "all");
  await until("the change back", () => inbox.privacy.get(general) === false);
  discord.world.hideChannel(general);
  await until("one that the bot sees no more", () => inbox.privacy.get(general) === true);
});

test("a message says whether its channel is private, and nothing of that in a DM or a thread", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general, mention } = scene;
  discord.world.say(ann, general, `${mention} hello`);
  const thread = discord.world.openThread(general, { name: "a thread", owner: ann });
  discord.world.say(ann, thread, `${mention} here`);
  discord.world.say(ann, discord.world.openDm(ann), "and here");
  await until("messages", () => inbox.events.length === 3);
  const told = inbox.events.flatMap((event) =>
    event.type === "message" ? [`${event.kind} ${event.isPrivate}`] : [],
  );
  assert.deepEqual(told.toSorted(), ["channel false", "dm undefined", "thread undefined"]);
});
