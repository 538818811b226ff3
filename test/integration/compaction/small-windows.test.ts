// proves: src/context/keep.ts, src/context/emergency.ts, src/channel/compaction/compaction-target.ts
// A channel lives in the windows that small local models have.
import assert from "node:assert/strict";
import { test } from "node:test";
import {
  agentRequests,
  ask,
  checkFold,
  compactions,
  listen,
  marks,
  openScene,
  quiet,
  said,
  script,
  summariserRequests,
} from "../../support/compaction.ts";
import { text } from "../../support/model-behaviours.ts";

/** In the smallest of these windows tools and prompt take over two fifths. */
const LEAST_IN_BACKGROUND = 0.6;
const READINGS = 120;
const EACH = 5;
/** Share of the length that it is asked for. */
const FILLED = 0.75;
const SENTENCE_WORDS = 6;

/** A summary whose length is that which a request allows. */
function summary(task: string): string {
  const words = Number(/at most ([\d,]+) words/i.exec(task)?.[1]?.replaceAll(",", "") ?? "60");
  return Array.from(
    { length: Math.floor((words * FILLED) / SENTENCE_WORDS) },
    (_, place) => `Ann read gauge ${place} at noon.`,
  ).join(" ");
}

for (const window of [4096, 5000, 6144]) {
  test(`a window of ${window} tokens holds a long conversation without an emergency, and shows what was said last`, async () => {
    await using scene = await openScene();
    const { server } = scene;
    script(server, ({ messages }) => text(summary(messages.map(({ content }) => content ?? "").join("\n"))));
    const room = "small";
    await using weir = await scene.start({ window, ahead: true });
    for (let number = 1; number <= READINGS; number++) {
      await listen(weir, room, number, number);
      await quiet(weir, room);
      if (number % EACH !== 0) continue;
      const request = await ask(weir, server, room, `what stands in the book at ${number}?`);
      await quiet(weir, room);
      const shown = said(request);
      const raw = shown.filter((one) => /^\[\d{4}-.*: gauge-/.test(one));
      assert.deepEqual(marks(raw.at(-1) ?? ""), [number], "the message before the question");
      // Recall may quote the middle of an old one.
      assert.doesNotMatch(raw.join("\n"), /characters in all …\]/, "and no message is cut");
    }
    assert.equal(agentRequests(server).length, READINGS / EACH);
    const committed = compactions(weir, room, "committed");
    const inBackground = committed.filter(({ tier }) => tier === "background").length;
    assert.ok(
      inBackground >= LEAST_IN_BACKGROUND * committed.length,
      `${inBackground} of ${committed.length}`,
    );
    const calls = summariserRequests(server).length;
    assert.ok(calls < READINGS / 2, `${calls} calls of the summariser`);
    assert.deepEqual(
      weir.events.filter(({ type }) => type === "emergency"),
      [],
    );
    await checkFold(weir, room);
  });
}
