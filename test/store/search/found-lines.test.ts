import assert from "node:assert/strict";
import { test } from "node:test";
import { linesOf } from "../../support/found-lines.ts";
import { readLines } from "../../../src/store/search/found-lines.ts";

const TOLD = [
  "12\t?\t1700000000\tAnn\t ann tea tea ",
  "3\tl?\t1700000001\tBen\t tea ",
  "7\t\t0\t\t kettl ",
  "8\t\t-5\t\t",
].join("\n");

test("lines are read by seq, with what is known of each", () => {
  const lines = readLines(TOLD);
  assert.deepEqual(linesOf(lines), [
    { seq: 3, at: 1_700_000_001_000, author: "Ben", asks: true, words: " tea ", length: 200 },
    { seq: 7, at: 0, author: "", asks: false, words: " kettl ", length: 1 },
    { seq: 8, at: -5000, author: "", asks: false, words: "", length: 0 },
    { seq: 12, at: 1_700_000_000_000, author: "Ann", asks: true, words: " ann tea tea ", length: 3 },
  ]);
  assert.deepEqual(lines.authors, ["Ben", "", "Ann"]);
  assert.deepEqual(linesOf(readLines(null)), []);
});

test("what several tell is read together, of one line the last", () => {
  const more = ["9\t\t1700000002\tAnn\t boat ", "12\tl\t1700000000\tAnn\t tea boat "].join("\n");
  assert.deepEqual(linesOf(readLines(null, TOLD, more)), [
    ...linesOf(readLines(TOLD)).slice(0, 3),
    { seq: 9, at: 1_700_000_002_000, author: "Ann", asks: false, words: " boat ", length: 1 },
    { seq: 12, at: 1_700_000_000_000, author: "Ann", asks: false, words: " tea boat ", length: 200 },
  ]);
  assert.deepEqual(linesOf(readLines(TOLD, null)), linesOf(readLines(TOLD)));
});
