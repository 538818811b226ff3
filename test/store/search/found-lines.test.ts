import assert from "node:assert/strict";
import { test } from "node:test";
import { readLines } from "../../../src/store/search/found-lines.ts";

test("lines are read by seq, with what is known of each", () => {
  const told = [
    "12\t?\t1700000000\tAnn\t ann tea tea ",
    "3\tl?\t1700000001\tBen\t tea ",
    "7\t\t\t\t kettl ",
    "8\t\t-5\t\t",
  ].join("\n");
  assert.deepEqual(readLines(told), [
    { seq: 3, at: 1_700_000_001_000, author: "Ben", asks: true, words: " tea ", length: 200 },
    { seq: 7, at: null, author: "", asks: false, words: " kettl ", length: null },
    { seq: 8, at: -5000, author: "", asks: false, words: "", length: 0 },
    { seq: 12, at: 1_700_000_000_000, author: "Ann", asks: true, words: " ann tea tea ", length: 3 },
  ]);
  assert.deepEqual(readLines(null), []);
});
