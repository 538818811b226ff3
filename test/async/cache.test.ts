import assert from "node:assert/strict";
import { test } from "node:test";
import { Cache } from "../../src/async/cache.ts";

test("a value is loaded once, also for those who ask while it is being loaded, and anew when it has expired", async () => {
  const cache = new Cache<number>(10);
  let loads = 0;
  const load = async (forMs: number) => {
    loads += 1;
    return Promise.resolve({ value: loads, forMs });
  };
  const both = await Promise.all([
    cache.get("a", async () => load(60_000)),
    cache.get("a", async () => load(60_000)),
  ]);
  assert.deepEqual(both, [1, 1]);
  assert.equal(await cache.get("b", async () => load(0)), 2);
  assert.equal(await cache.get("b", async () => load(60_000)), 3);
});

test("a failure is not kept", async () => {
  const cache = new Cache<string>(10);
  await assert.rejects(
    cache.get("a", async () => Promise.reject(new Error("away"))),
    /away/,
  );
  assert.equal(await cache.get("a", async () => Promise.resolve({ value: "there", forMs: 1000 })), "there");
});

test("what was asked for longest ago goes first", async () => {
  const cache = new Cache<string>(2);
  const get = async (key: string): Promise<string> =>
    cache.get(key, async () => Promise.resolve({ value: `loaded ${key}`, forMs: 1000 }));
  cache.set("a", { value: "kept a", forMs: 1000 });
  cache.set("b", { value: "kept b", forMs: 1000 });
  assert.equal(await get("a"), "kept a");
  assert.equal(await get("c"), "loaded c");
  assert.equal(await get("b"), "loaded b");
});

test("whoever asks while a value is being loaded gets it behind whoever asked before", async () => {
  const cache = new Cache<string>(10);
  const { promise: loaded, resolve } = Promise.withResolvers<{ value: string; forMs: number }>();
  const told: number[] = [];
  const asking = [1, 2, 3].map(async (who) => {
    await cache.get("a", async () => loaded);
    told.push(who);
  });
  resolve({ value: "there", forMs: 1000 });
  await Promise.all(asking);
  assert.deepEqual(told, [1, 2, 3]);
});
