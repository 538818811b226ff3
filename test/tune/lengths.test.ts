import assert from "node:assert/strict";
import { test } from "node:test";
import * as fc from "fast-check";
import { estimateTokens } from "../../src/text/tokens.ts";
import type { SummaryLengths } from "../../src/store/turns/past.ts";
import { expectedLength, fillerText, summaryTokens } from "../../src/tune/lengths.ts";

const leaf: SummaryLengths = {
  kind: "leaf",
  level: 1,
  madeBy: "model",
  count: 2,
  sourceTokens: 4000,
  tokens: 400,
};
const digest: SummaryLengths = { ...leaf, madeBy: "digest", tokens: 800 };
const merge: SummaryLengths = { ...leaf, kind: "merge", level: 2, sourceTokens: 1000, tokens: 500 };

test("a summary is as long as the channel's own of its kind and level, at most as it may be", () => {
  const plan = { kind: "leaf", level: 1, sourceTokens: 1000 } as const;
  assert.deepEqual(expectedLength([leaf, digest, merge], plan), { share: 0.1, from: "models" });
  assert.equal(summaryTokens([leaf, digest, merge], plan, 500), 100);
  assert.equal(summaryTokens([leaf], plan, 60), 60, "no longer than it may be");
  assert.deepEqual(expectedLength([digest], plan), { share: 0.2, from: "extracts" });
  assert.equal(
    summaryTokens([merge], { kind: "merge", level: 3, sourceTokens: 1000 }, 900),
    500,
    "of another level",
  );
});

test("where nothing is known it is as long as it may be, and shorter than its source", () => {
  assert.deepEqual(expectedLength([merge], { kind: "leaf", level: 1 }), { share: null, from: null });
  assert.equal(summaryTokens([], { kind: "leaf", level: 1, sourceTokens: 10_000 }, 300), 300);
  assert.equal(summaryTokens([], { kind: "leaf", level: 1, sourceTokens: 100 }, 300), 70);
  assert.equal(summaryTokens([], { kind: "leaf", level: 1, sourceTokens: 0 }, 300), 1);
});

test("a filler has as many tokens as asked, give or take a word", () => {
  fc.assert(
    fc.property(fc.integer({ min: 1, max: 5000 }), (tokens) => {
      const length = estimateTokens(fillerText(tokens));
      assert.ok(length <= tokens && length >= tokens - 2, `${length} of ${tokens}`);
    }),
  );
});
