import assert from "node:assert/strict";
import { test } from "node:test";
import { messageId } from "../../../src/platforms/slack/address.ts";
import type { SlackServerOptions } from "../../support/slack/server.ts";
import { openSlackScene, type SlackScene } from "./slack-harness.ts";

const DAY_MS = 86_400_000;

interface Past {
  /** Messages that were said without a connection. */
  readonly count: number;
  /** How long it lasted, ms. */
  readonly ms: number;
  readonly limits?: SlackServerOptions["limits"];
}

/** A scene that is connected again after so much was said. */
async function openPast({ count, ms, limits = {} }: Past): Promise<SlackScene & { readonly first: string }> {
  const clock = { ms: Date.now() - ms };
  const scene = await openSlackScene({
    server: { retryDelaysMs: [], now: () => clock.ms, limits },
    // So much is said in one turn of the loop that a ping may wait for long.
    timing: { callMs: 20_000, pingMs: 60_000 },
  });
  const { slack, ana, general, inbox } = scene;
  slack.deliveries.dropNext(count + 1);
  const first = slack.world.say(ana, general, "before");
  for (let said = 1; said <= count; said++) {
    clock.ms += ms / count;
    slack.world.say(ana, general, `talk ${said}`);
  }
  inbox.gaps = [
    {
      channel: { platform: "slack", name: general.id },
      kind: "channel",
      workspace: "T0WEIRTEAM1",
      afterId: messageId(general.id, first),
    },
  ];
  return { ...scene, first, [Symbol.asyncDispose]: async () => scene[Symbol.asyncDispose]() };
}

async function filled({ slack, inbox }: SlackScene, closed = 1): Promise<void> {
  slack.sockets.disconnect("warning");
  while (inbox.closed.length < closed) await new Promise(setImmediate);
}

function pages({ slack }: SlackScene): number {
  return slack.journal.calls("conversations.history").length;
}

for (const oldestPageFirst of [false, true]) {
  const order = oldestPageFirst ? "the oldest" : "the newest";
  test(`5,000 messages come for a few calls, the newest first, where ${order} page comes first`, async () => {
    await using scene = await openPast({ count: 5000, ms: 3 * DAY_MS, limits: { oldestPageFirst } });
    const { inbox } = scene;
    await filled(scene);
    assert.equal(new Set(inbox.said).size, 5000);
    assert.equal(inbox.said.length, 5000);
    assert.equal(inbox.said[499], "Ana: talk 5000");
    assert.equal(inbox.said[500], "Ana: talk 1");
    assert.ok(pages(scene) <= 10, `${pages(scene)} calls`);
  });

  test(`a gap that is too long for one look is read by times, where ${order} page comes first`, async () => {
    await using scene = await openPast({ count: 12_500, ms: 30 * DAY_MS, limits: { oldestPageFirst } });
    const { inbox } = scene;
    await filled(scene);
    assert.equal(new Set(inbox.said).size, 12_500);
    assert.deepEqual(
      inbox.said.slice(500),
      Array.from({ length: 12_000 }, (_, index) => `Ana: talk ${index + 1}`),
    );
    assert.ok(pages(scene) <= 40, `${pages(scene)} calls`);
  });
}

test("of threads all replies come, however many threads there are", async () => {
  await using scene = await openPast({ count: 60, ms: DAY_MS });
  const { slack, ana, general, inbox } = scene;
  const roots = slack.messages(general).map(({ ts }) => ts);
  slack.deliveries.dropNext(200);
  for (const ts of roots) slack.world.say(ana, general, `reply to ${ts}`, { threadTs: ts });
  await filled(scene, 1 + roots.length - 20);
  for (const ts of roots) assert.ok(inbox.said.includes(`Ana: reply to ${ts}`), ts);
});

test("of threads under a long gap all replies come, too", async () => {
  await using scene = await openPast({ count: 2000, ms: DAY_MS });
  const { slack, ana, general, inbox } = scene;
  const roots = slack
    .messages(general)
    .map(({ ts }) => ts)
    .filter((_, index) => index % 50 === 0);
  slack.deliveries.dropNext(200);
  for (const ts of roots) slack.world.say(ana, general, `reply to ${ts}`, { threadTs: ts });
  await filled(scene, 1);
  while (!roots.every((ts) => inbox.said.includes(`Ana: reply to ${ts}`))) await new Promise(setImmediate);
});

test("what the plan of the workspace hides by now is told, and the rest comes", async () => {
  const shownFrom = Date.now() - 90 * DAY_MS;
  await using scene = await openPast({ count: 1200, ms: 120 * DAY_MS, limits: { shownFrom } });
  const { inbox, lines, first, general } = scene;
  await filled(scene);
  assert.equal(new Set(inbox.said).size, 900);
  const lost = inbox.absences.get(`absence/lost/${messageId(general.id, first)}`);
  assert.equal(lost?.kind, "lost");
  assert.ok(Math.abs((lost?.to.getTime() ?? 0) - shownFrom) < DAY_MS);
  assert.ok(lines.some((line) => line.includes("messages_not_readable")));
});
