import assert from "node:assert/strict";
import { test } from "node:test";
import type { Gap } from "../../../src/platforms/platform.ts";
import { messageId } from "../../../src/platforms/slack/address.ts";
import type { SlackChannel } from "../../support/slack/model.ts";
import { openSlackScene, type SlackScene } from "./slack-harness.ts";

const DAY_MS = 86_400_000;

function gapAfter(channel: SlackChannel, ts: string): Gap {
  return {
    channel: { platform: "slack", name: channel.id },
    kind: "channel",
    workspace: "T0WEIRTEAM1",
    afterId: messageId(channel.id, ts),
  };
}

/** A scene in which Ana has said `old` things long ago, the root first, and `since` things now. */
async function openPast(
  since: number,
  agoMs: number,
  old = 1,
): Promise<SlackScene & { root: string; last: string }> {
  const clock = { ms: Date.now() - agoMs };
  const scene = await openSlackScene({ server: { retryDelaysMs: [], now: () => clock.ms } });
  const { slack, ana, general, inbox } = scene;
  slack.deliveries.dropNext(since + old);
  const root = slack.world.say(ana, general, "an old root");
  for (let count = 1; count < old; count++) slack.world.say(ana, general, "old");
  clock.ms = Date.now();
  let last = root;
  for (let count = 1; count <= since; count++) last = slack.world.say(ana, general, `${count}`);
  inbox.gaps = [gapAfter(general, last)];
  return { ...scene, root, last, [Symbol.asyncDispose]: async () => scene[Symbol.asyncDispose]() };
}

async function reconnected({ slack, inbox }: SlackScene): Promise<void> {
  slack.sockets.disconnect("warning");
  await slack.journal.until("the gap", () => inbox.closed.length > 0);
}

/** Calls for the channel's own messages. */
function pages({ slack, general }: SlackScene): number {
  return slack.journal.calls("conversations.history").filter(({ args }) => args["channel"] === general.id)
    .length;
}

test("a thread that was begun under a root far above the newest page is found, for one more call", async () => {
  await using scene = await openPast(450, 2 * DAY_MS);
  const { slack, ana, general, inbox, root } = scene;
  slack.deliveries.dropNext(1);
  slack.world.say(ana, general, "what of this?", { threadTs: root });
  await reconnected(scene);
  const found = inbox.events.flatMap((event) =>
    event.type === "message" ? [[event.text, event.channel.name]] : [],
  );
  assert.deepEqual(found, [["what of this?", `${general.id}/${root}`]]);
  assert.equal(pages(scene), 2);
  assert.equal(slack.journal.calls("conversations.replies").length, 1);
});

test("also where so much was missed that it comes in pages", async () => {
  await using scene = await openPast(10, 2 * DAY_MS);
  const { slack, ana, general, inbox, root } = scene;
  slack.deliveries.dropNext(1000);
  slack.world.say(ana, general, "what of this?", { threadTs: root });
  for (let count = 1; count <= 450; count++) slack.world.say(ana, general, `later ${count}`);
  await reconnected(scene);
  assert.equal(inbox.said.length, 451);
  assert.equal(inbox.said[0], "Ana: what of this?");
});

test("where the newest page goes back a week, nothing more is asked for", async () => {
  await using scene = await openPast(150, 8 * DAY_MS, 100);
  const { slack, ana, general, inbox, root } = scene;
  slack.deliveries.dropNext(1);
  slack.world.say(ana, general, "too far back", { threadTs: root });
  await reconnected(scene);
  assert.deepEqual(inbox.said, []);
  assert.equal(pages(scene), 1);
});

/**
 * In a thread of a channel whose gap is not filled before the test says so: `missed` mentions of the time without a connection,
 * and a reply now.
 */
async function replyInGap(
  scene: SlackScene,
  missed: readonly string[],
  isFilled: Promise<void>,
): Promise<{ readonly root: string; readonly thread: string }> {
  const { slack, ana, general, inbox } = scene;
  inbox.policy = ({ channel: { name } }) => ({
    isBound: true,
    listens: true,
    answersAll: false,
    isKnown: inbox.events.some((event) => event.type === "message" && event.channel.name === name),
  });
  const first = slack.world.say(ana, general, "first");
  await inbox.received(1);
  inbox.gaps = [gapAfter(general, first)];
  // A mention comes as two events.
  slack.deliveries.dropNext(1 + 2 * missed.length);
  const root = slack.world.say(ana, general, "root");
  for (const text of missed)
    slack.world.say(ana, general, `<@${slack.world.bot.id}> ${text}`, { threadTs: root });
  slack.faults.next({
    method: "conversations.history",
    channel: general.id,
    fault: "slow_before",
    until: isFilled,
  });
  slack.sockets.disconnect("warning");
  await slack.journal.until("the next socket", () => (slack.journal.sockets.at(-1)?.socket ?? 0) >= 2);
  slack.world.say(ana, general, "a reply now", { threadTs: root });
  return { root, thread: `${general.id}/${root}` };
}

/** What came of a channel: `-` background, `*` asked, `+` heard. */
function came({ inbox }: SlackScene, name: string): string[] {
  return inbox.events.flatMap((event) => {
    if (event.type !== "message" || event.channel.name !== name) return [];
    return [`${event.isBackground === true ? "-" : event.addressed ? "*" : "+"} ${event.text}`];
  });
}

test("a thread in which somebody speaks before its parent is fetched begins with what was missed in it, in order", async () => {
  await using scene = await openSlackScene({ server: { retryDelaysMs: [] } });
  const { general, inbox, slack } = scene;
  const { promise: isFilled, resolve: fill } = Promise.withResolvers<void>();
  const { thread } = await replyInGap(scene, ["one?", "two?"], isFilled);
  await slack.journal.until("the thread's gap", () => inbox.closed.length >= 1);
  assert.deepEqual(inbox.closed, [thread]);
  fill();
  await slack.journal.until("both gaps", () => inbox.closed.length >= 2);
  assert.deepEqual(inbox.closed, [thread, general.id]);
  const once = [...new Set(came(scene, thread))];
  assert.deepEqual(once, ["- first", "- root", "* @weir one?", "* @weir two?", "+ a reply now"]);
  assert.deepEqual(came(scene, general.id), ["+ first", "+ root"]);
});

test("where that takes too long, it is no background all the same, and comes later", async () => {
  await using scene = await openSlackScene({ server: { retryDelaysMs: [] }, timing: { holdMs: 100 } });
  const { slack, inbox, general } = scene;
  const { promise: isFilled, resolve: fill } = Promise.withResolvers<void>();
  slack.faults.next({ method: "conversations.replies", fault: "slow_before", until: isFilled });
  const { thread } = await replyInGap(scene, ["one?"], isFilled);
  await slack.journal.until("the reply", () => inbox.said.includes("Ana: a reply now"));
  assert.deepEqual(came(scene, thread), ["- first", "- root", "+ a reply now"]);
  assert.equal(inbox.kept.get(thread), inbox.gaps[0]?.afterId);
  fill();
  await slack.journal.until("both gaps", () => inbox.closed.length >= 2);
  assert.deepEqual([...new Set(inbox.closed)].toSorted(), [general.id, thread].toSorted());
  assert.ok(came(scene, thread).includes("* @weir one?"));
});

test("of a thread that is too long to be read to its end, nothing counts as deleted, and all that was missed comes", async () => {
  await using scene = await openSlackScene({ server: { retryDelaysMs: [], limits: { pageSize: 5 } } });
  const { slack, ana, general, inbox, lines } = scene;
  slack.deliveries.dropNext(1000);
  const root = slack.world.say(ana, general, "root");
  const say = (text: string): string => slack.world.say(ana, general, text, { threadTs: root });
  const known = Array.from({ length: 60 }, (_, index) => say(`known ${index}`));
  const missed = Array.from({ length: 120 }, (_, index) => `missed ${index}`);
  for (const text of missed) say(text);
  inbox.newestMessageIds = async () =>
    Promise.resolve(known.map((ts) => messageId(general.id, ts)).toReversed());
  const channel = { platform: "slack", name: `${general.id}/${root}` };
  inbox.gaps = [{ ...gapAfter(general, known.at(-1) ?? ""), channel, kind: "thread" }];
  await reconnected(scene);
  assert.deepEqual(
    inbox.events.map((event) => (event.type === "message" ? event.text : event.type)),
    missed,
  );
  const line = lines.find((one) => one.includes('"backlog_read"'));
  assert.match(line ?? "", /"messages":120/);
});
