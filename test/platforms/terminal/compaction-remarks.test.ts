import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { describeCompaction, describeRunning } from "../../../src/platforms/terminal/compaction-remarks.ts";
import type { CompactionNews } from "../../../src/platforms/terminal/turn-news.ts";

const NEWS: CompactionNews = {
  channel: "terminal:main",
  phase: "committed",
  kind: "leaf",
  tier: "background",
  fromSeq: 11,
  toSeq: 130,
  tokensBefore: 8200,
  tokensAfter: 310,
  memories: 4,
  ms: 3210,
};

describe("a compaction in the terminal", () => {
  test("is told in a few words while it runs", () => {
    assert.equal(describeRunning(NEWS), "summarising 120 older messages");
    assert.equal(describeRunning({ ...NEWS, kind: "merge" }), "merging older summaries");
    assert.equal(describeRunning({ ...NEWS, kind: "redo" }), "writing a summary again");
  });

  test("is told with its numbers when it lands", () => {
    assert.equal(
      describeCompaction(NEWS),
      "(120 older messages summarised: 8,200 → 310 tokens, 3.2 s, 4 memories)",
    );
    assert.equal(
      describeCompaction({ ...NEWS, kind: "merge", memories: 0 }),
      "(older summaries merged: 8,200 → 310 tokens, 3.2 s)",
    );
    assert.match(
      describeCompaction({ ...NEWS, fromSeq: 130, memories: 1 }) ?? "",
      /^\(1 older message .* 1 memory\)$/,
    );
  });

  test("that made no summary is not told", () => {
    for (const phase of ["started", "stale", "failed"] as const) {
      assert.equal(describeCompaction({ ...NEWS, phase, tokensAfter: null }), null);
    }
  });
});
