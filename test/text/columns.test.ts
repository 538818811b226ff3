import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { endPosition } from "../../src/text/columns.ts";

describe("where a text ends in a terminal", () => {
  const cases: [text: string, from: number, rows: number, column: number][] = [
    ["", 3, 0, 3],
    ["abc", 0, 0, 3],
    ["abcdefghij", 0, 0, 10],
    ["abcdefghijk", 0, 1, 1],
    ["abc", 9, 1, 2],
    ["a\nbc", 5, 1, 2],
    ["a\n", 5, 1, 0],
    ["日本", 0, 0, 4],
    ["日本語日本", 1, 1, 2],
    ["e\u0301", 0, 0, 1],
    ["\t", 0, 0, 8],
    ["a\tb", 0, 0, 9],
    ["👍", 0, 0, 2],
  ];
  for (const [text, from, rows, column] of cases) {
    test(`${JSON.stringify(text)} from column ${from} of 10`, () => {
      assert.deepEqual(endPosition(from, text, 10), { rows, column });
    });
  }
});
