import assert from "node:assert/strict";
import { test } from "node:test";
import { KeyedCount } from "../../src/async/keyed-count.ts";

test("one key takes half of the room, and leaves the rest to others", () => {
  const count = new KeyedCount();
  const fullOf = (key: string): boolean => count.isFull(key, 4);
  count.add("flood");
  assert.equal(fullOf("flood"), false);
  count.add("flood");
  assert.deepEqual(["flood", "quiet"].map(fullOf), [true, false]);
  count.add("quiet");
  count.add("third");
  assert.equal(fullOf("fourth"), true);
  for (const key of ["flood", "flood", "quiet", "third"]) count.remove(key);
  assert.equal(count.size, 0);
  assert.deepEqual(["flood", "quiet"].map(fullOf), [false, false]);
});
