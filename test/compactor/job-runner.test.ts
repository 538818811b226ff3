// proves: src/compactor/job-runner.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { overshootAfter } from "../../src/compactor/job-runner.ts";

/** Texts, one after the other, of a model that writes so many times what it is asked for, where it may write 100. */
function asked(times: number, count: number, before = 1): number[] {
  const lengths: number[] = [];
  let overshoot = before;
  for (let text = 0; text < count; text++) {
    const length = 100 / overshoot;
    lengths.push(length);
    overshoot = overshootAfter(overshoot, (length * times) / 100);
  }
  return lengths;
}

test("a model whose texts are too long is asked for less, until they fit", () => {
  const lengths = asked(1.5, 6);
  assert.ok((lengths[1] ?? 0) * 1.5 <= 100, String(lengths[1]));
  assert.ok(
    lengths.slice(1).every((length) => Math.abs(length - (lengths[1] ?? 0)) < 0.01),
    "and stays there",
  );
});

test("one that keeps to its length again is asked for more again, a little at a time", () => {
  const lengths = asked(1, 20, 2);
  assert.ok((lengths[1] ?? 0) < 60, "no single text decides");
  assert.ok((lengths.at(-1) ?? 0) > 85, String(lengths.at(-1)));
});

test("one that is asked for the least stays there however long it writes", () => {
  assert.ok(Math.min(...asked(10, 10)) > 30);
});
