// proves: src/platforms/slack/inbound/payload.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import type { InboundSound } from "../../../src/platforms/platform.ts";
import { opus } from "../../support/sounds.ts";
import { openSlackScene, type SlackScene } from "./slack-harness.ts";

const CLIP = {
  subtype: "slack_audio",
  media_display_type: "audio",
  duration_ms: 2300,
  transcription: { status: "processing" },
};
const HEARD = {
  status: "complete",
  locale: "en-US",
  preview: { content: "Buy salt.", has_more: false },
};

function clip({ slack, ana }: SlackScene, raw: object = CLIP) {
  return slack.world.addFile(ana, "audio_message.ogg", opus(), { mimetype: "audio/ogg", raw: { ...raw } });
}

function textsOf({ inbox }: SlackScene): string[] {
  return inbox.events.flatMap((event) => ("text" in event ? [`${event.type} ${event.text}`] : []));
}

test("a clip has the words that Slack has heard, also when they come later", async () => {
  await using scene = await openSlackScene();
  const { slack, ana, inbox } = scene;
  const dm = slack.world.openIm(ana);
  slack.world.say(ana, dm, "", { files: [clip(scene, { ...CLIP, transcription: HEARD })] });
  const ts = slack.world.say(ana, dm, "", { files: [clip(scene)] });
  await inbox.received(2);
  const [file] = [clip(scene, { ...CLIP, transcription: HEARD })];
  slack.world.editRaw(dm, ts, "", { files: [{ ...recordOf(file), id: "F1" }] });
  await inbox.received(3);
  const named = "[voice message audio_message.ogg, 3 s, 48 bytes";
  assert.deepEqual(textsOf(scene), [
    `message ${named}, transcript]\nBuy salt.`,
    `message ${named}]`,
    `edit ${named}, transcript]\nBuy salt.`,
  ]);
});

/** Its record as an event has it. */
function recordOf({ name, mimetype, size, raw }: ReturnType<typeof clip>): object {
  return { name, mimetype, size, ...raw };
}

test("where a model transcribes, it is sent the clip; an odd field costs nothing else", async () => {
  const heard: InboundSound[] = [];
  await using scene = await openSlackScene({
    before: (_, inbox) => {
      inbox.transcripts = {
        of: async (where, author, sound) => {
          heard.push(sound);
          return Promise.resolve({ kind: "words", text: `${author.name} in a ${where.kind}` });
        },
      };
    },
  });
  const { slack, ana, inbox } = scene;
  const dm = slack.world.openIm(ana);
  const odd = { ...CLIP, duration_ms: "long", transcription: { status: 7, preview: { content: [] } } };
  slack.world.say(ana, dm, "look", {
    files: [clip(scene, { ...CLIP, transcription: HEARD }), clip(scene, odd)],
  });
  await inbox.received(1);
  assert.deepEqual(textsOf(scene), [
    "message look\n[voice message audio_message.ogg, 3 s, 48 bytes, transcript]\nAna in a dm\n" +
      "[voice message audio_message.ogg, audio/ogg; codecs=opus, 48 bytes, transcript]\nAna in a dm",
  ]);
  assert.deepEqual(
    heard.map(({ durationS }) => durationS),
    [2.3, null],
  );
});
