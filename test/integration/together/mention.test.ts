// proves: src/channel/turns/guest-turns.ts, src/channel/turns/guest-view.ts, src/channel/delivery/outbox.ts
// Several agents in one channel: who is mentioned answers, with its own model and prompt, under its own name.
import assert from "node:assert/strict";
import { test } from "node:test";
import { openTogether, shownIn, told } from "../../support/together.ts";

test("whoever is mentioned answers under its own name, and each sees what the other has said as a line", async () => {
  await using scene = await openTogether();
  await using weir = await scene.start();
  assert.deepEqual(await told(weir, "hello"), ["I am main."]);
  assert.deepEqual(await told(weir, "@researcher who are you?"), ["**Researcher:** I am researcher."]);
  assert.deepEqual(await told(weir, "and you?"), ["I am main."]);
  assert.deepEqual(await told(weir, "@res again"), ["**Researcher:** I am researcher."]);

  const [first, second] = scene.requests("researcher");
  assert.match(shownIn(first), /You are Researcher\./);
  assert.match(shownIn(first), /user: \[[^\]]*\] Weir: I am main\./);
  assert.match(shownIn(first), /Ann: @researcher who are you\?/);
  assert.match(shownIn(second), /assistant: I am researcher\./);
  const last = scene.requests("main").at(-1);
  assert.match(shownIn(last), /You are Weir\./);
  assert.match(shownIn(last), /user: \[[^\]]*\] Researcher: I am researcher\./);
  assert.match(shownIn(last), /assistant: I am main\./);
  assert.doesNotMatch(shownIn(last), /assistant: I am researcher/);
});
