import assert from "node:assert/strict";
import { describe, test } from "node:test";
import fc from "fast-check";
import { isNamed, namedTimes, parseTime, statedTime } from "../../src/memory/named-times.ts";
import { cpuMs } from "../support/cpu-time.ts";
import { anyCharacter } from "../support/any-character.ts";

/** A Wednesday. */
const SAID = "2026-11-25";

function told(text: string): string {
  return namedTimes(text, SAID)
    .map(({ from, to }) => (from === to ? from : `${from}/${to}`))
    .join(" ");
}

describe("the days that a text names", () => {
  for (const [text, days] of [
    ["it is due on 2026-12-03", "2026-12-03"],
    ["we ship on 3 December", "2025-12-03 2026-12-03"],
    ["due Dec 3rd, 2027", "2027-12-03"],
    ["am 3. Dezember", "2025-12-03 2026-12-03"],
    ["am 3.12.2026", "2026-12-03"],
    ["from 3 to 7 December 2026", "2026-12-03 2026-12-07"],
    ["December 3-7, 2026", "2026-12-03 2026-12-07"],
    ["2026年12月3日", "2026-12-03"],
    ["see you tomorrow", "2026-11-26"],
    ["the day after tomorrow", "2026-11-27"],
    ["bis übermorgen, guten Morgen", "2026-11-27"],
    ["昨日の会議", "2026-11-24"],
    ["what was it last week?", "2026-11-16/2026-11-22"],
    ["nächste Woche", "2026-11-30/2026-12-06"],
    ["先週の会議", "2026-11-16/2026-11-22"],
    ["last weekend", "2026-11-21/2026-11-22"],
    ["last month", "2026-10-01/2026-10-31"],
    ["next year", "2027-01-01/2027-12-31"],
    ["last summer we went", "2026-06-01/2026-08-31"],
    ["last winter", "2025-12-01/2026-02-28"],
    ["in May", "2026-05-01/2026-05-31 2027-05-01/2027-05-31"],
    ["last May", "2026-05-01/2026-05-31"],
    ["back in 2024", "2024-01-01/2024-12-31"],
    ["three days ago", "2026-11-22"],
    ["in two weeks", "2026-12-06/2026-12-12"],
    ["vor drei Monaten", "2026-08-01/2026-08-31"],
    ["3日前", "2026-11-22"],
    ["we met on friday", "2026-11-20 2026-11-27"],
    ["last friday", "2026-11-20"],
    ["next friday", "2026-11-27 2026-12-04"],
    ["on wednesday", "2026-11-25"],
    ["I may come, this may be, she sat in the sun", ""],
    ["version 1.2.3 costs 3.50", ""],
    ["on 31 June 2026", ""],
    ["", ""],
  ] as const)
    test(`are ${days || "none"} in "${text}"`, () => assert.equal(told(text), days));
});

test("named days are few and in order, whatever the text, the day and its length", () => {
  const word = fc.constantFrom(
    "last",
    "next",
    "in",
    "may",
    "3",
    "friday",
    "week",
    "ago",
    "a",
    "2026-12-03",
    "先週",
    "to",
    "..",
  );
  const text = fc.oneof(
    fc.string({ unit: anyCharacter, maxLength: 200 }),
    fc.array(word).map((words) => words.join(" ")),
  );
  const day = fc.date({ min: new Date("1971-01-01"), max: new Date("2099-01-01"), noInvalidDate: true });
  fc.assert(
    fc.property(text, day, (one, at) => {
      const found = namedTimes(one, at.toISOString().slice(0, 10));
      assert.ok(found.length <= 12);
      for (const { from, to } of found)
        assert.ok(/^\d{4}-\d\d-\d\d$/.test(from) && from <= to, `${from} ${to}`);
    }),
  );
  const ms = cpuMs(() => {
    for (const part of ["1 ", "last ", "3 to 3 to ", "a couple of ", "1."])
      namedTimes(part.repeat(200_000), SAID);
  });
  assert.ok(ms < 1000, `${ms} ms`);
});

describe("the time that a statement tells of", () => {
  const day = (from: string, to = from): { from: string; to: string } => ({ from, to });
  for (const [statement, quote, time] of [
    ["We ship on 2026-12-03.", "on 3 December", day("2026-12-03")],
    ["The fair is from 2026-12-01 to 2026-12-07.", "the fair", day("2026-12-01", "2026-12-07")],
    ["The release is in 2026-12.", "in a month", day("2026-12-01", "2026-12-31")],
    ["Ann (2026-11-25): we meet tomorrow", "we meet tomorrow", day("2026-11-26")],
    ["Ann decided on 2026-11-25 to wait.", "let us wait", null],
    ["We ship on 3 December.", "on 3 December", null],
    ["Ann meets Ben on Friday.", "on friday", null],
    ["Ann drinks tea.", "tea", null],
  ] as const)
    test(`is ${time === null ? "not known" : time.from} of "${statement}"`, () =>
      assert.deepEqual(statedTime(statement, quote, SAID), time));
});

test("a time is a day, a month or a range of them", () => {
  assert.deepEqual(parseTime("2026-12-03"), { from: "2026-12-03", to: "2026-12-03" });
  assert.deepEqual(parseTime(" 2026-12 "), { from: "2026-12-01", to: "2026-12-31" });
  assert.deepEqual(parseTime("2026-12-01/2026-12-07"), { from: "2026-12-01", to: "2026-12-07" });
  for (const text of [
    "",
    "soon",
    "2026",
    "2026-02-31",
    "2026-12-07/2026-12-01",
    "2026-12-01/",
    "2026-12-03T10:00Z",
  ])
    assert.equal(parseTime(text), null, text);
});

test("a time is named where its first and its last day are, give or take one", () => {
  const week = namedTimes("last week", SAID);
  assert.ok(isNamed({ from: "2026-11-15", to: "2026-11-21" }, week), "where weeks begin on Sunday");
  assert.ok(isNamed({ from: "2026-11-18", to: "2026-11-18" }, week));
  assert.ok(!isNamed({ from: "2026-11-16", to: "2026-11-28" }, week));
  assert.ok(!isNamed({ from: "2026-11-18", to: "2026-11-18" }, []));
});
