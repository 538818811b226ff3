import assert from "node:assert/strict";
import { test } from "node:test";
import { CompactionQueue } from "../../src/compactor/queue.ts";

test("the most urgent work comes first, also where it became urgent while it waited", async () => {
  const queue = new CompactionQueue(1);
  const busy = Promise.withResolvers<void>();
  const done: string[] = [];
  const [early, late] = [{}, {}];
  queue.add({ owner: {}, priority: 1, run: async () => busy.promise });
  queue.add({ owner: early, priority: 2, run: async () => void done.push("early") });
  const over = Promise.withResolvers<void>();
  queue.add({ owner: late, priority: 1, run: async () => void done.push("late") });
  queue.add({ owner: late, priority: 3, run: async () => void done.push("never: it waits already") });
  queue.add({ owner: {}, priority: 0, run: async () => over.resolve() });
  busy.resolve();
  await over.promise;
  assert.deepEqual(done, ["late", "early"]);
});

test("what a closed owner left waiting keeps the next owner of its channel from nothing", async () => {
  const queue = new CompactionQueue(1);
  const busy = Promise.withResolvers<void>();
  const done: string[] = [];
  queue.add({ owner: {}, priority: 1, run: async () => busy.promise });
  queue.add({ owner: { channel: "slack:C1" }, priority: 1, run: async () => void done.push("closed") });
  const over = Promise.withResolvers<void>();
  queue.add({ owner: { channel: "slack:C1" }, priority: 1, run: async () => over.resolve() });
  busy.resolve();
  await over.promise;
  assert.deepEqual(done, ["closed"]);
});
