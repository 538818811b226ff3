import assert from "node:assert/strict";
import { test } from "node:test";

import { startHttpApp } from "./bolt-app.ts";
import { startSlackServer } from "./server.ts";

test("HTTP mode: the URL is verified, events come signed, and their answers count", async () => {
  await using slack = await startSlackServer();
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = await startHttpApp(slack);
  assert.deepEqual(await slack.requestUrl.verify("prove it"), {
    status: 200,
    body: JSON.stringify({ challenge: "prove it" }),
  });
  slack.world.say(ada, channel, "hello &amp; <@U1>");
  await slack.deliveries.idle();
  assert.equal(bolt.heard.length, 1);
  assert.deepEqual(
    slack.journal.acks.map(({ status, accepted }) => [status, accepted]),
    [[200, true]],
  );
});

test("a wrong signature, none, and an old timestamp are refused, and the event comes again", async () => {
  await using slack = await startSlackServer({ retryDelaysMs: [0, 0, 0] });
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = await startHttpApp(slack);
  slack.requestUrl.tamperNext({ signature: "wrong" }, { ageS: 600 }, { signature: "missing" });
  slack.world.say(ada, channel, "hello");
  await slack.deliveries.idle();
  assert.deepEqual(
    slack.journal.acks.map(({ status }) => status),
    [401, 401, 401, 200],
  );
  assert.deepEqual(
    bolt.heard.map(({ retryNum, retryReason }) => [retryNum, retryReason]),
    [[3, "http_error"]],
  );
});

test("processBeforeResponse: the answer waits for the listener, a failure makes Slack try again", async () => {
  await using slack = await startSlackServer({ ackTimeoutMs: 500, retryDelaysMs: [0, 0] });
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  await using bolt = await startHttpApp(slack, { processBeforeResponse: true });
  const attempts: (number | undefined)[] = [];
  const { promise: never, resolve: letGo } = Promise.withResolvers<void>();
  bolt.app.message(/./, async ({ context }) => {
    attempts.push(context.retryNum);
    if (attempts.length === 1) throw new Error("the store is away");
    if (attempts.length === 2) await never;
  });
  slack.world.say(ada, channel, "hello");
  await slack.deliveries.idle();
  letGo();
  assert.deepEqual(attempts, [undefined, 1, 2]);
  assert.deepEqual(
    slack.journal.acks.map(({ status }) => status),
    [500, 200],
  );
  const reasons = slack.journal.envelopes("events_api").map(({ retryReason }) => retryReason);
  assert.deepEqual(reasons, ["", "http_error", "http_timeout"]);
});

test("an app that is not there: connection_failed, a few times", async () => {
  await using slack = await startSlackServer({ retryDelaysMs: [0] });
  const ada = slack.world.addUser("ada");
  const channel = slack.world.addChannel({ name: "general", members: [ada] });
  {
    await using _bolt = await startHttpApp(slack);
  }
  slack.world.say(ada, channel, "hello");
  await slack.deliveries.idle();
  assert.equal(slack.journal.envelopes().at(-1)?.retryReason, "connection_failed");
  assert.equal(slack.journal.givenUp.length, 1);
});
