// proves: src/channel/turns/turn-recall.ts, src/memory/recall.ts, src/turn/first-recall.ts
// What a message replies to, and who asks of themselves, count in what is looked up for its turn.
import assert from "node:assert/strict";
import { test } from "node:test";
import { ANN, authorOf, BEN } from "../../support/commands.ts";
import { indexAll } from "../../support/covered.ts";
import {
  agentRequests,
  compactions,
  openScene,
  quiet,
  reading,
  said,
  type Scene,
  script,
} from "../../support/compaction.ts";
import { text } from "../../support/model-behaviours.ts";
import type { TestWeir } from "../../support/weir.ts";

const WORDS: Readonly<Record<number, string>> = {
  4: "the contract of Falkenstein runs until the regatta",
  9: "the price is on the blue list",
  14: "Falkenstein asks for ninety ducats a month",
  17: "the text of the longboat is kept no longer",
};

/** What was said is covered by a summary, and indexed. */
async function covered(scene: Scene, room: string): Promise<TestWeir> {
  script(scene.server, () => text("They measure the river each morning."));
  const weir = await scene.start();
  for (let number = 1; compactions(weir, room, "committed").length === 0; number++) {
    const words = WORDS[number] ?? reading(number);
    await weir.say(words, { room, id: `${room}-${number}`, author: authorOf(BEN), addressed: false });
    await quiet(weir, room);
  }
  await indexAll(scene.open.store.search);
  return weir;
}

test("what a message replies to is looked for as well, is shown once, and what it says itself comes first", async () => {
  await using scene = await openScene();
  const room = "replying";
  await using weir = await covered(scene, room);
  const dynamicOf = async (id: string, replyTo?: string): Promise<string> => {
    const reply = replyTo === undefined ? {} : { replyTo };
    await weir.say("And what is the price of that?", { room, id, author: authorOf(ANN), ...reply });
    await weir.event("turn_settled", ({ inReplyTo }) => inReplyTo.includes(id));
    return said(agentRequests(scene.server).at(-1)).at(-1) ?? "";
  };
  const alone = await dynamicOf("asked-1");
  assert.match(alone, /> .*the price is on the blue list$/m);
  assert.doesNotMatch(alone, /ninety ducats/);
  const replying = await dynamicOf("asked-2", `${room}-4`);
  assert.match(replying, /> .*the price is on the blue list$/m);
  assert.match(replying, /> .*Falkenstein asks for ninety ducats a month$/m);
  assert.equal(replying.match(/the contract of Falkenstein runs/g)?.length, 1, "as what is replied to alone");
  const gone = await dynamicOf("asked-3", "never-heard-of");
  assert.doesNotMatch(gone, /ninety ducats/);
  await scene.open.sql("update entries set text = '', expired_at = now() where message_id = $1", `${room}-4`);
  const expired = await dynamicOf("asked-4", `${room}-4`);
  assert.match(expired, /\(text no longer kept\)/);
  assert.doesNotMatch(expired, /ninety ducats|longboat/, "what stands there instead is nobody's words");
});
