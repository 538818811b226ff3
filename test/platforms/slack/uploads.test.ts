// proves: src/platforms/slack/outbound/uploader.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { outbound } from "../contract.ts";
import { openSlackScene, type SlackScene } from "./slack-harness.ts";

const FILE = { name: "plan.md", type: "text/plain", bytes: Buffer.from("Buy salt – now.") };

async function sent({ slack, ana, general, platform }: SlackScene, threadTs?: string) {
  const asked = slack.world.say(ana, general, "a plan?");
  const channel = threadTs === undefined ? general.id : `${general.id}/${threadTs}`;
  const message = outbound({ platform, channel }, { text: "", inReplyTo: [`${general.id}/${asked}`] });
  return { message: { ...message, file: FILE }, asked };
}

function filesIn({ slack, general }: SlackScene): string[] {
  return slack
    .messages(general)
    .flatMap(({ files, threadTs }) =>
      files.map(({ name, content }) => `${name} ${threadTs ?? "-"} ${content.toString()}`),
    );
}

test("a file is uploaded and shared, and its message is known", async () => {
  await using scene = await openSlackScene();
  const { platform, slack, general } = scene;
  const { message } = await sent(scene);
  const id = await platform.send(message);
  assert.deepEqual(filesIn(scene), ["plan.md - Buy salt – now."]);
  assert.equal(id, `${general.id}/${slack.messages(general).at(-1)?.ts}`);
  assert.equal(await platform.send(message), id);
  assert.equal(filesIn(scene).length, 1);
});

test("a file whose acknowledgement was lost is shared once: by the same adapter, and by the next", async () => {
  await using scene = await openSlackScene();
  const { platform, slack } = scene;
  const { message } = await sent(scene);
  slack.faults.next({ method: "files.completeUploadExternal", fault: "reset_after" });
  await assert.rejects(platform.send(message));
  const id = await platform.send(message);
  assert.equal(filesIn(scene).length, 1);
  assert.match(id, /\/\d+\.\d+$/);
  const { message: second } = await sent(scene);
  slack.faults.next({ method: "files.completeUploadExternal", fault: "reset_after" });
  await assert.rejects(platform.send({ ...second, idempotencyKey: "of a killed daemon" }));
  await platform.send({ ...second, idempotencyKey: "of the next", mayBeThere: true });
  assert.equal(filesIn(scene).length, 2);
});

test("what fails before the file is shared leaves nothing, and is tried again", async () => {
  await using scene = await openSlackScene();
  const { platform, slack } = scene;
  const { message } = await sent(scene);
  slack.faults.next(
    { method: "files.getUploadURLExternal", fault: "status", status: 500 },
    { method: "files.completeUploadExternal", fault: "status", status: 500 },
  );
  await assert.rejects(platform.send(message));
  await assert.rejects(platform.send(message));
  assert.equal(filesIn(scene).length, 0);
  await platform.send(message);
  assert.equal(filesIn(scene).length, 1);
});
