import assert from "node:assert/strict";
import { test } from "node:test";
import { LookTimer } from "../../src/compactor/look-timer.ts";

test("a look follows its request, never twice at once, and a stopped one does not begin", async () => {
  const gate = Promise.withResolvers<void>();
  const begun = Promise.withResolvers<void>();
  let looks = 0;
  const timer = new LookTimer(1, async () => {
    looks += 1;
    begun.resolve();
    await gate.promise;
  });
  timer.start();
  assert.deepEqual([looks, timer.isWaiting, timer.isIdle], [0, true, false]);
  await begun.promise;
  assert.deepEqual([timer.isWaiting, timer.isIdle], [false, false]);
  timer.start();
  while (timer.isWaiting) await new Promise(setImmediate);
  assert.equal(looks, 1);
  timer.start();
  const stopped = timer.stop();
  assert.equal(timer.isWaiting, false);
  gate.resolve();
  await stopped;
  assert.deepEqual([looks, timer.isIdle], [1, true]);
});
