import assert from "node:assert/strict";
import { test } from "node:test";
import { verdictIn } from "../../bench/eval/judge.ts";
import { type Asked, rightShare, spentSince } from "../../bench/eval/score.ts";

function asked(question: string, run: number, isRight: boolean | null): Asked {
  return { question, category: "", run, answer: "", isRight, spent: [] };
}

test("the share of right answers counts each question once, whatever its runs, and none that got no mark", () => {
  const all = [asked("a", 1, true), asked("a", 2, false), asked("b", 1, true), asked("b", 2, null)];
  const { mean, from, to } = rightShare(all);
  assert.equal(mean, 0.75);
  assert.deepEqual([from, to], [0.5, 1], "drawn by question: both a, or both b, at the most");
  assert.ok(Number.isNaN(rightShare([]).mean));
});

test("more questions make the interval narrower, and it holds the mean", () => {
  const widths = [20, 500].map((count) => {
    const { mean, from, to } = rightShare(
      Array.from({ length: count }, (_, one) => asked(`q${one}`, 1, one % 2 === 0)),
    );
    assert.ok(from <= mean && mean <= to);
    return to - from;
  });
  assert.ok((widths[1] ?? 1) < (widths[0] ?? 0) / 3, widths.join());
});

test("a judge's last word counts, and no other", () => {
  assert.equal(verdictIn("RIGHT"), true);
  assert.equal(verdictIn("It is not WRONG, so: RIGHT."), true);
  assert.equal(verdictIn("WRONG"), false);
  assert.equal(verdictIn("I would say right"), null);
  assert.equal(verdictIn(""), null);
});

test("what was spent since is the difference, by model", () => {
  const spending = (model: string, calls: number, promptTokens: number) => {
    return {
      model,
      calls,
      uncounted: 0,
      promptTokens,
      cachedTokens: 0,
      writtenTokens: 0,
      completionTokens: 1 * calls,
    };
  };
  assert.deepEqual(
    spentSince(
      [spending("a", 3, 30), spending("b", 1, 7), spending("c", 2, 5)],
      [spending("a", 1, 10), spending("c", 2, 5)],
    ),
    [spending("a", 2, 20), spending("b", 1, 7)],
  );
});
