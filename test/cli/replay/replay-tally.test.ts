import assert from "node:assert/strict";
import { test } from "node:test";
import { CompactionTally } from "../../../src/cli/replay/replay-tally.ts";
import type { WeirEvent } from "../../../src/telemetry/events.ts";

type Compaction = WeirEvent & { type: "compaction" };

function event(overrides: Partial<Compaction> = {}): Compaction {
  return {
    type: "compaction",
    channel: "terminal:main",
    job: 1,
    phase: "committed",
    kind: "leaf",
    tier: "background",
    fromSeq: 1,
    toSeq: 9,
    tokensBefore: 1000,
    tokensAfter: 100,
    memories: 2,
    model: "small",
    ms: 5,
    reason: null,
    ...overrides,
  };
}

test("a replay counts its compactions by what they were and how they ended", () => {
  const tally = new CompactionTally();
  const none = { tokensAfter: null, memories: 0, model: null };
  for (const one of [
    event({ ...none, phase: "started" }),
    event(),
    event({ tier: "emergency", model: "digest" }),
    event(),
    event({ kind: "merge", memories: 0 }),
    event({ kind: "redo", memories: 0 }),
    event({ ...none, phase: "stale" }),
    event({ ...none, phase: "failed" }),
    event({ ...none, phase: "failed" }),
  ]) {
    tally.count(one);
  }
  tally.refused++;
  assert.deepEqual(tally.rows(), [
    ["compactions", "2 background, 1 emergency"],
    ["merges", "1; 1 summary written again"],
    ["no good", "1 extract without a model, 1 refused, 1 stale, 2 failed"],
    ["memories", "6"],
    ["tokens saved", "2,700 (about 3,000 became 300)"],
  ]);
});

test("a replay without compactions says so", () => {
  assert.deepEqual(new CompactionTally().rows()[0], ["compactions", "none"]);
});
