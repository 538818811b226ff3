// proves: src/platforms/slack/connection/socket-session.ts, src/platforms/slack/web/api.ts
import assert from "node:assert/strict";
import { createServer } from "node:net";
import { test } from "node:test";
import type { Gap } from "../../../src/platforms/platform.ts";
import { startListening } from "../../support/listening.ts";
import { outbound } from "../contract.ts";
import { openSlackScene, type SlackScene } from "./slack-harness.ts";
import { messageId } from "../../../src/platforms/slack/address.ts";
import type { SlackChannel } from "../../support/slack/model.ts";

/** A channel whose messages after this one may be missing. */
function gapAfter(channel: SlackChannel, ts: string, threadTs?: string): Gap {
  const name = threadTs === undefined ? channel.id : `${channel.id}/${threadTs}`;
  return {
    channel: { platform: "slack", name },
    kind: threadTs === undefined ? "channel" : "thread",
    workspace: "T0WEIRTEAM1",
    afterId: messageId(channel.id, ts),
  };
}

async function socket({ slack }: SlackScene, number: number): Promise<void> {
  await slack.journal.until(`socket ${number}`, () => (slack.journal.sockets.at(-1)?.socket ?? 0) >= number);
}

function logged({ lines }: SlackScene, event: string): Record<string, unknown>[] {
  const records = lines.map((line) => Object.fromEntries(Object.entries(JSON.parse(line))));
  return records.filter(({ msg }) => msg === event);
}

for (const reason of ["warning", "refresh_requested"] as const) {
  test(`a new socket is opened at once where Slack asks for it (${reason}), and what was missed is fetched`, async () => {
    await using scene = await openSlackScene({ server: { retryDelaysMs: [] } });
    const { slack, ana, general, inbox } = scene;
    const first = slack.world.say(ana, general, "before");
    await inbox.received(1);
    inbox.gaps = [gapAfter(general, first)];
    slack.deliveries.dropNext(3);
    slack.world.say(ana, general, "missed one");
    const root = slack.world.say(ana, general, "missed two");
    slack.world.say(ana, general, "missed three", { threadTs: root });
    slack.sockets.disconnect(reason);
    await socket(scene, 2);
    await inbox.received(4);
    slack.world.say(ana, general, "after");
    await inbox.received(5);
    assert.deepEqual(inbox.said, [
      "Ana: before",
      "Ana: missed one",
      "Ana: missed two",
      "Ana: missed three",
      "Ana: after",
    ]);
    const names = inbox.events.map((event) => (event.type === "message" ? event.channel.name : ""));
    assert.deepEqual(names, [general.id, general.id, general.id, `${general.id}/${root}`, general.id]);
    assert.deepEqual(inbox.closed, [general.id]);
    assert.equal(logged(scene, "platform_disconnected").length, 0);
  });
}

for (const [how, lose] of Object.entries<(scene: SlackScene) => void>({
  "is cut": ({ slack }) => slack.sockets.cut(),
  freezes: ({ slack }) => slack.sockets.freeze(),
  "is closed": ({ slack }) => slack.sockets.close(),
})) {
  test(`a socket that ${how} is replaced`, async () => {
    const timing = how === "freezes" ? { pingMs: 300 } : {};
    await using scene = await openSlackScene({ server: { pingIntervalMs: 50 }, timing });
    const { slack, ana, general, inbox } = scene;
    lose(scene);
    await socket(scene, 2);
    slack.sockets.cut(1);
    await slack.journal.until("one socket", () => slack.sockets.openSockets === 1);
    slack.world.say(ana, general, "hello");
    await inbox.received(1);
    assert.deepEqual(inbox.said, ["Ana: hello"]);
  });
}

test("edits and deletions of the time without a connection are found; a thread is read from its gap on", async () => {
  await using scene = await openSlackScene({ server: { retryDelaysMs: [] } });
  const { slack, ana, general, inbox } = scene;
  const kept = slack.world.say(ana, general, "kept");
  const changed = slack.world.say(ana, general, "changed");
  const gone = slack.world.say(ana, general, "gone");
  const reply = slack.world.say(ana, general, "reply", { threadTs: kept });
  await inbox.received(4);
  inbox.gaps = [gapAfter(general, gone), gapAfter(general, reply, kept)];
  slack.deliveries.dropNext(3);
  slack.world.edit(general, changed, "was changed");
  slack.world.remove(general, gone);
  slack.world.say(ana, general, "second reply", { threadTs: kept });
  slack.sockets.disconnect("warning");
  await slack.journal.until("both gaps", () => inbox.closed.length >= 2);
  const later = inbox.events
    .slice(4)
    .map((event) => `${event.type} ${"text" in event ? event.text : event.id}`)
    // Where the thread's own gap was filled before the channel's, this comes again: the log takes it once.
    .filter((event) => event !== "message reply");
  const wanted = ["edit was changed", "message second reply", `deletion ${general.id}/${gone}`];
  assert.deepEqual(new Set(later), new Set(wanted));
});

for (const oldestPageFirst of [true, false]) {
  test(`a long gap is read in order (${oldestPageFirst ? "oldest" : "newest"} page first), without Slack's notices and the bot's words`, async () => {
    const limits = { pageSize: 60, oldestPageFirst };
    await using scene = await openSlackScene({ server: { retryDelaysMs: [], limits } });
    const { slack, ana, general, inbox, platform } = scene;
    const first = slack.world.say(ana, general, "first");
    await inbox.received(1);
    inbox.gaps = [gapAfter(general, first)];
    slack.deliveries.dropNext(1000);
    for (let count = 1; count <= 450; count++) slack.world.say(ana, general, `${count}`);
    slack.world.join(slack.world.addUser("cyd"), general);
    await platform.send(outbound({ platform, channel: general.id }, { text: "mine" }));
    slack.sockets.disconnect("warning");
    await slack.journal.until("the gap", () => inbox.closed.length >= 1);
    const wanted = ["Ana: first", ...Array.from({ length: 450 }, (_, index) => `Ana: ${index + 1}`)];
    assert.deepEqual(inbox.said, wanted);
  });
}

test("a channel begins with what was said before; a thread with its root and its earlier replies", async () => {
  await using scene = await openSlackScene({
    before: (slack, inbox) => {
      inbox.policy = () => ({ isBound: true, listens: true, answersAll: false, isKnown: false });
      slack.deliveries.dropNext(4);
    },
  });
  const { slack, ana, general, inbox } = scene;
  slack.world.say(ana, general, "long ago");
  const root = slack.world.say(ana, general, "root");
  slack.world.say(ana, general, "first reply", { threadTs: root });
  slack.world.say(ana, general, "later");
  slack.world.say(ana, general, `<@${slack.world.bot.id}> help`, { threadTs: root });
  await inbox.received(4);
  const seen = inbox.events.flatMap((event) =>
    event.type === "message" ? [[event.text, event.channel.name, event.isBackground ?? false]] : [],
  );
  const thread = `${general.id}/${root}`;
  assert.deepEqual(seen, [
    ["long ago", thread, true],
    ["root", thread, true],
    ["first reply", thread, true],
    ["@weir help", thread, false],
  ]);
});

test("a revoked token, a lost scope and a wrong kind of token are told in words, and tried again", async () => {
  await using scene = await openSlackScene({
    before: ({ faults }) => {
      faults.next({ method: "auth.test", fault: "error", error: "token_revoked" });
      const method = "apps.connections.open";
      faults.next({ method, fault: "error", error: "missing_scope", needed: "connections:write" });
      faults.next({ method, fault: "error", error: "not_allowed_token_type" });
    },
  });
  await socket(scene, 1);
  const said = logged(scene, "platform_refused").map(({ why }) => String(why));
  assert.equal(said.length, 3);
  assert.match(said[0] ?? "", /withdrawn the token in SLACK_BOT_TOKEN .*install the app again/);
  assert.match(said[1] ?? "", /SLACK_APP_TOKEN lacks the scope connections:write/);
  assert.match(said[2] ?? "", /SLACK_APP_TOKEN is no app-level token/);
});

test("a token that is revoked while the socket is open is told when the next one is refused", async () => {
  await using scene = await openSlackScene();
  const { slack, inbox, ana, general } = scene;
  const refused = { method: "apps.connections.open", fault: "error", error: "invalid_auth" } as const;
  slack.faults.next({ ...refused, times: Number.POSITIVE_INFINITY });
  assert.equal(scene.platform.connection?.().kind, "connected");
  slack.sockets.disconnect("warning");
  const why = (): string => scene.platform.connection?.().why ?? "";
  await slack.journal.until("why", () => why().includes("does not know the token in SLACK_APP_TOKEN"));
  slack.faults.clear();
  await socket(scene, 2);
  assert.match(
    String(logged(scene, "platform_refused")[0]?.["why"]),
    /does not know the token in SLACK_APP_TOKEN/,
  );
  slack.world.say(ana, general, "hello");
  await inbox.received(1);
  assert.partialDeepStrictEqual(scene.platform.connection?.(), { kind: "connected", why: null });
});

test("Slack's troubles on the way to a socket are waited out: 429, 5xx, resets, no hello", async () => {
  await using scene = await openSlackScene({ timing: { helloMs: 200 } });
  const { slack, inbox, ana, general } = scene;
  const method = "apps.connections.open";
  slack.faults.next({ method, fault: "rate_limited", retryAfterS: 0 });
  slack.faults.next({ method, fault: "status", status: 503, body: "<html>secret</html>" });
  slack.faults.next({ method, fault: "reset_before" });
  slack.sockets.withholdHello();
  slack.sockets.disconnect("refresh_requested");
  await slack.journal.until("a mute socket", () =>
    slack.journal.sockets.some(({ socket: one }) => one === 2),
  );
  slack.sockets.withholdHello(false);
  await slack.journal.until("the hello", () => logged(scene, "platform_connected").length === 2);
  slack.world.say(ana, general, "hello");
  await inbox.received(1);
  assert.deepEqual(slack.faults.pending, 0);
  assert.ok(scene.lines.every((line) => !line.includes("secret") && !line.includes(slack.appToken)));
});

test("Slack says how long it wants to be left alone before the next socket, and is", async () => {
  await using scene = await openSlackScene();
  const { slack } = scene;
  slack.faults.next({ method: "apps.connections.open", fault: "rate_limited", retryAfterS: 1 });
  const startedAt = performance.now();
  slack.sockets.disconnect("refresh_requested");
  await socket(scene, 2);
  assert.ok(performance.now() - startedAt >= 1000);
  assert.equal(logged(scene, "platform_disconnected")[0]?.["retryInMs"], 1000);
});

test("Socket Mode that is switched off is told in words", async () => {
  await using scene = await openSlackScene();
  scene.slack.sockets.disconnect("link_disabled");
  await socket(scene, 2);
  assert.match(String(logged(scene, "platform_refused")[0]?.["why"]), /Socket Mode was switched off/);
});

test("it ends promptly while a socket is being opened, and leaves none behind", async () => {
  await using scene = await openSlackScene();
  const { slack, platform } = scene;
  slack.faults.next({ method: "apps.connections.open", fault: "slow_before", delayMs: 300 });
  slack.sockets.disconnect("warning");
  await slack.journal.until("the call", () => slack.journal.calls("apps.connections.open").length === 2);
  await platform[Symbol.asyncDispose]();
  await slack.journal.until("no socket", () => slack.sockets.openSockets === 0);
});

test("replies are found, too, where much was missed", async () => {
  await using scene = await openSlackScene({ server: { retryDelaysMs: [] } });
  const { slack, ana, general, inbox } = scene;
  const first = slack.world.say(ana, general, "first");
  await inbox.received(1);
  inbox.gaps = [gapAfter(general, first)];
  slack.deliveries.dropNext(1000);
  const root = slack.world.say(ana, general, "root");
  slack.world.say(ana, general, "a reply", { threadTs: root });
  for (let count = 1; count <= 300; count++) slack.world.say(ana, general, `${count}`);
  const late = slack.world.say(ana, general, "late root");
  slack.world.say(ana, general, "a late reply", { threadTs: late });
  slack.sockets.disconnect("warning");
  await slack.journal.until("the gap", () => inbox.closed.length >= 1);
  assert.equal(inbox.said.length, 305);
  assert.deepEqual(inbox.said.slice(1, 4), ["Ana: root", "Ana: a reply", "Ana: 1"]);
  assert.equal(inbox.said.at(-1), "Ana: a late reply");
});

test("a thread under the bot's own message: its replies are found, and its root is not taken for deleted", async () => {
  await using scene = await openSlackScene({ server: { retryDelaysMs: [] } });
  const { slack, ana, general, inbox, platform } = scene;
  const first = slack.world.say(ana, general, "first");
  await inbox.received(1);
  const id = await platform.send(outbound({ platform, channel: general.id }, { text: "hello" }));
  const root = id.split("/")[1] ?? "";
  inbox.policy = ({ kind }) => ({
    isBound: true,
    listens: true,
    answersAll: false,
    isKnown: kind === "channel",
  });
  inbox.gaps = [gapAfter(general, first)];
  slack.deliveries.dropNext(1);
  const reply = slack.world.say(ana, general, "thanks", { threadTs: root });
  slack.sockets.disconnect("warning");
  await slack.journal.until("the channel's gap", () => inbox.closed.length >= 1);
  const wanted = ["Ana: first", "Ana: first", "weir: hello", "Ana: thanks"];
  assert.deepEqual(inbox.said, wanted, "the thread begins with its background");
  inbox.gaps = [gapAfter(general, reply, root)];
  slack.sockets.disconnect("warning");
  await slack.journal.until("the thread's gap", () => inbox.closed.length >= 2);
  assert.deepEqual(inbox.said, wanted);
  assert.ok(inbox.events.every(({ type }) => type === "message"));
});

test("catch-ups that nobody waits for are spaced by the calls that they make", async () => {
  const everyMs = 50;
  const server = { retryDelaysMs: [], limits: { pageSize: 2 } };
  // A call or a ping that a busy machine answers late would be followed by calls of its own.
  const timing = { readEveryMs: everyMs, callMs: 20_000, pingMs: 60_000 };
  await using scene = await openSlackScene({ server, timing });
  const { slack, ana, inbox } = scene;
  const rooms = Array.from({ length: 30 }, (_, index) =>
    slack.world.addChannel({ name: `room-${index}`, members: [ana] }),
  );
  inbox.gaps = rooms.map((room) => {
    for (const text of ["one", "two"]) slack.world.say(ana, room, text);
    return gapAfter(room, slack.world.say(ana, room, "three"));
  });
  await inbox.received(90);
  const from = performance.now();
  slack.sockets.disconnect("warning");
  // #general is looked up and read, too.
  await slack.journal.until("all", () => rooms.every(({ id }) => inbox.closed.includes(id)));
  // A connection that a busy machine loses reads a room again.
  const calls = slack.journal.calls("conversations.history").length;
  assert.ok(calls >= 2 * rooms.length);
  // The first twenty are free, and four catch-ups are under way at a time.
  assert.ok(performance.now() - from >= (calls - 20 - 8) * everyMs);
});

test("a thread that is deleted while its channel is read costs nothing else of it", async () => {
  await using scene = await openSlackScene({ server: { retryDelaysMs: [] } });
  const { slack, ana, general, inbox } = scene;
  const first = slack.world.say(ana, general, "first");
  await inbox.received(1);
  inbox.gaps = [gapAfter(general, first)];
  slack.deliveries.dropNext(3);
  const root = slack.world.say(ana, general, "a root");
  slack.world.say(ana, general, "a reply", { threadTs: root });
  slack.world.say(ana, general, "missed");
  slack.faults.next({ method: "conversations.replies", fault: "error", error: "thread_not_found" });
  slack.sockets.disconnect("warning");
  await slack.journal.until("the gap", () => inbox.closed.length >= 1);
  assert.deepEqual(inbox.said, ["Ana: first", "Ana: a root", "Ana: missed"]);
});

test("a socket is opened at Slack alone, whatever address is named for it", async () => {
  let met = 0;
  await using elsewhere = await startListening(createServer(() => met++));
  const url = `ws://localhost:${elsewhere.port}/link/?ticket=secret`;
  await using scene = await openSlackScene({
    before: ({ faults }) =>
      faults.next({
        method: "apps.connections.open",
        fault: "status",
        status: 200,
        body: JSON.stringify({ ok: true, url }),
      }),
  });
  await socket(scene, 1);
  assert.match(JSON.stringify(logged(scene, "platform_disconnected")), /none of its own/);
  assert.equal(met, 0);
});
