import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { formatCompaction } from "../../src/cli/compactions.ts";
import { jobId } from "../../src/core/ids.ts";
import { createTimeFormat } from "../../src/text/time.ts";
import type { CompactionRecord } from "../../src/store/compaction/compactions.ts";

const SUMMARY = { kind: "model", model: "small", tokens: 310, live: true, needsRedo: false } as const;
const DONE: CompactionRecord = {
  id: jobId(7),
  kind: "leaf",
  tier: "background",
  state: "committed",
  attempt: 1,
  fromSeq: 1,
  toSeq: 1130,
  messages: 1120,
  level: 1,
  sourceTokens: 8200,
  summary: { ...SUMMARY, text: "They met.\n\n- Ann rows.\u001B[2J\n" },
  memories: 4,
  createdAt: new Date("2026-11-21T12:00:00Z"),
  endedAt: new Date("2026-11-21T12:00:03Z"),
  ms: 3210,
  reason: null,
};

const format = (overrides: Partial<CompactionRecord> = {}): string[] =>
  formatCompaction({ ...DONE, ...overrides }, createTimeFormat("UTC")).split("\n");

describe("a compaction as a card", () => {
  test("holds range, tier, tokens, time, model, memories and the summary", () => {
    assert.deepEqual(format(), [
      "#7      summary of entries 1–1,130 (1,120 messages) · background",
      "        2026-11-21 12:00  about 8,200 → 310 tokens, in 3.2 s",
      "        level 1, by small, 4 memories",
      "          They met.",
      "        ",
      "          - Ann rows.␛[2J",
    ]);
  });

  test("marks an extract, what is to be written again, and what was replaced", () => {
    const digest = { ...SUMMARY, kind: "digest", model: null, needsRedo: true, text: "x" } as const;
    assert.match(
      format({ summary: digest })[2] ?? "",
      /extract without a model, 4 memories, to be written again$/,
    );
    const old = { ...digest, live: false };
    assert.match(format({ summary: old })[2] ?? "", /, replaced by a later one$/);
  });

  test("says why there is no summary, or that it is under way", () => {
    const none = { summary: null, memories: 0 };
    const failed = format({ ...none, state: "failed", attempt: 3, reason: "no\nmodel" });
    assert.equal(failed[1], "        2026-11-21 12:00  failed in 3.2 s, 3 attempts: no model");
    assert.equal(failed.length, 2);
    const running = format({ ...none, kind: "merge", state: "running", endedAt: null, ms: null });
    assert.match(running[0] ?? "", /merged summary of entries/);
    assert.equal(running[1], "        2026-11-21 12:00  under way: about 8,200 tokens");
    const ahead = format({ ...none, state: "ahead", endedAt: null, ms: null });
    assert.equal(
      ahead[1],
      "        2026-11-21 12:00  written ahead: about 8,200 tokens; it counts once room is wanted",
    );
  });
});
