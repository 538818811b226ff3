// proves: src/platforms/discord/inbound/visible-parts.ts, src/platforms/shared/each-readable.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { type DiscordScene, gapAfter, openDiscordScene } from "../discord/discord-harness.ts";
import { DISCORD_SAMPLES, type DiscordSample, forwarded } from "./discord.ts";

const SAMPLES: readonly DiscordSample[] = [...DISCORD_SAMPLES, ...DISCORD_SAMPLES.map(forwarded)];

type World = Pick<DiscordScene, "discord" | "ann" | "general">;

/** Ann or a bot says each sample. */
function sayAll({ discord: { world }, ann, general }: World): string[] {
  const bot = world.addUser({ name: "ci", isBot: true });
  return SAMPLES.map(({ byBot, content = "", raw }) =>
    world.say(byBot === true ? bot : ann, general, content, { raw }),
  );
}

/** What was read of each message, by the samples' names. */
function readOf(
  scene: DiscordScene,
  ids: readonly string[],
  type: "message" | "edit",
): Record<string, string> {
  const texts = scene.inbox.events.flatMap((event) =>
    event.type === type ? [[event.id, event.text] as const] : [],
  );
  const byId = new Map(texts);
  return Object.fromEntries(
    SAMPLES.map(({ name }, index) => [name, byId.get(ids[index] ?? "") ?? "not read"]),
  );
}

const EXPECTED = Object.fromEntries(SAMPLES.map(({ name, seen }) => [name, seen]));

test("all that people see in a message is read live, and the same of an edit", async () => {
  await using scene = await openDiscordScene();
  const ids = sayAll(scene);
  await scene.inbox.received(SAMPLES.length);
  assert.deepEqual(readOf(scene, ids, "message"), EXPECTED);
  for (const [index, id] of ids.entries()) scene.discord.world.edit(id, SAMPLES[index]?.content ?? "");
  await scene.inbox.received(2 * SAMPLES.length);
  assert.deepEqual(readOf(scene, ids, "edit"), EXPECTED);
});

test("all that people see in a message is read by catch-up", async () => {
  const ids: string[] = [];
  await using scene = await openDiscordScene({
    before: (parts) => {
      const { discord, ann, general, inbox } = parts;
      const first = discord.world.say(ann, general, "before");
      ids.push(...sayAll(parts));
      inbox.gaps = [gapAfter(parts, first)];
    },
  });
  await scene.inbox.received(SAMPLES.length);
  assert.deepEqual(readOf(scene, ids, "message"), EXPECTED);
});
