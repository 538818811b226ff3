import assert from "node:assert/strict";
import { test } from "node:test";

import { createSocketApp, startHttpApp } from "./bolt-app.ts";
import { startSlackServer } from "./server.ts";

for (const mode of ["Socket Mode", "HTTP mode"] as const) {
  test(`${mode}: a command is acknowledged with a text, and answered by its response_url`, async () => {
    await using slack = await startSlackServer();
    const ada = slack.world.addUser("ada");
    const channel = slack.world.addChannel({ name: "general", members: [ada] });
    await using bolt = mode === "HTTP mode" ? await startHttpApp(slack) : createSocketApp(slack);
    bolt.app.command("/weir", async ({ command, ack, respond }) => {
      await ack(`looking at ${command.text}`);
      await respond("done");
      await respond({ text: "for all", response_type: "in_channel" });
    });
    if (mode === "Socket Mode") await bolt.app.start();
    const command = slack.world.command(ada, channel, "/weir", "the status & more");
    assert.equal((await command.acknowledged).isAcknowledged, true);
    await slack.journal.until("three texts", () => command.posts.length === 3);
    // The acknowledgement and the posts take separate ways, so either may be first.
    assert.deepEqual(command.posts.map(({ text, type }) => `${type}: ${text}`).toSorted(), [
      "ephemeral: done",
      "ephemeral: looking at the status & more",
      "in_channel: for all",
    ]);
    assert.deepEqual(
      slack.messages(channel).map(({ text }) => text),
      ["for all"],
    );
  });
}

test("a click comes with its value; a response_url serves five times", async () => {
  await using slack = await startSlackServer();
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = createSocketApp(slack);
  const values: unknown[] = [];
  bolt.app.action("stop", async ({ action, ack }) => {
    values.push("value" in action ? action.value : undefined);
    await ack();
  });
  await bolt.app.start();
  const click = slack.world.click(ada, channel, "1763712000.000100", { id: "stop", value: "now" });
  assert.equal((await click.acknowledged).isAcknowledged, true);
  assert.deepEqual(values, ["now"]);
  const statuses: number[] = [];
  for (let use = 0; use < 6; use += 1) {
    const body = JSON.stringify({ text: `use ${use}` });
    statuses.push((await fetch(click.responseUrl, { method: "POST", body })).status);
  }
  assert.deepEqual(statuses, [200, 200, 200, 200, 200, 404]);
});

test("a command that nobody acknowledges fails before the person's eyes, and is not sent again", async () => {
  await using slack = await startSlackServer({ ackTimeoutMs: 40, retryDelaysMs: [0] });
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = createSocketApp(slack);
  await bolt.app.start();
  const command = slack.world.command(ada, channel, "/weir");
  assert.deepEqual(await command.acknowledged, { isAcknowledged: false, error: "operation_timeout" });
  assert.equal(slack.journal.envelopes("slash_commands").length, 1);
});
