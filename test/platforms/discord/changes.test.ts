// proves: src/platforms/shared/platform-retry.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { until } from "../../support/patience.ts";
import { OperatorError } from "../../../src/core/errors.ts";
import { AwayError } from "../intake/away-error.ts";
import { openDiscordScene } from "./discord-harness.ts";

test("what is taken back is told also where Discord does not say at first where it stood", async () => {
  let said = "";
  await using scene = await openDiscordScene({
    before: ({ discord, ann, general }) => {
      const thread = discord.world.openThread(general, { name: "old plans", owner: ann });
      said = discord.world.say(ann, thread, "a secret");
      discord.world.archive(thread);
    },
  });
  const { discord, inbox, lines } = scene;
  discord.faults.next({
    method: "GET",
    route: "/channels/:channel",
    fault: { kind: "status", status: 503 },
    times: 4,
  });
  discord.world.remove(said);
  await until("deletion", () => inbox.events.length === 1);
  assert.deepEqual(
    inbox.events.map(({ type, id }) => [type, id]),
    [["deletion", said]],
  );
  assert.equal(lines.filter((line) => line.includes("taken_back_not_read_yet")).length, 4);
});

test("an edit is read where the database does not tell how its channel stands", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general } = scene;
  const said = discord.world.say(ann, general, "the code is 1234");
  await until("message", () => inbox.events.length === 1);
  const failures = [
    new AwayError("away"),
    new OperatorError("no such role"),
    new Error("certificate has expired"),
  ];
  for (const [index, failure] of failures.entries()) {
    inbox.policy = () => {
      throw failure;
    };
    discord.world.edit(said, `the code is ${index}`);
    await until("edit", () => inbox.events.length === index + 2);
    const edit = inbox.events[index + 1];
    assert.deepEqual([edit?.type, edit?.type === "edit" && edit.text], ["edit", `the code is ${index}`]);
  }
});

test("an edit that Discord does not tell whole, and not for a while, is read in the end, and what follows does not wait for it", async () => {
  await using scene = await openDiscordScene();
  const { discord, inbox, ann, general, lines } = scene;
  const said = discord.world.say(ann, general, "the code is 1234");
  await until("message", () => inbox.events.length === 1);
  discord.faults.next({
    method: "GET",
    route: "/channels/:channel/messages/:message",
    fault: { kind: "status", status: 503 },
    times: 5,
  });
  discord.world.editPartially(said, "the code is 9999");
  discord.world.say(ann, general, "and now?");
  await until("both", () => inbox.events.length === 3);
  assert.deepEqual(
    inbox.events.map(({ type }) => type),
    ["message", "message", "edit"],
  );
  assert.equal(lines.filter((line) => line.includes('"event_not_read_yet"')).length, 5);
});
