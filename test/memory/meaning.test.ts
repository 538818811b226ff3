import assert from "node:assert/strict";
import { test } from "node:test";
import { joinByPlace } from "../../src/memory/join-by-place.ts";
import { meanDifference, signsOf } from "../../src/memory/meaning.ts";

test("a vector becomes the signs of its numbers", () => {
  assert.equal(signsOf([0.2, -0.1, 0, 1e-9]), "1001");
});

test("how far apart vectors are is the mean over all pairs", () => {
  assert.equal(meanDifference(["1111", "0000"]), 1);
  assert.equal(meanDifference(["1111", "1100", "1111"]), 1 / 3);
  assert.equal(meanDifference(["1111"]), 0);
});

test("what stands high in several lists comes first, and of equals the newer one", () => {
  assert.deepEqual(
    joinByPlace([
      [1, 2, 3],
      [2, 4],
    ]),
    [2, 1, 4, 3],
  );
  assert.deepEqual(joinByPlace([[1], [2]]), [2, 1]);
  assert.deepEqual(joinByPlace([[], []]), []);
});
