import assert from "node:assert/strict";
import { test } from "node:test";
import { PollLoop } from "../../src/async/poll-loop.ts";
import { until } from "../support/patience.ts";

/** PollLoop whose ends a test says, each with when to look by itself. */
function openLooks(): { readonly looks: PollLoop; readonly begun: PromiseWithResolvers<number | null>[] } {
  const begun: PromiseWithResolvers<number | null>[] = [];
  const looks = new PollLoop(async () => {
    const look = Promise.withResolvers<number | null>();
    begun.push(look);
    return look.promise;
  });
  return { looks, begun };
}

test("what is asked for during a look has one more follow, and never two side by side", async () => {
  const { looks, begun } = openLooks();
  looks.now();
  looks.now();
  looks.now();
  assert.equal(begun.length, 1);
  begun[0]?.resolve(null);
  await until("the next look", () => begun.length === 2);
  begun[1]?.resolve(null);
  await looks[Symbol.asyncDispose]();
  assert.equal(begun.length, 2);
});

test("whoever asks as the last look ends is looked for, whenever in that moment it is", async () => {
  // So many steps of other work between the end and the question.
  for (let steps = 0; steps < 10; steps++) {
    const { looks, begun } = openLooks();
    looks.now();
    begun[0]?.resolve(null);
    for (let step = 0; step < steps; step++) await Promise.resolve();
    looks.now();
    await until("the next look", () => begun.length === 2);
    begun[1]?.resolve(null);
    await looks[Symbol.asyncDispose]();
  }
});

test("it looks by itself after the wait that a look says, and no more once it is closed", async () => {
  const { looks, begun } = openLooks();
  looks.now();
  begun[0]?.resolve(1);
  await until("the next look", () => begun.length === 2);
  const closed = looks[Symbol.asyncDispose]();
  looks.now();
  begun[1]?.resolve(1);
  await closed;
  looks.now();
  assert.equal(begun.length, 2);
});

test("whoever waits for a look is told when the one that follows the one under way has ended", async () => {
  const { looks, begun } = openLooks();
  looks.now();
  let isOver = false;
  const waited = looks.once().then(() => (isOver = true));
  begun[0]?.resolve(null);
  await until("the next look", () => begun.length === 2);
  assert.equal(isOver, false);
  begun[1]?.resolve(null);
  await waited;
  await looks[Symbol.asyncDispose]();
  await looks.once();
  assert.equal(begun.length, 2);
});
