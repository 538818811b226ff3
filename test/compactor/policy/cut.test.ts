import assert from "node:assert/strict";
import { describe, test } from "node:test";

import * as fc from "fast-check";

import { chooseCut, type CutState } from "../../../src/compactor/policy/cut.ts";
import type { Entry } from "../../../src/core/entry.ts";
import { isCounted, legalCuts } from "../../../src/core/history.ts";
import { anySteps, Conversation } from "../../context/conversation.ts";
import { rawHistory, said, START, tokensOf } from "../channel.ts";

const HOUR = 3_600_000;

/** Thirty messages of 20 tokens; those behind a pause come an hour later each. */
function withPauses(count: number, ...pausesAfter: readonly number[]): Entry[] {
  return rawHistory(count).entries.map((entry) => {
    const hours = pausesAfter.filter((seq) => seq < entry.seq).length;
    return { ...entry, at: new Date(entry.at.getTime() + hours * HOUR) };
  });
}

function cutOf(entries: readonly Entry[], values: Partial<CutState> = {}): number | null {
  const tokens = entries.reduce((sum, entry) => sum + entry.tokens, 0);
  const goal = { share: 0.3, target: tokens };
  return chooseCut({ entries, lastCoverable: 25, tokens, tokensOf, goal, ...values })?.toSeq ?? null;
}

describe("where a covered range ends", () => {
  test("behind the share, where the target is reached already", () => {
    // Ten candidates, so two more compete: all silences are equal, and the latest wins.
    assert.equal(cutOf(withPauses(30)), 10);
    assert.equal(cutOf(withPauses(40)), 14);
    assert.equal(cutOf(withPauses(30), { goal: { share: 0.5, target: 600 } }), 18);
  });

  test("further on, until the target is reached", () => {
    // 600 tokens down to 280: sixteen messages, and up to three more for a silence.
    assert.equal(cutOf(withPauses(30, 16), { goal: { share: 0.3, target: 280 } }), 16);
    assert.equal(cutOf(withPauses(30, 15), { goal: { share: 0.3, target: 280 } }), 19);
  });

  test("at what must be kept, where share or target cannot be reached", () => {
    assert.equal(cutOf(withPauses(30, 20), { goal: { share: 0.3, target: 10 } }), 25);
    assert.equal(cutOf(withPauses(30, 2), { lastCoverable: 4 }), 4);
    assert.equal(cutOf(withPauses(30, 2), { lastCoverable: 0 }), null);
    assert.equal(cutOf([]), null);
  });

  test("where a goal is missing, at what must be kept, whatever the silences", () => {
    assert.equal(cutOf(withPauses(30, 9, 12, 24), { goal: null }), 25);
  });

  test("at the longest silence near the first good cut; of equal ones at the later", () => {
    assert.equal(cutOf(withPauses(100, 33), { lastCoverable: 80 }), 33);
    assert.equal(cutOf(withPauses(100, 33, 34), { lastCoverable: 80 }), 34);
    assert.equal(cutOf(withPauses(100, 36), { lastCoverable: 80 }), 36);
    assert.equal(cutOf(withPauses(100, 29, 37), { lastCoverable: 80 }), 36, "no other pause is near");
    assert.equal(cutOf(withPauses(100, 34), { lastCoverable: 31 }), 31);
  });

  test("late messages with an early time are no silence", () => {
    const entries = withPauses(30).map((entry) =>
      entry.seq === 10 ? { ...entry, at: new Date(START) } : entry,
    );
    assert.equal(cutOf(entries, { lastCoverable: 10 }), 10);
    assert.equal(cutOf(entries.slice(0, 10), { lastCoverable: 10, goal: null }), 10);
  });
});

describe("a covered range", () => {
  test("never ends between a call and its results, never behind an open call", () => {
    const talk = new Conversation();
    for (let index = 0; index < 8; index++) talk.say(`line ${index}`, { addressed: index === 7 });
    talk.begin();
    talk.call(["{}", "{}"], "result");
    talk.settle("answer", "done");
    for (let index = 0; index < 10; index++) talk.say(`more ${index}`);
    const { entries } = talk.history;
    assert.deepEqual(
      entries.slice(8, 11).map(({ kind }) => kind),
      ["tool_call", "tool_result", "tool_result"],
    );
    for (const last of [8, 9, 10]) assert.equal(cutOf(entries, { lastCoverable: last, goal: null }), 8);
    assert.equal(cutOf(entries, { lastCoverable: 11, goal: null }), 11);
    const open = entries.filter(({ seq }) => seq !== 11);
    assert.equal(cutOf(open, { lastCoverable: 18, goal: null }), 8);
    assert.equal(cutOf(open.slice(8), { lastCoverable: 18, goal: null }), null);
  });

  test("takes notices along and does not count them", () => {
    const notices = [1, 2, 3, 4].map((seq): Entry => ({
      ...said(seq),
      kind: "notice",
      text: "Sorry.",
      after: null,
      edits: null,
    }));
    const entries = [...notices, ...rawHistory(10, { coveredTo: 4 }).entries];
    const cut = chooseCut({
      entries,
      lastCoverable: 14,
      tokens: 280,
      tokensOf,
      goal: { share: 0.3, target: 280 },
    });
    // Three of ten messages; of the eight candidates up to there one more competes.
    assert.deepEqual(cut, { toSeq: 8, tokens: 160, counted: 4 });
  });

  test("holds its promises for every channel", () => {
    const inputs = fc.record({
      steps: anySteps({ maxLength: 120, longest: 600 }),
      gaps: fc.array(fc.integer({ min: -5, max: 600 }), { minLength: 1, maxLength: 30 }),
      lastCoverable: fc.nat({ max: 150 }),
      share: fc.constantFrom(0.3, 0.5),
      target: fc.double({ min: 0, max: 1.1, noNaN: true }),
    });
    fc.assert(
      fc.property(inputs, ({ steps, gaps, lastCoverable, share, target }) => {
        let at = START;
        const entries = new Conversation().run(steps).history.entries.map((entry, index) => {
          at += (gaps[index % gaps.length] ?? 0) * 1000;
          return { ...entry, at: new Date(at) };
        });
        assertCut(entries, lastCoverable, share, target);
      }),
      { numRuns: 300 },
    );
  });
});

/** A cut is legal, reaches the goal wherever one can, and is near the first that does. */
function assertCut(
  entries: readonly Entry[],
  lastCoverable: number,
  share: number,
  targetShare: number,
): void {
  const tokens = entries.reduce((sum, entry) => sum + entry.tokens, 0);
  const target = tokens * targetShare;
  const cut = chooseCut({ entries, lastCoverable, tokens, tokensOf, goal: { share, target } });
  const legal = [...legalCuts(entries)].filter((seq) => seq <= lastCoverable);
  if (cut === null) return assert.deepEqual(legal, []);
  assert.ok(legal.includes(cut.toSeq));
  const isGood = (toSeq: number): boolean => {
    const covered = entries.filter(({ seq }) => seq <= toSeq);
    const counted = covered.filter(isCounted).length;
    const left = covered.reduce((sum, entry) => sum - entry.tokens, tokens);
    return counted >= entries.filter(isCounted).length * share && left <= target;
  };
  const first = legal.findIndex((seq) => isGood(seq));
  if (first === -1) return assert.equal(cut.toSeq, legal.at(-1));
  assert.ok(isGood(cut.toSeq));
  assert.ok(legal.indexOf(cut.toSeq) <= first + Math.floor((first + 1) / 5));
  const covered = entries.filter(({ seq }) => seq <= cut.toSeq);
  assert.equal(
    cut.tokens,
    covered.reduce((sum, entry) => sum + entry.tokens, 0),
  );
  assert.equal(cut.counted, covered.filter(isCounted).length);
}
