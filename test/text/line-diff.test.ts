// proves: src/text/line-diff.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { lineDiff } from "../../src/text/line-diff.ts";

function drawn(from: string, to: string, around = 0): string {
  const marks = { same: " ", removed: "-", added: "+" };
  return lineDiff(from, to, around)
    .map(({ kind, number, text }) => `${marks[kind]}${number}${text}`)
    .join(" ");
}

test("equal texts have no difference", () => {
  assert.equal(drawn("a\nb", "a\nb", 5), "");
});

test("changed, added and removed lines are named with their numbers, each once", () => {
  assert.equal(drawn("a\nb\nc\nd\ne", "a\nB\nc\ne\nf"), "-2b +2B -4d +5f");
  assert.equal(drawn("", "a"), "-1 +1a");
  assert.equal(drawn("a\n", "a"), "-2");
  assert.equal(drawn("x\nx\nx", "x\nx"), "-3x");
});

test("lines around are shown once", () => {
  assert.equal(drawn("1\n2\n3\n4\n5\n6\n7", "1\n2\nx\n4\nx\n6\n7", 1), " 22 -33 +3x  44 -55 +5x  66");
});

test("every difference turns the first text into the second, also where too many lines are compared", () => {
  const lines = (count: number, by: number): string =>
    Array.from({ length: count }, (_, index) => String((index * by) % 7)).join("\n");
  for (const [from, to] of [
    [lines(50, 3), lines(60, 5)],
    [lines(2500, 3), `x\n${lines(2600, 5)}\ny`],
  ] as const) {
    const all = lineDiff(from, to, 10_000);
    const without = (kind: string): string =>
      all
        .filter((line) => line.kind !== kind)
        .map(({ text }) => text)
        .join("\n");
    assert.equal(without("removed"), to);
    assert.equal(without("added"), from);
  }
});
