// proves: src/memory/history-search.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { askedPeriod } from "../../src/memory/history-search.ts";

/** A Saturday. */
const TODAY = "2026-11-21";

function isRead(rows: readonly (readonly [text: string, from: string | null, to: string | null])[]): void {
  for (const [text, from, to] of rows) assert.deepEqual(askedPeriod(text, TODAY), { from, to }, text);
}

describe("the days that a model asks for", () => {
  test("are dates, months, and ranges of them", () => {
    isRead([
      ["2026-05-07", "2026-05-07", "2026-05-07"],
      ["2026-05", "2026-05-01", "2026-05-31"],
      ["2026-05-01/2026-05-07", "2026-05-01", "2026-05-07"],
      ["2026-03/2026-05", "2026-03-01", "2026-05-31"],
      ["from 1 May to 7 May", "2026-05-01", "2026-05-07"],
      ["1-7 May 2025", "2025-05-01", "2025-05-07"],
    ]);
  });

  test("are words, of which those of the past are meant", () => {
    isRead([
      ["last week", "2026-11-09", "2026-11-15"],
      [" Yesterday ", "2026-11-20", "2026-11-20"],
      ["on Friday", "2026-11-20", "2026-11-20"],
      ["in March", "2026-03-01", "2026-03-31"],
      ["March", "2026-03-01", "2026-03-31"],
      ["3 December", "2025-12-03", "2025-12-03"],
      ["letzte Woche", "2026-11-09", "2026-11-15"],
      ["two days ago", "2026-11-19", "2026-11-19"],
    ]);
  });

  test("have one end, where the words say so", () => {
    isRead([
      ["since March", "2026-03-01", null],
      ["from 3 May", "2026-05-03", null],
      ["after 3 May 2026", "2026-05-04", null],
      ["until yesterday", null, "2026-11-20"],
      ["before 2026-05", null, "2026-04-30"],
      ["the last 7 days", "2026-11-14", null],
      ["past two days", "2026-11-19", null],
    ]);
  });

  test("are none, where the text names no time", () => {
    for (const text of ["", "some time", "since", "before then", "the last straw", "2026-13-01", "31 June"])
      assert.equal(askedPeriod(text, TODAY), null, text);
  });
});
