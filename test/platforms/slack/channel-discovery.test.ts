import assert from "node:assert/strict";
import { test } from "node:test";
import { openSlackScene, type SlackScene } from "./slack-harness.ts";

/** The channels whose messages were asked for, in that order. */
function asked({ slack }: SlackScene): unknown[] {
  return slack.journal.calls("conversations.history").map(({ args }) => args["channel"]);
}

async function closed({ inbox }: SlackScene, count: number): Promise<void> {
  while (inbox.closed.length < count) await new Promise(setImmediate);
}

/** Slack's times are whole seconds here. */
const aMomentAgo = (): Date => new Date(Date.now() - 1000);

test("the first direct message and the first mention of the time without a connection come, and nobody's name is asked for twice", async () => {
  await using scene = await openSlackScene({
    server: { retryDelaysMs: [] },
    before: (_, inbox) => {
      inbox.mark = aMomentAgo();
    },
  });
  const { slack, ana, general, inbox } = scene;
  await closed(scene, 1);
  const cyd = slack.world.addUser("cyd");
  const room = slack.world.addChannel({ name: "room", members: [ana] });
  const elsewhere = slack.world.addChannel({ name: "elsewhere", members: [ana], withoutBot: true });
  const dm = slack.world.openIm(cyd);
  slack.deliveries.dropNext(4);
  slack.world.say(cyd, dm, "are you there?");
  slack.world.say(ana, room, `<@${slack.world.bot.id}> and here?`);
  slack.sockets.disconnect("warning");
  await inbox.received(2);
  await closed(scene, 4);
  assert.deepEqual(new Set(inbox.said), new Set(["cyd: are you there?", "Ana: @weir and here?"]));
  assert.ok(inbox.events.every((event) => event.type === "message" && event.addressed));
  assert.deepEqual(asked(scene).slice(0, 2), [general.id, dm.id], "direct messages first");
  assert.deepEqual(new Set(asked(scene).slice(2)), new Set([general.id, room.id]));
  assert.equal(asked(scene).includes(elsewhere.id), false);
  assert.equal(slack.journal.calls("users.conversations").length, 2);
  assert.equal(slack.journal.calls("conversations.info").length, 0);
});

test("a first connection ever asks for nothing, and a later one for no channel that nobody answers", async () => {
  await using scene = await openSlackScene({ server: { retryDelaysMs: [] } });
  const { slack, ana, general, inbox } = scene;
  slack.world.say(ana, general, "hello");
  await inbox.received(1);
  assert.deepEqual(slack.journal.calls("users.conversations"), []);
  inbox.policy = ({ channel }) => ({
    isBound: channel.name === general.id,
    listens: true,
    answersAll: false,
    isKnown: true,
  });
  slack.world.addChannel({ name: "unbound", members: [ana] });
  slack.sockets.disconnect("warning");
  await closed(scene, 1);
  assert.deepEqual(asked(scene), [general.id]);
});

test("a list of channels that comes in pages is read whole; a missing scope ends the search, and not Weir", async () => {
  await using scene = await openSlackScene({
    server: { retryDelaysMs: [], limits: { pageSize: 2 } },
    before: (slack, inbox) => {
      inbox.mark = aMomentAgo();
      for (let index = 0; index < 5; index++) slack.world.addChannel({ name: `room-${index}` });
    },
  });
  const { slack, ana, general, inbox } = scene;
  await closed(scene, 6);
  assert.equal(slack.journal.calls("users.conversations").length, 3);
  slack.faults.next({ method: "users.conversations", fault: "error", error: "missing_scope" });
  slack.sockets.disconnect("warning");
  await slack.journal.until("the refusal", () => slack.journal.calls("users.conversations").length === 4);
  slack.world.say(ana, general, "still there?");
  await inbox.received(1);
  assert.deepEqual(inbox.said, ["Ana: still there?"]);
});

test("a message that could not be read is fetched, also where Slack does not deliver it again", async () => {
  await using scene = await openSlackScene({
    server: { retryDelaysMs: [] },
    before: (_, inbox) => {
      inbox.mark = aMomentAgo();
    },
  });
  const { slack, ana, inbox } = scene;
  await closed(scene, 1);
  const fresh = slack.world.addChannel({ name: "fresh", members: [ana] });
  slack.faults.next({ method: "conversations.info", fault: "status", status: 503, times: 3 });
  slack.world.say(ana, fresh, "can you read this?");
  await inbox.received(1);
  assert.deepEqual(inbox.said, ["Ana: can you read this?"]);
});
