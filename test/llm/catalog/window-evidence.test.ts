import assert from "node:assert/strict";
import { test } from "node:test";
import type { Anchor } from "../../../src/core/calibration.ts";
import { readingOf, silentCut } from "../../../src/llm/catalog/window-evidence.ts";

const usage = (promptTokens: number, cachedTokens = 0) =>
  ({ promptTokens, cachedTokens, writtenTokens: 0, completionTokens: 10 }) as const;

function readings(reported: readonly number[], estimated: readonly number[]): Anchor[] {
  return reported.map((tokens, index) => ({ reported: tokens, estimated: estimated[index] ?? 0 }));
}

test("counts that stand still while requests grow are a cut", () => {
  assert.equal(silentCut(readings([4096, 4096, 4096], [17_000, 17_050, 17_100]), 1, 4096), 4096);
  const five = [4090, 4090, 4090, 4090, 4090];
  assert.equal(silentCut(readings(five, [4100, 4150, 4200, 4250, 4300]), 1, 4090), 4090);
  // Far below, and as round as a window: they need not have grown.
  assert.equal(silentCut(readings([4096, 4096, 4096], [17_000, 9000, 12_000]), 1, 0), 4096);
});

test("other counts are none", () => {
  const none: readonly (readonly [reported: number[], estimated: number[], most: number])[] = [
    [[4096, 4096], [17_000, 17_100], 4096],
    [[4096, 4096, 4097], [17_000, 17_050, 17_100], 4097],
    [[3000, 3000, 3000], [3000, 3000, 3000], 3000],
    // The same request again.
    [[4096, 4096, 4096], [17_000, 17_000, 17_100], 4096],
    // More was counted once.
    [[1100, 1100, 1100], [8000, 8100, 8200], 7900],
    [[4096, 4096, 4096], [4200, 4150, 4100], 4096],
    [[4090, 4090, 4090, 4090, 4090], [4300, 4250, 4200, 4150, 4100], 4090],
    // By chance: three channels with prompts of one size.
    [[1838, 1838, 1838], [1801, 1804, 1810], 1838],
    [[1838, 1838, 1838, 1838, 1838], [1801, 1804, 1810, 1812, 1815], 1838],
    [[1838, 1850, 1838, 1838, 1838], [1801, 1804, 1810, 1812, 1815], 1838],
  ];
  for (const [reported, estimated, most] of none)
    assert.equal(silentCut(readings(reported, estimated), 1, most), null, String(reported));
});

test("a count that leaves something out is no reading", () => {
  const request = { estimated: 8000, hasImages: false };
  assert.deepEqual(readingOf(request, usage(4096), 1), { estimated: 8000, reported: 4096 });
  assert.deepEqual(readingOf(request, usage(4096, 2000), 1), { estimated: 8000, reported: 4096 });
  assert.equal(readingOf(request, usage(2000, 6000), 1), null, "what was cached is counted apart");
  assert.equal(readingOf(request, usage(0), 1), null);
  assert.equal(readingOf(request, usage(600), 1), null);
  assert.equal(readingOf({ ...request, hasImages: true }, usage(4096), 1), null);
  assert.equal(readingOf(request, undefined, 1), null);
});
