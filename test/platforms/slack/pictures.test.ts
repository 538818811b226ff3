import assert from "node:assert/strict";
import { test } from "node:test";
import type { Receipt } from "../../../src/core/message.ts";
import { messageId } from "../../../src/platforms/slack/address.ts";
import { openSlackScene } from "./slack-harness.ts";

test("of a gap full of pictures only a few are in memory at a time", async () => {
  await using scene = await openSlackScene({ server: { retryDelaysMs: [] } });
  const { slack, ana, general, inbox } = scene;
  const first = slack.world.say(ana, general, "first");
  await inbox.received(1);
  const gate = Promise.withResolvers<void>();
  const receive = inbox.receive.bind(inbox);
  inbox.receive = async (event): Promise<Receipt> => {
    await gate.promise;
    return receive(event);
  };
  inbox.gaps = [
    {
      channel: { platform: "slack", name: general.id },
      kind: "channel",
      workspace: "T0WEIRTEAM1",
      afterId: messageId(general.id, first),
    },
  ];
  slack.deliveries.dropNext(1000);
  const png = Buffer.from("89504e470d0a1a0a", "hex");
  const files = Array.from({ length: 30 }, (_, index) =>
    slack.world.addFile(ana, `${index}.png`, png, { mimetype: "image/png" }),
  );
  for (const file of files) slack.world.say(ana, general, "look", { files: [file] });
  slack.sockets.disconnect("warning");
  await slack.journal.until("the first pictures", () => slack.journal.downloads.length >= 4);
  // Time enough for the others, if anybody asked for them.
  await new Promise((resolve) => setTimeout(resolve, 50));
  assert.deepEqual(
    new Set(slack.journal.downloads.map(({ fileId }) => fileId)),
    new Set(files.slice(0, 4).map(({ id }) => id)),
  );
  gate.resolve();
  await slack.journal.until("all of it", () => inbox.closed.length >= 1);
  assert.equal(slack.journal.downloads.length, 30);
  const pictures = inbox.events.flatMap((event) => (event.type === "message" ? (event.images ?? []) : []));
  assert.deepEqual(
    pictures.map(({ name }) => name),
    files.map(({ name }) => name),
  );
});
