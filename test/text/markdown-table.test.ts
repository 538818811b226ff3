import assert from "node:assert/strict";
import { suite, test } from "node:test";
import { alignColumns, cellsOf } from "../../src/text/markdown-table.ts";

const STYLE = { gap: " | ", ruleGap: "-+-", minWidth: 0 };

suite("the columns of a Markdown table", () => {
  test("are aligned by the cells that a fixed-width font takes", () => {
    const rows = [["name", "n"], ["日本語", "1"], ["カフェ☕", "2"], ["abc"]];
    assert.deepEqual(alignColumns(rows, STYLE), [
      "name     | n",
      "---------+--",
      "日本語   | 1",
      "カフェ☕ | 2",
      "abc      |",
    ]);
  });

  test("have a width at least", () => {
    assert.deepEqual(alignColumns([["a"], ["b"]], { ...STYLE, minWidth: 3 }), ["a", "---", "b"]);
  });

  test("a bar behind a backslash stays in its cell", () => {
    assert.deepEqual(cellsOf(String.raw`| a \| b | c |`), ["a | b", "c"]);
  });
});
