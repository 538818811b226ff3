import assert from "node:assert/strict";
import { test } from "node:test";
import { openSlackScene, type SlackScene } from "./slack-harness.ts";

/** Ana in a channel in which only mentions are answered, and nothing else is context. */
async function openQuiet(known: readonly string[] = []): Promise<SlackScene> {
  const scene = await openSlackScene();
  scene.inbox.policy = ({ channel }) => ({
    isBound: true,
    listens: false,
    answersAll: false,
    isKnown: known.includes(channel.name),
  });
  return scene;
}

function textsOf({ inbox }: SlackScene): string[] {
  return inbox.events.flatMap((event) => ("text" in event ? [event.text] : []));
}

test("files of what nobody reads are only named; those of what is asked are read", async () => {
  await using scene = await openQuiet();
  const { slack, ana, general, inbox } = scene;
  const files = [slack.world.addFile(ana, "notes.txt", "buy salt")];
  const dm = slack.world.openIm(ana);
  const root = slack.world.say(ana, general, "chatter", { files });
  slack.world.say(ana, general, "chatter below", { files, threadTs: root });
  await inbox.received(2);
  assert.equal(slack.journal.downloads.length, 0);
  slack.world.say(ana, general, `<@${slack.world.bot.id}> look`, { files });
  slack.world.say(ana, dm, "and look", { files });
  await inbox.received(4);
  assert.equal(slack.journal.downloads.length, 2);
  assert.deepEqual(
    textsOf(scene).map((text) => [/^\[file notes\.txt/m.test(text), text.includes("buy salt")]),
    [
      [true, false],
      [true, false],
      [true, true],
      [true, true],
    ],
  );
});

test("in a thread that the log knows, or in which it was asked just now, files are read", async () => {
  const known: string[] = [];
  await using scene = await openQuiet(known);
  const { slack, ana, general, inbox } = scene;
  const files = [slack.world.addFile(ana, "notes.txt", "buy salt")];
  const [first, second] = [slack.world.say(ana, general, "one"), slack.world.say(ana, general, "two")];
  known.push(`${general.id}/${first}`);
  slack.world.say(ana, general, "here", { files, threadTs: first });
  slack.world.say(ana, general, `<@${slack.world.bot.id}> wait`, { threadTs: second });
  slack.world.say(ana, general, "and here", { files, threadTs: second });
  await inbox.received(5);
  assert.equal(slack.journal.downloads.length, 2);
});

test("an edit has files read where what it changes was read: a question stays one without its mention", async () => {
  await using scene = await openQuiet();
  const { slack, ana, general, inbox } = scene;
  const files = [slack.world.addFile(ana, "notes.txt", "buy salt")];
  const chatter = slack.world.say(ana, general, "chatter", { files });
  const asked = slack.world.say(ana, general, `<@${slack.world.bot.id}> look`, { files });
  await inbox.received(2);
  slack.world.edit(general, chatter, "chatted");
  slack.world.edit(general, asked, "looked");
  await inbox.received(4);
  const [, , ...changed] = textsOf(scene);
  assert.deepEqual(
    changed.map((text) => [text.split("\n")[0], text.includes("buy salt")]),
    [
      ["chatted", false],
      ["looked", true],
    ],
  );
});
