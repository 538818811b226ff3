import assert from "node:assert/strict";
import { test } from "node:test";
import { tsOf } from "../../../src/platforms/slack/address.ts";
import { buttonsOf } from "../../support/slack/blocks.ts";
import type { Interaction } from "../../support/slack/interactions.ts";
import { outbound } from "../contract.ts";
import { openSlackScene, type SlackScene } from "./slack-harness.ts";

/** A press is sent once: it must not be lost with a socket on a slow machine. */
const PATIENT = { commandMs: 60_000, pingMs: 60_000 };
const ON = { config: () => ({ feedbackButtons: true }), timing: PATIENT };
const LABELS = ["👍", "👎"];

/** Sends an answer of several kinds. @returns its id, and the labels of its buttons */
async function answer(
  { platform, slack, general }: SlackScene,
  more: Parameters<typeof outbound>[1],
): Promise<{ readonly id: string; readonly labels: string[] }> {
  const id = await platform.send(outbound({ platform, channel: general.id }, more));
  const message = slack.messages(general).find(({ ts }) => ts === tsOf(id));
  return { id, labels: [...buttonsOf(message?.blocks).keys()] };
}

function press({ slack, ana, general }: SlackScene, id: string, label: string): Interaction {
  const message = slack.messages(general).find(({ ts }) => ts === tsOf(id));
  const button = buttonsOf(message?.blocks).get(label);
  assert.ok(button);
  return slack.world.click(ana, general, tsOf(id), button);
}

test("the last message of an answer has the buttons, and nothing else has", async () => {
  await using scene = await openSlackScene(ON);
  const asks = { text: "**seven**", asksFeedback: true } as const;
  assert.deepEqual((await answer(scene, { ...asks, idempotencyKey: "1" })).labels, LABELS);
  assert.deepEqual((await answer(scene, { text: "a part", idempotencyKey: "2" })).labels, []);
  assert.deepEqual((await answer(scene, { ...asks, kind: "notice", idempotencyKey: "3" })).labels, []);
  const { id, labels } = await answer(scene, { ...asks, final: false, idempotencyKey: "4" });
  assert.deepEqual(labels, []);
  const { platform, slack, general } = scene;
  await platform.edit(id, outbound({ platform, channel: general.id }, { ...asks, idempotencyKey: "4" }));
  assert.deepEqual([...buttonsOf(slack.messages(general).at(-1)?.blocks).keys()], LABELS);
  assert.equal(slack.messages(general).at(-1)?.text, "*seven*");
});

test("an answer stays without buttons where they are switched off, or Slack refuses them", async () => {
  await using off = await openSlackScene();
  assert.deepEqual((await answer(off, { text: "seven", asksFeedback: true })).labels, []);
  await using scene = await openSlackScene(ON);
  scene.slack.faults.next({ method: "chat.postMessage", fault: "error", error: "invalid_blocks" });
  const { labels } = await answer(scene, { text: "seven", asksFeedback: true });
  assert.deepEqual(labels, []);
  assert.equal(scene.slack.messages(scene.general).at(-1)?.text, "seven");
});

test("a press is the reaction with that emoji, and takes the place of the other one", async () => {
  await using scene = await openSlackScene({ ...ON, server: { ackTimeoutMs: 60_000 } });
  const { inbox, ana } = scene;
  const { id } = await answer(scene, { text: "seven", asksFeedback: true });
  for (const label of ["👎", "👍"])
    assert.equal((await press(scene, id, label).acknowledged).isAcknowledged, true);
  const seen = inbox.events.map((event) => [event.type, event.id, "text" in event ? event.text : null]);
  const reaction = (emoji: string): string => `reaction/${id}/${ana.id}/${emoji}`;
  assert.deepEqual(seen, [
    ["deletion", reaction("+1"), null],
    ["message", reaction("-1"), "reacted with 👎"],
    ["deletion", reaction("-1"), null],
    ["message", reaction("+1"), "reacted with 👍"],
  ]);
  const [, bad] = inbox.events;
  assert.equal(bad?.type === "message" && bad.replyTo, id);
});

test("a press that could not be stored is not acknowledged, so that Slack tells the person", async () => {
  await using scene = await openSlackScene({ ...ON, server: { ackTimeoutMs: 1000 } });
  const { id } = await answer(scene, { text: "seven", asksFeedback: true });
  scene.inbox.failures.push(null, new Error("The database is away."));
  assert.equal((await press(scene, id, "👎").acknowledged).isAcknowledged, false);
});

test("a streamed answer has the buttons at its end", async () => {
  await using scene = await openSlackScene(ON);
  const { slack, ana, platform } = scene;
  const dm = slack.world.openIm(ana);
  const root = slack.world.say(ana, dm, "what is it?");
  const made = outbound({ platform, channel: `${dm.id}/${root}` }, { text: "It is", final: false });
  const id = await platform.send(made);
  await platform.edit(id, { ...made, text: "It is seven.", final: true, asksFeedback: true });
  const shown = slack.messages(dm, root).at(-1);
  assert.deepEqual([shown?.text, shown?.streaming], ["It is seven.", "completed"]);
  assert.deepEqual([...buttonsOf(shown?.blocks).keys()], LABELS);
});
