import assert from "node:assert/strict";
import { test } from "node:test";
import { Random } from "../../fuzz/random.ts";
import { type Json, mutated } from "../../support/mutated.ts";
import { openSlackScene, type SlackScene } from "./slack-harness.ts";

/** Frames as Slack has sent them, one of each kind. */
async function realFrames({ slack, ana, general, inbox }: SlackScene): Promise<Json[]> {
  const { world, journal } = slack;
  const ts = world.say(ana, general, `<@${world.bot.id}> hello`);
  await inbox.received(1);
  world.edit(general, ts, "hello again");
  world.react(ana, general, ts, "wave");
  await inbox.received(3);
  await slack.deliveries.idle();
  return journal.envelopes().map(({ envelopeId, type, payload, retryAttempt, retryReason }): Json => {
    const frame = { envelope_id: envelopeId, type, payload, accepts_response_payload: false };
    return JSON.parse(JSON.stringify({ ...frame, retry_attempt: retryAttempt, retry_reason: retryReason }));
  });
}

async function assertAlive(scene: SlackScene): Promise<void> {
  const { slack, ana, general, inbox } = scene;
  slack.world.say(ana, general, "still there?");
  await slack.journal.until(
    "the message behind them",
    () => inbox.said.includes("Ana: still there?"),
    30_000,
  );
  const opened = slack.journal.sockets.filter(({ state }) => state === "open");
  assert.equal(opened.length, 1);
  assert.equal(inbox.gaps.length, 0);
}

test("1,000 malformed frames of Slack's cost nothing but themselves, and the log stays short", async () => {
  await using scene = await openSlackScene({ timing: { pingMs: 60_000 } });
  const frames = await realFrames(scene);
  const random = new Random(16);
  for (let sent = 0; sent < 1000; sent++) {
    scene.slack.sockets.sendRaw(JSON.stringify(mutated(random, random.pick(frames))));
    if (sent % 100 === 0) await new Promise((resolve) => setImmediate(resolve));
  }
  await assertAlive(scene);
  const warnings = scene.lines.filter((line) => line.includes('"level":40'));
  assert.ok(warnings.length <= 100, `${warnings.length} warnings`);
});

test("frames that are none of Slack's, or are called as the client's own events, are passed over", async () => {
  await using scene = await openSlackScene({ timing: { pingMs: 60_000 } });
  for (const type of ["disconnected", "connected", "ws_message", "slack_event", "close", "error", "hello"])
    for (const payload of ["null", `{"event":{"type":"${type}"}}`]) {
      scene.slack.sockets.sendRaw(`{"type":"${type}","envelope_id":"x","payload":${payload}}`);
      scene.slack.sockets.sendRaw(`{"type":"events_api","envelope_id":"x","payload":${payload}}`);
    }
  for (const frame of ["", "null", "7", "[]", "{}", "{", '{"type":null}', '{"type":"events_api"}'])
    scene.slack.sockets.sendRaw(frame);
  await assertAlive(scene);
});
