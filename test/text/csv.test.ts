import assert from "node:assert/strict";
import { test } from "node:test";
import { csvOf } from "../../src/text/csv.ts";

test("cells are quoted, and no cell is a formula to a spreadsheet", () => {
  assert.equal(
    csvOf([
      ["day", 'a "b", c'],
      ["2026-11-21", "1\n2"],
    ]),
    '"day","a ""b"", c"\r\n"2026-11-21","1\n2"\r\n',
  );
  for (const begin of ["=", "+", "-", "@", "\t", "\r", "\n", " =", "|", "%"])
    assert.equal(csvOf([[`${begin}1+1`]]), `"'${begin}1+1"\r\n`);
  assert.equal(csvOf([["", "12", "0.5"]]), '"","12","0.5"\r\n');
});
