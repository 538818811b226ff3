// proves: src/channel/actor.ts, src/compactor/compactor.ts, src/channel/renewal.ts
// A compaction that runs while its agent changes: nobody waits for it, and its range is covered all the same.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ask,
  checkFold,
  compaction,
  hold,
  openScene,
  quiet,
  script,
  summariserAsked,
  summariserRequests,
} from "../../support/compaction.ts";
import { BACKGROUND, fillTo } from "../../support/full-channel.ts";
import { text } from "../../support/model-behaviours.ts";

const SUMMARY = "Ann measures the river each morning; the readings are in the green book.";
const CONFIG = (words: string): string => `
[llm]
max_retries = 0
[[agents]]
id = "main"
name = "Weir"
model = "test-model"
compactor_model = "summariser"
context_window = 8192
max_output_tokens = 512
generation_reserve = 512
instructions = "${words}"
[agents.compaction]
write_ahead = false
`;

test("with a message that waits, the compaction is left and begun anew, and the reply does not wait for it", async () => {
  await using scene = await openScene();
  const held = hold();
  script(scene.server, (_, index) => (index === 0 ? held.behaviour : text(SUMMARY)));
  await fillTo(scene, "busy", BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, scene.server, "busy", "are you there?");
  await summariserAsked(scene.server, 1);
  assert.equal((await weir.reload(CONFIG("Speak of mills."))).kind, "reloaded");
  const request = await ask(weir, scene.server, "busy", "what is the level?");
  assert.match(request.body.messages[0]?.content ?? "", /Speak of mills\./);
  await compaction(weir, "busy", "committed");
  held.release(text(SUMMARY));
  await quiet(weir, "busy");
  await checkFold(weir, "busy");
});

test("where nobody waits it goes on to its end with what it began with, and no other one begins", async () => {
  await using scene = await openScene();
  const held = hold();
  script(scene.server, () => held.behaviour);
  await fillTo(scene, "calm", BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, scene.server, "calm", "are you there?");
  await summariserAsked(scene.server, 1);
  assert.equal((await weir.reload(CONFIG("Speak of boats."))).kind, "reloaded");
  held.release(text(SUMMARY));
  await compaction(weir, "calm", "committed");
  assert.equal(summariserRequests(scene.server).length, 1);
  const request = await ask(weir, scene.server, "calm", "what is the level?");
  assert.match(request.body.messages[0]?.content ?? "", /Speak of boats\./);
  await quiet(weir, "calm");
  await checkFold(weir, "calm");
});

test("whoever looks what is due, as the end of a reload does, ends no compaction: nobody waits for the channel", async () => {
  await using scene = await openScene();
  const held = hold();
  script(scene.server, () => held.behaviour);
  await fillTo(scene, "looked", BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, scene.server, "looked", "are you there?");
  await summariserAsked(scene.server, 1);
  assert.equal((await weir.reload(CONFIG("Speak of boats."))).kind, "reloaded");
  for (let look = 0; look < 10; look++) await weir.daemon.takeUp("test");
  assert.equal(summariserRequests(scene.server).length, 1);
  held.release(text(SUMMARY));
  await compaction(weir, "looked", "committed");
  assert.equal(summariserRequests(scene.server).length, 1);
  await quiet(weir, "looked");
  await checkFold(weir, "looked");
});

test("what is due by the new thresholds is done behind the compaction that ran, and nobody has to say anything", async () => {
  await using scene = await openScene();
  const held = hold();
  script(scene.server, (_, index) => (index === 0 ? held.behaviour : text(SUMMARY)));
  await fillTo(scene, "lowered", BACKGROUND);
  await using weir = await scene.start();
  await ask(weir, scene.server, "lowered", "are you there?");
  await summariserAsked(scene.server, 1);
  const lower = "max_raw_messages = 10\nkeep_messages = 4\n";
  assert.equal((await weir.reload(CONFIG("Speak of boats.") + lower)).kind, "reloaded");
  await weir.daemon.takeUp("test");
  held.release(text(SUMMARY));
  await summariserAsked(scene.server, 2);
  await quiet(weir, "lowered");
  await checkFold(weir, "lowered");
});
