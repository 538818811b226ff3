import assert from "node:assert/strict";
import { test } from "node:test";

import * as fc from "fast-check";

import { askedDates } from "../../src/memory/asked-dates.ts";

const NOW = Date.UTC(2026, 4, 20);

function asked(question: string): string[] {
  return askedDates(question, NOW).map(({ from, to }) => {
    const [first, end] = [new Date(from), new Date(to)].map((date) => date.toISOString().slice(0, 10));
    return `${first}..${end}`;
  });
}

test("a day or a month that a question names is a range of time", () => {
  const day = ["2026-05-07..2026-05-08"];
  for (const text of [
    "on 2026-05-07?",
    "7 May 2026",
    "the 7th of May, 2026",
    "May 7, 2026",
    "may 7th",
    "2026年5月7日",
    "5月7日",
  ])
    assert.deepEqual(asked(text), day, text);
  for (const text of ["in 2026-05", "in May 2026", "May, 2026", "2026年5月"])
    assert.deepEqual(asked(text), ["2026-05-01..2026-06-01"], text);
});

test("a date without a year is the last one that has begun", () => {
  assert.deepEqual(asked("on June 3"), ["2025-06-03..2025-06-04"]);
  assert.deepEqual(asked("on 20 May"), ["2026-05-20..2026-05-21"]);
});

test("what is no date is none: a month alone, a time, a day that no month has, parts of numbers", () => {
  for (const text of [
    "may I?",
    "May is here",
    "at May 7:30",
    "on 31 June 2026",
    "2026-13-01",
    "call 12026-05-07",
    "99月1日",
    "",
  ])
    assert.deepEqual(asked(text), [], text);
});

test("whatever is asked, there are few ranges, and each has a beginning and an end", () => {
  const part = fc.constantFrom(
    "7",
    "31",
    "May",
    "February",
    " ",
    ",",
    "2026",
    "-",
    "年",
    "月",
    "日",
    "th",
    "of",
  );
  fc.assert(
    fc.property(fc.array(part, { maxLength: 60 }), (parts) => {
      const dates = askedDates(parts.join(""), NOW);
      assert.ok(dates.length <= 4);
      for (const { from, to } of dates) assert.ok(from < to && to - from <= 31 * 24 * 3_600_000);
    }),
  );
});
