import assert from "node:assert/strict";
import { test } from "node:test";
import type { InboundEvent, InboundMessage } from "../../../src/core/message.ts";
import { WeirError } from "../../../src/core/errors.ts";
import { outbound } from "../contract.ts";
import { botTexts, openSender, openSlackScene, type SlackScene } from "./slack-harness.ts";

function messagesOf({ inbox }: SlackScene): readonly InboundMessage[] {
  return inbox.events.filter((event): event is InboundMessage => event.type === "message");
}

async function until(scene: SlackScene, what: string, count: number): Promise<readonly InboundEvent[]> {
  await scene.slack.journal.until(what, () => scene.inbox.events.length >= count);
  await scene.slack.deliveries.idle();
  return scene.inbox.events;
}

test("a mention arrives once, with names, though it comes as message and as app_mention", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general } = scene;
  const bob = slack.world.addUser("bob", { displayName: "Bob B" });
  const text = `<@${slack.world.bot.id}> ask <@${bob.id}> in <#${general.id}|> a &lt; b &amp;&amp; <https://x.test/a|x>`;
  slack.deliveries.duplicateNext(2);
  const ts = slack.world.say(ana, general, text);
  await until(scene, "the mention", 1);
  assert.equal(slack.journal.envelopes("events_api").length, 4);
  assert.deepEqual(scene.inbox.events, [
    {
      type: "message",
      channel: { platform: "slack", name: general.id },
      kind: "channel",
      workspace: "T0WEIRTEAM1",
      place: { workspace: "Weir test", channel: "general", parent: null },
      isPrivate: false,
      id: `${general.id}/${ts}`,
      author: { id: ana.id, name: "Ana", isBot: false },
      text: "@weir ask @Bob B in #general a < b && [x](https://x.test/a)",
      at: new Date(Math.round(Number(ts) * 1000)),
      addressed: true,
      mentions: ["weir", "Bob B"],
    },
  ]);
  assert.ok(slack.journal.acks.every(({ accepted }) => accepted));
});

test("a channel, its threads and direct messages are channels of their own", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general } = scene;
  const dm = slack.world.openIm(ana);
  const root = slack.world.say(ana, general, "root");
  slack.world.say(ana, general, "reply", { threadTs: root });
  slack.world.say(ana, general, "both", { threadTs: root, broadcast: true });
  const dmTs = slack.world.say(ana, dm, "psst");
  slack.world.say(ana, dm, "deeper", { threadTs: dmTs });
  await until(scene, "five messages", 5);
  const seen = messagesOf(scene).map(({ text, channel, kind, addressed, place }) => [
    text,
    channel.name,
    kind,
    addressed,
    place?.parent?.id ?? null,
  ]);
  const byText = seen.toSorted((a, b) => String(a[0]).localeCompare(String(b[0])));
  assert.deepEqual(byText, [
    ["both", `${general.id}/${root}`, "thread", false, general.id],
    ["deeper", `${dm.id}/${dmTs}`, "dm", true, dm.id],
    ["psst", dm.id, "dm", true, null],
    ["reply", `${general.id}/${root}`, "thread", false, general.id],
    ["root", general.id, "channel", false, null],
  ]);
});

test("a reply under a message of the bot's is meant for it; its own words and Slack's notices are not heard", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, platform } = scene;
  const id = await platform.send(outbound({ platform, channel: general.id }, { text: "hello" }));
  slack.world.join(slack.world.addUser("cyd"), general);
  slack.world.say(ana, general, "thanks", { threadTs: id.split("/")[1] ?? "" });
  await until(scene, "the reply", 1);
  assert.deepEqual(
    messagesOf(scene).map(({ text, addressed, kind }) => [text, addressed, kind]),
    [["thanks", true, "thread"]],
  );
});

test("edits and deletions arrive in order and without a channel; previews are none", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general } = scene;
  const ts = slack.world.say(ana, general, "see https://x.test &amp; more");
  slack.world.unfurl(general, ts, "https://x.test");
  slack.world.edit(general, ts, "look &lt;there&gt;");
  slack.world.remove(general, ts);
  const events = await until(scene, "three events", 3);
  assert.deepEqual(
    events.map((event) => [event.type, event.id, "text" in event ? event.text : null]),
    [
      ["message", `${general.id}/${ts}`, "see https://x.test & more"],
      ["edit", `${general.id}/${ts}`, "look <there>"],
      ["deletion", `${general.id}/${ts}`, null],
    ],
  );
  assert.ok(events.every((event) => event.type === "message" || event.channel === undefined));
});

test("a reaction is context in the channel or thread of its message, and is taken back", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, platform } = scene;
  const root = slack.world.say(ana, general, "root");
  const thread = `${general.id}/${root}`;
  const id = await platform.send(outbound({ platform, channel: thread }, { text: "an answer" }));
  const ts = id.split("/")[1] ?? "";
  slack.world.react(ana, general, ts, "tada");
  slack.world.unreact(ana, general, ts, "tada");
  const events = await until(scene, "the reaction", 3);
  const [, reaction, removal] = events;
  assert.equal(reaction?.type, "message");
  assert.equal(reaction.channel.name, thread);
  assert.equal(reaction.text, "reacted with 🎉");
  assert.equal(reaction.replyTo, id);
  assert.equal(reaction.addressed, false);
  assert.equal(reaction.id, `reaction/${id}/${ana.id}/tada`);
  assert.deepEqual([removal?.type, removal?.id], ["deletion", reaction.id]);
});

test("what could not be stored is not acknowledged, and comes again", async () => {
  // It may come more often where a busy machine acknowledges it late.
  const retryDelaysMs = Array.from({ length: 20 }, () => 20);
  await using scene = await openSlackScene({ server: { ackTimeoutMs: 300, retryDelaysMs } });
  const { slack, ana, general, inbox } = scene;
  inbox.failures.push(new AwayError("The database is away."));
  slack.world.say(ana, general, "hello");
  await until(scene, "the message", 1);
  const [first, ...others] = slack.journal.envelopes("events_api").map(({ envelopeId }) => envelopeId);
  const acknowledged = new Set(slack.journal.acks.map(({ envelopeId }) => envelopeId));
  assert.ok(first !== undefined && !acknowledged.has(first));
  assert.ok(others.some((id) => acknowledged.has(id)));
  assert.deepEqual(slack.journal.givenUp, []);
  // It is fetched, too: the log takes it once.
  assert.equal(new Set(inbox.said).size, 1);
});

class AwayError extends WeirError {
  readonly retryable = true;
}

test("files of a bound channel are read with the token, of an unbound one only named", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, inbox } = scene;
  const other = slack.world.addChannel({ name: "other", members: [ana] });
  const bound = inbox.policy;
  inbox.policy = (where) => ({ ...bound(where), isBound: where.channel.name === general.id });
  const png = Buffer.from("89504e470d0a1a0a", "hex");
  const files = [
    slack.world.addFile(ana, "notes.txt", "buy salt"),
    slack.world.addFile(ana, "a.png", png, { mimetype: "image/png" }),
  ];
  slack.world.say(ana, general, "look", { files });
  await until(scene, "the files", 1);
  slack.world.say(ana, other, "and here", { files });
  await until(scene, "the second message", 2);
  const [first, second] = messagesOf(scene);
  assert.equal(
    first?.text,
    "look\n[file notes.txt, text/plain, 8 bytes]\n```\nbuy salt\n```\n[image a.png, image/png, 8 bytes]",
  );
  assert.deepEqual(
    first.images?.map(({ name, type, bytes }) => [name, type, Buffer.from(bytes).equals(png)]),
    [["a.png", "image/png", true]],
  );
  assert.equal(second?.images, undefined);
  assert.match(second?.text ?? "", /^and here\n\[file notes.txt/);
  assert.equal(slack.journal.downloads.length, 2);
});

test("each name is asked for once", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general } = scene;
  for (let count = 0; count < 30; count++) slack.world.say(ana, general, `message ${count}`);
  await until(scene, "30 messages", 30);
  assert.deepEqual(
    messagesOf(scene).map(({ text }) => text),
    Array.from({ length: 30 }, (_, count) => `message ${count}`),
  );
  for (const method of ["users.info", "conversations.info", "auth.test"])
    assert.equal(slack.journal.calls(method).length, 1, method);
});

test("a person's id stands for a name that Slack does not tell", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general } = scene;
  slack.faults.next({ method: "users.info", fault: "error", error: "internal_error" });
  slack.world.say(ana, general, "hello");
  await until(scene, "the message", 1);
  assert.deepEqual(messagesOf(scene)[0]?.author, { id: ana.id, name: ana.id, isBot: false });
});

test("people of other workspaces and guests are marked in the log, and are mentioned by their names", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, platform } = scene;
  const profile = { display_name: "Cleo", real_name: "Cleo Mill", name: "cleo", is_restricted: false };
  const raw = { user_team: "T0OTHERTEAM", source_team: "T0OTHERTEAM", user_profile: profile };
  const bea = slack.world.addUser("bea");
  slack.faults.next({ method: "users.info", fault: "error", error: "user_not_found", times: 2 });
  slack.world.say(ana, general, "hello", { raw });
  await until(scene, "the message", 1);
  slack.world.say(bea, general, "hello", {
    raw: { user_profile: { ...profile, display_name: "Bea", is_restricted: true } },
  });
  await until(scene, "both", 2);
  assert.deepEqual(
    messagesOf(scene).map(({ author }) => author.name),
    ["Cleo (other workspace)", "Bea (guest)"],
  );
  await platform.send(outbound({ platform, channel: general.id }, { text: "@Cleo and @Bea" }));
  assert.equal(slack.messages(general).at(-1)?.text, `<@${ana.id}> and <@${bea.id}>`);
});

test("an answer mentions people whom it has met by their names, and nobody else", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, platform } = scene;
  slack.world.say(ana, general, "hello");
  await until(scene, "the message", 1);
  const text = "@Ana, **hi** <!channel> <@U0BAD> @here";
  await platform.send(outbound({ platform, channel: general.id }, { text }));
  assert.equal(
    slack.messages(general).at(-1)?.text,
    `<@${ana.id}>, *hi* &lt;!channel&gt; &lt;@U0BAD&gt; @here`,
  );
});

test("answers go to the thread, reactions and removals to their message; the sign is shown in threads", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, platform } = scene;
  const root = slack.world.say(ana, general, "root");
  const channel = { platform: "slack", name: `${general.id}/${root}` };
  platform.showTyping?.(channel, [], true);
  platform.showTyping?.(channel, [], true);
  await slack.journal.until("the sign", () => slack.statuses.size === 1);
  assert.equal(slack.journal.calls("assistant.threads.setStatus").length, 1);
  platform.showTyping?.({ platform: "slack", name: general.id }, [], true);
  await slack.journal.until(
    "it is known",
    () => slack.journal.calls("assistant.threads.setStatus")[0]?.outcome === "answered",
  );
  const id = await platform.send(outbound({ platform, channel: channel.name }, { text: "draft" }));
  assert.deepEqual(botTexts(slack, general, root), ["draft"]);
  await platform.react?.(channel, `${general.id}/${root}`, "👀");
  await platform.react?.(channel, `${general.id}/${root}`, "👀");
  assert.deepEqual([...(slack.messages(general)[0]?.reactions.keys() ?? [])], ["eyes"]);
  await platform.remove?.(channel, id);
  await platform.remove?.(channel, id);
  assert.deepEqual(botTexts(slack, general, root), []);
});

test("the sign goes where nothing comes of it, and is not asked for again where the app may not", async () => {
  await using scene = await openSlackScene();
  const { slack, platform } = scene;
  const channel = { platform: "slack", name: `${scene.general.id}/1763712000.000100` };
  platform.showTyping?.(channel, [], true);
  await slack.journal.until("the sign", () => slack.statuses.get(channel.name) === "is thinking…");
  await slack.journal.until("no sign", () => {
    platform.showTyping?.(channel, [], false);
    return slack.statuses.get(channel.name) === "";
  });
  const method = "assistant.threads.setStatus";
  slack.faults.next({ method, fault: "error", error: "not_allowed" });
  platform.showTyping?.(channel, [], true);
  await slack.journal.until("the refusal", () => slack.faults.pending === 0);
  const calls = slack.journal.calls(method).length;
  platform.showTyping?.(channel, [], false);
  platform.showTyping?.(channel, [], true);
  await platform.send(outbound({ platform, channel: channel.name }, { text: "hi" }));
  assert.equal(slack.journal.calls(method).length, calls);
});

test("a post whose answer was lost is found by its key, also by another process and among many", async () => {
  await using scene = await openSlackScene({ server: { limits: { pageSize: 3 } } });
  const { slack, ana, general, platform } = scene;
  const asked = `${general.id}/${slack.world.say(ana, general, "question")}`;
  const message = outbound({ platform, channel: general.id }, { text: "once", inReplyTo: [asked] });
  slack.faults.next({ method: "chat.postMessage", fault: "reset_after" });
  await assert.rejects(platform.send(message));
  for (let count = 0; count < 7; count++) slack.world.say(ana, general, `chatter ${count}`);
  // Another process knows no keys.
  await using other = openSender(slack);
  const id = await other.send({ ...message, mayBeThere: true });
  assert.deepEqual(botTexts(slack, general), ["once"]);
  assert.equal(slack.messages(general)[1]?.ts, id.split("/")[1]);
});

test("a file that is taken out of a message goes from its text", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, inbox } = scene;
  const file = slack.world.addFile(ana, "plan.txt", "at noon");
  slack.world.say(ana, general, "see", { files: [file] });
  await until(scene, "the message", 1);
  const [said] = slack.journal.envelopes("events_api").map(({ payload }) => payload);
  const before = Object(said?.["event"]);
  const event = {
    type: "message",
    subtype: "message_changed",
    channel: general.id,
    event_ts: `${Math.ceil(Date.now() / 1000)}.000100`,
    message: { ...before, files: [], subtype: undefined },
    previous_message: before,
  };
  slack.deliveries.send({ ...said, event_id: "Ev0FILEGONE", event });
  await until(scene, "the change", 2);
  const texts = inbox.events.map((one) => ("text" in one ? one.text : ""));
  assert.match(texts[0] ?? "", /at noon/);
  assert.equal(texts[1], "see");
});

test("who answers a channel is not decided by a name that Slack did not tell just then", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general } = scene;
  slack.faults.next({ method: "conversations.info", fault: "status", status: 503 });
  slack.world.say(ana, general, "hello");
  await until(scene, "the message", 1);
  assert.deepEqual(
    messagesOf(scene).map(({ place }) => place?.channel),
    ["general"],
  );
});
