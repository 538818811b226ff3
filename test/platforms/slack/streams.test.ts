// proves: src/platforms/slack/outbound/streams.ts, src/platforms/slack/outbound/earlier-posts.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import type { OutboundMessage } from "../../../src/core/message.ts";
import { tsOf } from "../../../src/platforms/slack/address.ts";
import { SlackError } from "../../../src/platforms/slack/web/slack-error.ts";
import type { SlackMessage } from "../../support/slack/model.ts";
import { outbound } from "../contract.ts";
import { botTexts, openSender, openSlackScene, type SceneOptions, type SlackScene } from "./slack-harness.ts";

interface Thread extends SlackScene {
  /** The message that is answered. */
  readonly root: string;
  /** An unfinished answer to it. */
  readonly piece: (text: string) => OutboundMessage;
  readonly whole: (text: string) => OutboundMessage;
  /** The bot's messages in the thread. */
  readonly answers: () => readonly SlackMessage[];
}

/** Ana has asked something in #general, and is answered in a thread. */
async function openThread(options: SceneOptions = {}): Promise<Thread> {
  const scene = await openSlackScene(options);
  const { slack, ana, general, platform, inbox } = scene;
  const root = slack.world.say(ana, general, `<@${slack.world.bot.id}> what is it?`);
  await inbox.received(1);
  const parts = { inReplyTo: [`${general.id}/${root}`], idempotencyKey: "answer" };
  const made = (text: string, final: boolean): OutboundMessage =>
    outbound({ platform, channel: `${general.id}/${root}` }, { ...parts, text, final, mayBeInPart: true });
  return {
    ...scene,
    root,
    piece: (text) => made(text, false),
    whole: (text) => made(text, true),
    answers: () => slack.messages(general, root).filter(({ user }) => user === slack.world.bot.id),
    [Symbol.asyncDispose]: async () => scene[Symbol.asyncDispose](),
  };
}

function methods({ slack }: SlackScene): string[] {
  return slack.journal
    .calls()
    .map(({ method }) => method)
    .filter((method) => method.startsWith("chat."));
}

test("an answer in a thread is a stream that only grows, and is whole at its end", async () => {
  await using scene = await openThread();
  const { platform, piece, whole, answers, ana, slack } = scene;
  const id = await platform.send(piece("It is **se"));
  await platform.edit(id, piece("It is **seven** and"));
  await platform.edit(id, whole("It is **seven** and not eight."));
  assert.deepEqual(methods(scene), ["chat.startStream", "chat.appendStream", "chat.stopStream"]);
  const [start, append, stop] = slack.journal.calls().filter(({ method }) => method.endsWith("Stream"));
  assert.equal(start?.args["recipient_user_id"], ana.id);
  assert.equal(start.args["recipient_team_id"], "T0WEIRTEAM1");
  assert.match(String(append?.args["chunks"]), /ven\*\* and/);
  assert.match(String(stop?.args["metadata"]), /"key":"answer"/);
  const [answer] = answers();
  assert.deepEqual([answer?.text, answer?.streaming], ["It is **seven** and not eight.", "completed"]);
  assert.equal(answers().length, 1);
});

test("in a direct message's thread no recipient is named, and outside of threads answers are edited", async () => {
  await using scene = await openThread();
  const { slack, ana, platform, piece } = scene;
  const dm = slack.world.openIm(ana);
  const root = slack.world.say(ana, dm, "hello");
  await scene.inbox.received(2);
  const inReplyTo = [`${dm.id}/${root}`];
  const inThread = { ...piece("hi"), channel: { platform: "slack", name: `${dm.id}/${root}` }, inReplyTo };
  await platform.send({ ...inThread, idempotencyKey: "thread" });
  assert.deepEqual(methods(scene), ["chat.startStream"]);
  assert.equal(slack.journal.calls("chat.startStream")[0]?.args["recipient_user_id"], undefined);
  const channel = { platform: "slack", name: dm.id };
  const id = await platform.send({ ...inThread, channel, idempotencyKey: "flat" });
  await platform.edit(id, { ...inThread, channel, idempotencyKey: "flat", text: "hi there", final: true });
  assert.deepEqual(methods(scene), ["chat.startStream", "chat.postMessage", "chat.update"]);
});

test("where several people asked, or who asked is unknown, everybody sees edits", async () => {
  await using scene = await openThread();
  const { slack, general, platform, piece, root } = scene;
  const bob = slack.world.addUser("bob");
  const second = slack.world.say(bob, general, `<@${slack.world.bot.id}> and me?`, { threadTs: root });
  await scene.inbox.received(2);
  const both = [...piece("").inReplyTo, `${general.id}/${second}`];
  await platform.send({ ...piece("you both"), inReplyTo: both });
  await platform.send({ ...piece("who?"), inReplyTo: ["reminder/1/now"], idempotencyKey: "other" });
  assert.deepEqual(methods(scene), ["chat.postMessage", "chat.postMessage"]);
});

test("a text that takes another's place stands there alone in the end", async () => {
  await using scene = await openThread();
  const { platform, piece, whole, answers } = scene;
  const id = await platform.send(piece("Let me look. ```\ncode"));
  await platform.edit(id, piece("It is"));
  assert.equal(answers()[0]?.text, "Let me look. ```\ncode\n\nIt is");
  await platform.edit(id, whole("It is seven."));
  assert.deepEqual(
    answers().map(({ text }) => text),
    ["It is seven."],
  );
  assert.deepEqual(methods(scene), [
    "chat.startStream",
    "chat.appendStream",
    "chat.stopStream",
    "chat.update",
  ]);
});

test("an answer whose end is not what was shown is edited into what it is", async () => {
  await using scene = await openThread();
  const { platform, piece, whole, answers } = scene;
  const id = await platform.send(piece("It is seven and"));
  await platform.edit(id, whole("It is seven … (stopped)"));
  assert.deepEqual(
    answers().map(({ text }) => text),
    ["It is seven … (stopped)"],
  );
});

for (const error of [
  "message_not_in_streaming_state",
  "streaming_mode_mismatch",
  "message_not_owned_by_app",
  "invalid_chunks",
  "a_new_error",
]) {
  test(`an append refused with ${error} is an edit of the same message, and so is all that follows`, async () => {
    await using scene = await openThread();
    const { slack, platform, piece, whole, answers } = scene;
    const id = await platform.send(piece("one "));
    slack.faults.next({ method: "chat.appendStream", fault: "error", error });
    await platform.edit(id, piece("one two "));
    assert.equal(answers()[0]?.text, "one two ");
    await platform.edit(id, whole("one two three"));
    assert.deepEqual(
      answers().map(({ text, ts }) => [text, ts]),
      [["one two three", tsOf(id)]],
    );
  });
}

test("a stream that Slack has ended by itself is completed by an edit", async () => {
  await using scene = await openThread();
  const { slack, general, platform, piece, whole, answers } = scene;
  const id = await platform.send(piece("one "));
  slack.world.expireStream(general, tsOf(id));
  await platform.edit(id, whole("one two"));
  assert.deepEqual(
    answers().map(({ text }) => text),
    ["one two"],
  );
});

for (const error of ["channel_type_not_supported", "missing_scope", "missing_recipient_team_id"]) {
  test(`where no stream can begin (${error}) the answer is posted, and the channel is left alone for a while`, async () => {
    await using scene = await openThread();
    const { slack, platform, piece, whole, answers } = scene;
    slack.faults.next({ method: "chat.startStream", fault: "error", error });
    const id = await platform.send(piece("one"));
    await platform.edit(id, whole("one two"));
    await platform.send({ ...piece("next"), idempotencyKey: "next" });
    assert.deepEqual(methods(scene), [
      "chat.startStream",
      "chat.postMessage",
      "chat.update",
      "chat.postMessage",
    ]);
    assert.deepEqual(
      answers().map(({ text }) => text),
      ["one two", "next"],
    );
  });
}

/** Another process posts the answer again: it stands there once. */
async function anotherAnswers({ slack, whole, answers }: Thread): Promise<void> {
  await using other = openSender(slack);
  const id = await other.send({ ...whole("Quite another one."), mayBeThere: true });
  await other.edit(id, whole("Quite another one."));
  assert.deepEqual(
    answers().map(({ text }) => text),
    ["Quite another one."],
  );
}

for (const fault of ["reset_before", "reset_after"] as const) {
  test(`an append whose answer was lost (${fault}) is neither doubled nor left out`, async () => {
    await using scene = await openThread();
    const { slack, platform, piece, whole, answers } = scene;
    const id = await platform.send(piece("one "));
    slack.faults.next({ method: "chat.appendStream", fault });
    await assert.rejects(platform.edit(id, piece("one two ")), SlackError);
    await platform.edit(id, whole("one two three"));
    assert.deepEqual(
      answers().map(({ text }) => text),
      ["one two three"],
    );
  });

  test(`a stop whose answer was lost (${fault}) is made good`, async () => {
    await using scene = await openThread();
    const { slack, platform, piece, whole, answers } = scene;
    const id = await platform.send(piece("one "));
    slack.faults.next({ method: "chat.stopStream", fault });
    await assert.rejects(platform.edit(id, whole("one two")), SlackError);
    await platform.edit(id, whole("one two"));
    assert.deepEqual(
      answers().map(({ text, streaming }) => [text, streaming]),
      [["one two", "completed"]],
    );
  });

  test(`a start whose answer was lost (${fault}): the answer stands there once, also by another process`, async () => {
    await using scene = await openThread();
    const { slack, platform, piece } = scene;
    slack.faults.next({ method: "chat.startStream", fault });
    await assert.rejects(platform.send(piece("An answer that")), SlackError);
    await anotherAnswers(scene);
  });
}

test("a start whose answer was lost is found, too, once Slack has ended it by itself", async () => {
  await using scene = await openThread();
  const { slack, general, platform, piece, answers } = scene;
  slack.faults.next({ method: "chat.startStream", fault: "reset_after" });
  await assert.rejects(platform.send(piece("An answer that")), SlackError);
  slack.world.expireStream(general, answers()[0]?.ts ?? "");
  await anotherAnswers(scene);
});

test("another process completes the stream of one that was killed, whether it is still open or not", async () => {
  for (const isOpen of [true, false]) {
    await using scene = await openThread();
    const { slack, general, platform, piece, whole, answers } = scene;
    const id = await platform.send(piece("Half of"));
    if (!isOpen) slack.world.expireStream(general, tsOf(id));
    await using other = openSender(slack);
    await other.edit(id, piece("Something"));
    await other.edit(id, whole("Something else."));
    assert.deepEqual(
      answers().map(({ text, ts }) => [text, ts]),
      [["Something else.", tsOf(id)]],
    );
  }
});

test("a reader who presses stop ends the answer, as the command does, and it stays as it is", async () => {
  await using scene = await openThread();
  const { slack, ana, general, platform, piece, whole, answers, inbox, root, lines } = scene;
  const id = await platform.send(piece("one "));
  slack.world.stopStream(ana, general, tsOf(id));
  await slack.journal.until("the command", () => inbox.commands.length === 1);
  await assert.rejects(platform.edit(id, piece("one two ")), SlackError);
  await slack.journal.until("the second", () => inbox.commands.length === 2);
  for (const { name, channel, asker } of inbox.commands)
    assert.deepEqual([name, channel.name, asker.id], ["stop", `${general.id}/${root}`, ana.id]);
  await platform.edit(id, whole("one two … (stopped)"));
  assert.deepEqual(
    answers().map(({ text }) => text),
    ["one "],
  );
  assert.ok(lines.some((line) => line.includes('"answer_stopped_by_reader"')));
  assert.equal(slack.journal.calls("agents.sessions.setStatus")[0]?.args["status"], "active");
});

test("a draft of an answer that never came is ended and deleted", async () => {
  await using scene = await openThread();
  const { platform, piece, answers } = scene;
  const id = await platform.send(piece("one"));
  await platform.remove?.(piece("").channel, id);
  assert.deepEqual(answers(), []);
});

test("so is one that an earlier process has begun, where Slack deletes no open stream", async () => {
  await using scene = await openThread();
  const { slack, platform, piece, answers } = scene;
  const id = await platform.send(piece("one"));
  await using other = openSender(slack);
  slack.faults.next({ method: "chat.delete", fault: "error", error: "streaming_state_conflict" });
  await other.remove?.(piece("").channel, id);
  assert.deepEqual(answers(), []);
});

test("what Slack limits is shown later: a piece with the next one, an end after its wait", async () => {
  await using scene = await openThread();
  const { slack, platform, piece, whole, answers } = scene;
  const limited = { fault: "rate_limited", retryAfterS: 1 } as const;
  const id = await platform.send(piece("one "));
  slack.faults.next({ method: "chat.appendStream", ...limited });
  await platform.edit(id, piece("one two "));
  assert.equal(answers()[0]?.text, "one ");
  slack.faults.next({ method: "chat.stopStream", ...limited });
  await assert.rejects(platform.edit(id, whole("one two three")), { retryAfterMs: 1000 });
  assert.equal(answers()[0]?.text, "one two three");
  await platform.edit(id, whole("one two three"));
  assert.equal(answers()[0]?.streaming, "completed");
  slack.faults.next({ method: "chat.startStream", ...limited });
  await platform.send({ ...piece("next"), idempotencyKey: "next" });
  assert.deepEqual(botTexts(slack, scene.general, scene.root), ["one two three", "next"]);
});

test("more answers than Slack takes streams for are posted and edited", async () => {
  await using scene = await openThread({ server: { limits: { streamsPerMinute: 20 } } });
  const { slack, platform, piece, whole } = scene;
  for (let count = 0; count < 30; count++) {
    const idempotencyKey = `answer ${count}`;
    const id = await platform.send({ ...piece("one"), idempotencyKey });
    await platform.edit(id, { ...whole("one two"), idempotencyKey });
  }
  assert.equal(slack.journal.calls("chat.startStream").length, 17);
  assert.deepEqual(new Set(botTexts(slack, scene.general, scene.root)), new Set(["one two"]));
});

const STEP = {
  id: "call-1",
  title: "Searching earlier messages",
  state: "running",
  isDelegated: false,
} as const;

test("the steps of the work stand in the stream, before there is a text, and until they have ended", async () => {
  await using scene = await openThread();
  const { platform, piece, whole, answers, slack } = scene;
  const id = await platform.send({ ...piece(""), steps: [STEP] });
  assert.equal(answers()[0]?.stream?.display, "timeline");
  await platform.edit(id, { ...piece("It is"), steps: [{ ...STEP, state: "done" }] });
  await platform.edit(id, { ...piece("It is"), steps: [{ ...STEP, state: "done" }] });
  const second = { ...STEP, id: "call-2", title: "github list issues" };
  await platform.edit(id, { ...piece(""), steps: [{ ...STEP, state: "done" }, second] });
  assert.equal(slack.journal.calls("chat.appendStream").length, 2);
  await platform.edit(id, whole("It is seven."));
  const [answer] = answers();
  assert.deepEqual(
    [...(answer?.stream?.tasks.values() ?? [])],
    [
      { title: "Searching earlier messages", status: "complete" },
      { title: "github list issues", status: "complete" },
    ],
  );
  assert.equal(answer?.text, "It is seven.");
});

test("the steps of subagents stand together, as a plan", async () => {
  await using scene = await openThread();
  const { platform, piece, answers } = scene;
  const step = { ...STEP, title: "A subagent at work", isDelegated: true };
  await platform.send({ ...piece(""), steps: [step, { ...step, id: "call-2" }] });
  const stream = answers()[0]?.stream;
  assert.deepEqual([stream?.display, stream?.plan, stream?.tasks.size], ["plan", "Agents at work", 2]);
});

test("where there is no stream no steps are shown, and nothing is posted for them", async () => {
  await using scene = await openThread();
  const { slack, platform, piece, whole, answers } = scene;
  slack.faults.next({ method: "chat.startStream", fault: "error", error: "channel_type_not_supported" });
  await assert.rejects(platform.send({ ...piece(""), steps: [STEP] }), { kind: "rejected" });
  assert.deepEqual(answers(), []);
  const id = await platform.send({ ...piece("It"), steps: [STEP] });
  await platform.edit(id, { ...piece(""), steps: [STEP] });
  await platform.edit(id, whole("It is seven."));
  assert.deepEqual(
    answers().map(({ text }) => text),
    ["It is seven."],
  );
});
