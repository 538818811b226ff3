// proves: src/platforms/slack/inbound/visible-parts.ts, src/platforms/slack/inbound/blocks.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { messageId } from "../../../src/platforms/slack/address.ts";
import type { SlackServer } from "../../support/slack/server.ts";
import type { SlackChannel, SlackUser } from "../../support/slack/model.ts";
import { openSlackScene, type SlackScene } from "../slack/slack-harness.ts";
import { SLACK_SAMPLES } from "./slack.ts";

const EXPECTED = Object.fromEntries(SLACK_SAMPLES.map(({ name, seen }) => [name, seen]));

interface People {
  readonly ana: SlackUser;
  readonly bot: SlackUser;
}

/** Says each sample. @returns the messages' ids */
function sayAll({ world }: SlackServer, channel: SlackChannel, { ana, bot }: People): string[] {
  return SLACK_SAMPLES.map(({ byBot, text = "", raw }) =>
    world.say(byBot === true ? bot : ana, channel, text, { raw }),
  );
}

/** What was read of each message, by the samples' names. */
function readOf(
  { inbox, general }: SlackScene,
  stamps: readonly string[],
  type: "message" | "edit",
): Record<string, string> {
  const texts = inbox.events.flatMap((event) =>
    event.type === type ? [[event.id, event.text] as const] : [],
  );
  const byId = new Map(texts);
  return Object.fromEntries(
    SLACK_SAMPLES.map(({ name }, index) => [
      name,
      byId.get(messageId(general.id, stamps[index] ?? "")) ?? "not read",
    ]),
  );
}

test("all that people see in a message is read live", async () => {
  await using scene = await openSlackScene();
  const bot = scene.slack.world.addUser("ci", { isBot: true });
  const stamps = sayAll(scene.slack, scene.general, { ana: scene.ana, bot });
  await scene.inbox.received(SLACK_SAMPLES.length);
  assert.deepEqual(readOf(scene, stamps, "message"), EXPECTED);
});

test("all that people see in a message is read of an edit", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, inbox } = scene;
  const stamps = SLACK_SAMPLES.map(({ name }) => slack.world.say(ana, general, `before ${name}`));
  await inbox.received(SLACK_SAMPLES.length);
  const edited = SLACK_SAMPLES.map(({ text = "", raw }) => ({ text, raw }));
  for (const [index, { text, raw }] of edited.entries())
    slack.world.editRaw(general, stamps[index] ?? "", text, raw);
  await inbox.received(2 * SLACK_SAMPLES.length);
  assert.deepEqual(readOf(scene, stamps, "edit"), EXPECTED);
});

test("all that people see in a message is read by catch-up", async () => {
  await using scene = await openSlackScene({ server: { retryDelaysMs: [] } });
  const { slack, ana, general, inbox } = scene;
  const bot = slack.world.addUser("ci", { isBot: true });
  slack.deliveries.dropNext(SLACK_SAMPLES.length + 1);
  const first = slack.world.say(ana, general, "before");
  const stamps = sayAll(slack, general, { ana, bot });
  const channel = { platform: "slack", name: general.id };
  inbox.gaps = [
    { channel, kind: "channel", workspace: "T0WEIRTEAM1", afterId: messageId(general.id, first) },
  ];
  slack.sockets.disconnect("warning");
  await inbox.received(SLACK_SAMPLES.length);
  assert.deepEqual(readOf(scene, stamps, "message"), EXPECTED);
});

test("a file of another workspace comes as its id, and Slack is asked what it is", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, general, inbox } = scene;
  const { id } = slack.world.addFile(ana, "notes.txt", "buy salt");
  const stub = (file: string): object => ({ id: file, mode: "file_access", file_access: "check_file_info" });
  slack.world.say(ana, general, "read this", {
    raw: { subtype: "file_share", files: [stub(id), stub("F0GONE")] },
  });
  await inbox.received(1);
  const label = "[file notes.txt, text/plain, 8 bytes]";
  assert.deepEqual(inbox.said, [
    `Ana: read this\n${label}\n\`\`\`\nbuy salt\n\`\`\`\n[file F0GONE, unknown type, 0 bytes]`,
  ]);
});

test("a mention in blocks alone is one", async () => {
  await using scene = await openSlackScene();
  const { slack, general, inbox } = scene;
  const bot = slack.world.addUser("ci", { isBot: true });
  const blocks = [{ type: "section", text: { type: "mrkdwn", text: `<@${slack.world.bot.id}> look` } }];
  slack.world.say(bot, general, "", { raw: { blocks } });
  await inbox.received(1);
  const [event] = inbox.events;
  assert.equal(event?.type === "message" && event.addressed, true);
});
