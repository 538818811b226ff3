import assert from "node:assert/strict";
import { test } from "node:test";
import { capOf, lengthsOf } from "../../../src/compactor/policy/merge.ts";
import type { JobPlan } from "../../../src/core/compaction.ts";
import type { Summary } from "../../../src/core/history.ts";
import { rawHistory, summariesOf } from "../channel.ts";

/** Leafs take 0.35 of it, and may have 310 tokens each; of the next level one may have 460, if it shares its part. */
const SIZES = { summaryCap: 310, summaryRoom: 4000 };

function capOfNext(
  summaries: readonly Summary[],
  plan: Pick<JobPlan, "kind" | "fromSeq" | "toSeq" | "level" | "sourceTokens">,
  ahead: Parameters<typeof capOf>[0]["history"]["ahead"] = [],
): number {
  return capOf({ history: rawHistory(0, { summaries, ahead }), ...SIZES }, plan);
}

test("a merge keeps the length of its sources where there is room for the leafs to come", () => {
  const leafs = summariesOf([1, 1, 1, 1, 1, 1], { tokens: 300 });
  const plan = { kind: "merge", fromSeq: 1, toSeq: 50, level: 2, sourceTokens: 1500 } as const;
  assert.equal(capOfNext(leafs, plan), 1500);
});

test("where the room is used, it has its level's part", () => {
  const old = summariesOf([3], { tokens: 2200 });
  const leafs = summariesOf([1, 1, 1, 1], { tokens: 300 }).map((one) => {
    return { ...one, fromSeq: one.fromSeq + 10, toSeq: one.toSeq + 10 };
  });
  const plan = { kind: "merge", fromSeq: 11, toSeq: 40, level: 2, sourceTokens: 900 } as const;
  assert.equal(capOfNext([...old, ...leafs], plan), 460);
});

test("a merge may come out longer than asked, as long as the next leafs have room", () => {
  const old = summariesOf([3], { tokens: 2200 });
  const leafs = summariesOf([1, 1, 1, 1], { tokens: 300 }).map((one) => {
    return { ...one, fromSeq: one.fromSeq + 10, toSeq: one.toSeq + 10 };
  });
  const plan = { kind: "merge", fromSeq: 11, toSeq: 40, level: 2, sourceTokens: 900 } as const;
  const ahead = [{ kind: "leaf" as const, fromSeq: 51, toSeq: 59 }];
  const lengths = (written: typeof ahead) =>
    lengthsOf({ history: rawHistory(0, { summaries: [...old, ...leafs], ahead: written }), ...SIZES }, plan);
  assert.deepEqual(lengths([]), { asked: 460, longest: 900 });
  // 4,000 less the old summary, the newest leaf, two leafs to come, and its own label.
  assert.deepEqual(lengths(ahead), { asked: 460, longest: 4000 - 2240 - 340 - 2 * 350 - 40 });
});

test("what is written ahead has its room kept", () => {
  const leafs = summariesOf([1, 1, 1, 1, 1, 1], { tokens: 300 });
  const ahead = [61, 71, 81, 91].map((fromSeq) => ({ kind: "leaf" as const, fromSeq, toSeq: fromSeq + 9 }));
  const plan = { kind: "merge", fromSeq: 1, toSeq: 50, level: 2, sourceTokens: 3000 } as const;
  // 4,000 less the newest leaf, five leafs to come, and its own label.
  assert.equal(capOfNext(leafs, plan, ahead), 4000 - 340 - 5 * 350 - 40);
});

test("a summary that is written again may be as long as it was", () => {
  const summaries = summariesOf([3, 2, 1], { tokens: 1200 });
  const plan = { kind: "redo", fromSeq: 11, toSeq: 20, level: 2, sourceTokens: 1200 } as const;
  assert.equal(capOfNext(summaries, plan), 1200);
});

test("a leaf has a fifth of what it covers, and is asked for a twentieth less", () => {
  const plan = { kind: "leaf", fromSeq: 1, toSeq: 10, level: 1, sourceTokens: 1400 } as const;
  assert.deepEqual(lengthsOf({ history: rawHistory(0, {}), ...SIZES }, plan), { asked: 266, longest: 280 });
});

test("a merge into the top level leaves room for the next merge of the level below", () => {
  const old = summariesOf([3, 2, 2], { tokens: 1100 });
  const plan = { kind: "merge", fromSeq: 1, toSeq: 30, level: 3, sourceTokens: 3300 } as const;
  // 4,000 less a leaf to come, and a merge of level 2, each with its label, and its own. Four fifths of it are asked for.
  const longest = 4000 - 350 - 500 - 40;
  const lengths = lengthsOf({ history: rawHistory(0, { summaries: old }), ...SIZES }, plan);
  assert.deepEqual(lengths, { asked: Math.floor(longest * 0.8), longest });
});

test("a leaf beside a merge that is written ahead has the room that the merge frees", () => {
  const old = summariesOf([2, 2, 1, 1], { tokens: 950 });
  const plan = { kind: "leaf", fromSeq: 41, toSeq: 50, level: 1, sourceTokens: 3000 } as const;
  assert.equal(capOfNext(old, plan), 64);
  const merge = { kind: "merge" as const, fromSeq: 1, toSeq: 20 };
  assert.ok(capOfNext(old, plan, [merge]) > 200);
});
