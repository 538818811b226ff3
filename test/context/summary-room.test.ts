import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { SUMMARY_LABEL_TOKENS } from "../../src/context/render.ts";
import { leafCap, levelCap, summaryRoom } from "../../src/context/summary-room.ts";
import { MAX_LIVE_SUMMARIES } from "../../src/core/compaction.ts";
import { budgetOf } from "./agent.ts";

describe("the room of all summaries", () => {
  const budget = { ...budgetOf(14_000, 4000), target: 0.6 };

  test("is what the fixed part leaves under the target", () => {
    assert.equal(summaryRoom(budget, 4000), 2000);
  });

  test("is at least 15 % and at most 35 % of the usable window", () => {
    assert.equal(summaryRoom(budget, 5500), 1500);
    assert.equal(summaryRoom(budget, 1000), 3500);
  });

  test("does not grow beyond what a request is worth, but keeps the least share of a large window", () => {
    assert.equal(summaryRoom(budgetOf(34_000, 4000), 1000), 6000);
    assert.equal(summaryRoom(budgetOf(104_000, 4000), 1000), 15_000);
  });

  test("is by the model's own tokens", () => {
    const dear = { ...budget, calibration: { factor: 2, anchor: null } };
    assert.equal(summaryRoom(dear, 500), 1750);
  });

  test("holds the shortest summaries in the smallest window", () => {
    assert.equal(summaryRoom(budgetOf(2000, 1000), 500), MAX_LIVE_SUMMARIES * (64 + SUMMARY_LABEL_TOKENS));
  });
});

describe("the longest summary", () => {
  test("of entries is a fifth of them, up to its part of the room", () => {
    assert.equal(leafCap(6000, 3000), 600);
    assert.equal(leafCap(6000, 30_000), (6000 * 0.35) / 3 - SUMMARY_LABEL_TOKENS);
    assert.equal(leafCap(6000), leafCap(6000, 30_000), "what a leaf may need");
  });

  test("of entries has 120 words, as long as four of them have room", () => {
    assert.equal(leafCap(1475, 600), 210);
    assert.equal(leafCap(400, 600), 64);
  });

  test("is longer the older the text", () => {
    const caps = [1, 2, 3].map((level) => levelCap(10_000, level));
    assert.deepEqual(
      caps,
      caps.toSorted((a, b) => a - b),
    );
  });
});
