// proves: src/core/memory.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { memoryId } from "../../src/core/ids.ts";
import type { Memory } from "../../src/core/memory.ts";
import { besideDissent, rankMemories } from "../../src/memory/recall-memories.ts";

const NOW = new Date("2026-11-21T09:00:00Z");

function memory(statement: string, overrides: Partial<Memory> = {}): Memory {
  return {
    id: memoryId(1),
    type: "fact",
    scope: "channel",
    subject: "Ann",
    assertedBy: "Ann",
    statement,
    importance: 0.5,
    at: NOW,
    proofs: 1,
    ...overrides,
  };
}

function ranked(query: string, memories: readonly Memory[], now = NOW): string[] {
  const found = memories.map((one) => ({ memory: one, words: 0.1, pieces: 0, time: 0, asserter: null }));
  return rankMemories(query, found, now).map(({ statement }) => statement);
}

function daysAgo(days: number): Date {
  return new Date(NOW.getTime() - days * 24 * 60 * 60 * 1000);
}

describe("memories are ranked", () => {
  test("by the words that not all of them have", () => {
    const about = ["Ann has a boat", "Ann has a garden", "Ann has a key to the boathouse", "Ann has a car"];
    assert.equal(
      ranked(
        "what does Ann have in her garden?",
        about.map((one) => memory(one)),
      )[0],
      "Ann has a garden",
    );
  });

  test("of equals the newer, the more often said, the more important first", () => {
    const plain = memory("plain tea", { at: daysAgo(60) });
    const rivals = [
      memory("newer tea", { at: daysAgo(1) }),
      memory("proven tea", { at: daysAgo(60), proofs: 3 }),
      memory("weighty tea", { at: daysAgo(60), importance: 1 }),
    ];
    for (const rival of rivals)
      assert.deepEqual(ranked("tea", [plain, rival]), [rival.statement, "plain tea"]);
  });

  test("and what tools have seen comes last, however well it fits", () => {
    const seen = memory("the garden of Ann has a fine gate", { tool: "look", importance: 1, proofs: 9 });
    const others = [memory("Ann has a boat"), memory("the garden is wet")];
    assert.equal(ranked("has the garden of Ann a fine gate?", [seen, ...others]).at(-1), seen.statement);
  });

  test("by the time that is asked for, beside the words", () => {
    const about = ["the regatta", "the regatta and its boats", "a cake"].map((one) => memory(one));
    const found = about.map((one, index) => ({
      memory: one,
      words: 0,
      pieces: 0,
      time: [0, 0.5, 1][index] ?? 0,
      asserter: null,
    }));
    const order = rankMemories("the regatta", found, NOW).map(({ statement }) => statement);
    assert.deepEqual(order, ["the regatta and its boats", "a cake", "the regatta"]);
    const [first] = rankMemories("", found, NOW);
    assert.equal(first?.statement, "a cake");
  });

  test("by whether it tells of a time, where somebody asks when", () => {
    const day = { from: "2026-12-03", to: "2026-12-03" };
    const both = [memory("the big regatta"), memory("the old regatta", { refers: day, at: daysAgo(9) })];
    assert.equal(ranked("when is the regatta?", both)[0], "the old regatta");
    assert.equal(ranked("who wins the regatta?", both)[0], "the big regatta");
  });

  test("never so that a boost makes up for fitting half as well", () => {
    const old = memory("the boathouse key is under the mat", { at: daysAgo(3000), importance: 0 });
    const loud = memory("the boathouse", { proofs: 100, importance: 1 });
    assert.equal(ranked("boathouse key mat", [loud, old])[0], old.statement);
  });
});

test("what others say otherwise stands behind a memory, and nobody is named who is not shown", () => {
  const told = (id: number, ...others: number[]): Memory =>
    memory(`m${id}`, {
      id: memoryId(id),
      ...(others.length > 0 && {
        otherwise: others.map((one) => ({ id: memoryId(one), assertedBy: "Ben", at: NOW })),
      }),
    });
  const all = [told(1, 3, 9), told(2), told(3, 1), told(4, 5), told(5, 4)];
  const shown = (limit: number): string[] =>
    besideDissent(all, limit).map(({ statement, otherwise = [] }) =>
      [statement, ...otherwise.map(({ id }) => id)].join(" "),
    );
  assert.deepEqual(shown(5), ["m1 3", "m3 1", "m2", "m4 5", "m5 4"]);
  assert.deepEqual(shown(4), ["m1 3", "m3 1", "m2", "m4"]);
  assert.deepEqual(shown(1), ["m1"]);
});

describe("the rank of memories", () => {
  test("has a boost for what is new that halves in thirty days", () => {
    const score = (days: number): number => {
      // How important an equal memory of long ago must be to come first tells the boost of the new one.
      let [low, high] = [0, 2];
      while (high - low > 1e-6) {
        const middle = (low + high) / 2;
        const other = memory("other", { at: daysAgo(30_000), importance: middle });
        const [first] = rankMemories(
          "x",
          [memory("new", { at: daysAgo(days), importance: 0 }), other].map((one) => {
            return { memory: one, words: 1, pieces: 0, time: 0, asserter: null };
          }),
          NOW,
        );
        if (first?.statement === "other") high = middle;
        else low = middle;
      }
      return low;
    };
    assert.ok(Math.abs(score(30) / score(0) - 0.5) < 0.01, `${score(30)} of ${score(0)}`);
  });

  test("holds in scripts without spaces, too", () => {
    const both = [memory("猫が好きです"), memory("会議は水曜日です")];
    assert.equal(ranked("会議は何曜日ですか", both)[0], "会議は水曜日です");
  });

  test("has each of them once, whatever they are", () => {
    const any = fc.record({
      statement: fc.string(),
      at: fc.date({ noInvalidDate: true }),
      proofs: fc.nat(),
      importance: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    fc.assert(
      fc.property(fc.string(), fc.array(any, { maxLength: 8 }), (query, all) => {
        const memories = all.map((one, index) =>
          memory(`${index} ${one.statement}`, { ...one, statement: `${index} ${one.statement}` }),
        );
        const statements = memories.map(({ statement }) => statement);
        assert.deepEqual(ranked(query, memories).toSorted(), statements.toSorted());
      }),
    );
  });
});
