import assert from "node:assert/strict";
import { test } from "node:test";
import { PlatformError } from "../../../src/platforms/platform.ts";
import type { ScriptedFault } from "../../support/slack/faults.ts";
import { outbound } from "../contract.ts";
import { botTexts, openSender, openSlackScene } from "./slack-harness.ts";

/** A post that is made long after it was given up: when `go` is called. */
function late(method = "chat.postMessage"): { readonly fault: ScriptedFault; readonly go: () => void } {
  const { promise, resolve } = Promise.withResolvers<void>();
  return { fault: { method, fault: "late", until: promise }, go: resolve };
}

/** Looks for as long as a busy machine may take until the late post is made. */
const TIMING = { lookAgainMs: Array.from({ length: 300 }, (_, index) => 200 * (index + 1)) };

test("a post that Slack does not answer is given up", async () => {
  await using scene = await openSlackScene({ timing: { postMs: 100 } });
  const { slack, general, platform } = scene;
  slack.faults.next({ method: "chat.postMessage", fault: "hang_before", times: Infinity });
  const message = outbound({ platform, channel: general.id }, { text: "hello" });
  await assert.rejects(platform.send(message), PlatformError);
});

test("a post that is made long after it was given up is taken back: the answer stands there once", async () => {
  await using scene = await openSlackScene({ timing: TIMING });
  const { slack, ana, general, platform } = scene;
  const asked = `${general.id}/${slack.world.say(ana, general, "what is it?")}`;
  const message = outbound({ platform, channel: general.id }, { text: "it is 7", inReplyTo: [asked] });
  const { fault, go } = late();
  slack.faults.next(fault);
  await assert.rejects(platform.send(message), PlatformError);
  const id = await platform.send({ ...message, mayBeThere: true });
  go();
  await slack.journal.until("the late post", () => botTexts(slack, general).length === 2);
  await slack.journal.until("it is taken back", () => botTexts(slack, general).length === 1);
  assert.equal(slack.journal.calls("chat.delete").length, 1);
  assert.notEqual(slack.journal.calls("chat.delete")[0]?.args["ts"], id.split("/")[1]);
});

test("so is a first piece that is made late, beside its whole answer", async () => {
  await using scene = await openSlackScene({ timing: TIMING });
  const { slack, ana, general, platform } = scene;
  const asked = `${general.id}/${slack.world.say(ana, general, "what is it?")}`;
  const piece = outbound(
    { platform, channel: general.id },
    { text: "it", final: false, mayBeInPart: true, inReplyTo: [asked] },
  );
  const { fault, go } = late();
  slack.faults.next(fault);
  await assert.rejects(platform.send(piece), PlatformError);
  await platform.send({ ...piece, text: "it is 7", final: true, mayBeThere: true });
  go();
  await slack.journal.until("the late piece", () => botTexts(slack, general).includes("it"));
  await slack.journal.until("it is taken back", () => botTexts(slack, general).length === 1);
  assert.deepEqual(botTexts(slack, general), ["it is 7"]);
});

test("so is a file that Slack shows late; another answer's file of the same name and size stays", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general } = scene;
  await using killed = openSender(slack, TIMING);
  await using platform = openSender(slack, TIMING);
  const asked = `${general.id}/${slack.world.say(ana, general, "a plan?")}`;
  const file = { name: "plan.md", type: "text/plain", bytes: Buffer.from("Buy salt.") };
  const message = { ...outbound({ platform, channel: general.id }, { text: "", inReplyTo: [asked] }), file };
  const files = (): string[] =>
    slack.messages(general).flatMap(({ ts, files: shown }) => (shown.length > 0 ? [ts] : []));
  const { fault, go } = late("files.completeUploadExternal");
  slack.faults.next(fault);
  await assert.rejects(killed.send(message), PlatformError);
  // The next daemon knows nothing of that upload.
  const id = await platform.send({ ...message, idempotencyKey: "of the next", mayBeThere: true });
  const other = await platform.send({ ...message, idempotencyKey: "another answer" });
  go();
  await slack.journal.until("the late one", () => files().length === 3);
  await slack.journal.until("it is taken back", () => files().length === 2);
  assert.deepEqual(
    files().map((ts) => `${general.id}/${ts}`),
    [id, other],
  );
});

test("where Slack gives no metadata back, the late one is told by its text, and no other answer is taken for it", async () => {
  await using scene = await openSlackScene({ timing: TIMING, server: { limits: { givesMetadata: false } } });
  const { slack, ana, general, platform } = scene;
  const asked = `${general.id}/${slack.world.say(ana, general, "is it?")}`;
  const message = outbound({ platform, channel: general.id }, { text: "Yes & no.", inReplyTo: [asked] });
  const { fault, go } = late();
  slack.faults.next(fault);
  await assert.rejects(platform.send(message), PlatformError);
  await platform.send({ ...message, mayBeThere: true });
  const other = await platform.send({ ...message, idempotencyKey: "another answer" });
  go();
  await slack.journal.until("the late post", () => botTexts(slack, general).length === 3);
  await slack.journal.until("it is taken back", () => botTexts(slack, general).length === 2);
  assert.ok(slack.messages(general).some(({ ts }) => other.endsWith(ts)));
});

test("a post that takes half a minute is waited for, other calls are not", async () => {
  const callMs = 1000;
  await using scene = await openSlackScene({ timing: { callMs } });
  const { slack, general, platform } = scene;
  slack.faults.next({ method: "chat.postMessage", fault: "slow_before", delayMs: 1.5 * callMs });
  const id = await platform.send(outbound({ platform, channel: general.id }, { text: "hello" }));
  assert.equal(slack.journal.calls("chat.postMessage").length, 1);
  slack.faults.next({ method: "chat.update", fault: "hang_before" });
  await assert.rejects(
    platform.edit(id, outbound({ platform, channel: general.id }, { text: "hello you" })),
    PlatformError,
  );
});

test("where Slack gives no metadata back, an answer with the same words that is just being posted is not taken for the late one", async () => {
  await using scene = await openSlackScene({
    timing: { lookAgainMs: [300] },
    server: { limits: { givesMetadata: false } },
  });
  const { slack, ana, general, platform } = scene;
  const asked = `${general.id}/${slack.world.say(ana, general, "is it?")}`;
  const message = outbound({ platform, channel: general.id }, { text: "Sorry.", inReplyTo: [asked] });
  slack.faults.next({ method: "chat.postMessage", fault: "reset_before" });
  await assert.rejects(platform.send(message), PlatformError);
  await platform.send({ ...message, mayBeThere: true });
  // Slack has taken it, and says so only behind the look.
  const { promise: until, resolve: go } = Promise.withResolvers<void>();
  slack.faults.next({ method: "chat.postMessage", fault: "slow_after", until });
  const sending = platform.send({ ...message, idempotencyKey: "another answer" });
  await slack.journal.until("both", () => botTexts(slack, general).length === 2);
  await slack.journal.until("the look", () => slack.journal.calls("conversations.history").length === 2);
  await slack.journal.until(
    "its answer",
    () => slack.journal.calls("conversations.history")[1]?.outcome === "answered",
  );
  go();
  await sending;
  assert.deepEqual(botTexts(slack, general), ["Sorry.", "Sorry."]);
  assert.equal(slack.journal.calls("chat.delete").length, 0);
});
