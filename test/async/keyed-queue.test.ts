import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyedQueue } from "../../src/async/keyed-queue.ts";

test("tasks of a key run in order, those of others pass, and a failure stops nobody", async () => {
  const queue = new KeyedQueue();
  const gate = Promise.withResolvers<void>();
  const done: string[] = [];
  const first = queue.add("a", async () => {
    await gate.promise;
    throw new Error("the first");
  });
  const second = queue.add("a", async () => Promise.resolve(done.push("a2")));
  await queue.add("b", async () => Promise.resolve(done.push("b1")));
  assert.deepEqual(done, ["b1"]);
  gate.resolve();
  await assert.rejects(first, /the first/);
  await second;
  assert.deepEqual(done, ["b1", "a2"]);
});

test("one can wait for all that was taken", async () => {
  const queue = new KeyedQueue();
  let finished = 0;
  for (let task = 0; task < 5; task++)
    void queue.add(`key ${task % 2}`, async () => {
      await new Promise((resolve) => {
        setTimeout(resolve, 2);
      });
      finished += 1;
    });
  await queue.settled();
  assert.equal(finished, 5);
});
