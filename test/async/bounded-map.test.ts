import assert from "node:assert/strict";
import { describe, test } from "node:test";

import { BoundedMap } from "../../src/async/bounded-map.ts";

describe("a bounded map", () => {
  test("keeps the values that were set last, and no more than it may", () => {
    const map = new BoundedMap<number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.set("c", 3);
    assert.deepEqual(
      [...map.entries()],
      [
        ["b", 2],
        ["c", 3],
      ],
    );
    assert.equal(map.has("a"), false);
    assert.equal(map.get("a"), undefined);
    assert.equal(map.size, 2);
  });

  test("takes a value that is set again for a new one", () => {
    const map = new BoundedMap<number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.set("a", 3);
    map.set("c", 4);
    assert.deepEqual(
      [...map.entries()],
      [
        ["a", 3],
        ["c", 4],
      ],
    );
  });

  test("has room again where one was deleted", () => {
    const map = new BoundedMap<number>(2);
    map.set("a", 1);
    map.set("b", 2);
    map.delete("a");
    map.set("c", 3);
    assert.deepEqual(
      [...map.entries()],
      [
        ["b", 2],
        ["c", 3],
      ],
    );
  });
});
