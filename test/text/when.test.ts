// proves: src/text/when.ts, src/async/occurrences.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { cronProblem, instantOf, nextOccurrence, pastOccurrences } from "../../src/async/occurrences.ts";
import { isTimeZone, parseSpan, whenAt, whenIn } from "../../src/text/when.ts";

const NOW = new Date("2026-11-25T04:30:00Z");

function at(when: ReturnType<typeof whenAt>): string {
  return "at" in when ? when.at.toISOString() : when.problem;
}

describe("a time that is to come", () => {
  test("is so long ahead", () => {
    const spans: [string, number][] = [
      ["20m", 20],
      ["1h30m", 90],
      ["3 days", 3 * 1440],
      ["2 weeks and 1 day", 15 * 1440],
      ["1 hour, 5 min", 65],
      ["90 SECONDS", 1.5],
    ];
    for (const [text, minutes] of spans) assert.equal(parseSpan(text), minutes * 60_000, text);
    for (const text of ["", "20", "m", "5 months", "-5m", "20m later", "9999999m", "1e3m", "20 m x"])
      assert.equal(parseSpan(text), null, text);
    assert.equal(at(whenIn("0m", NOW)), "that is now");
    assert.equal(at(whenIn("9999w", NOW)), "that is more than 5 years ahead");
  });

  test("is a time of the wall clock of its zone", () => {
    const times: [string, string][] = [
      ["18:30", "2026-11-25T17:30:00.000Z"],
      ["05:00", "2026-11-26T04:00:00.000Z"],
      ["5:31", "2026-11-25T04:31:00.000Z"],
      ["05:30", "2026-11-26T04:30:00.000Z"],
      ["tomorrow 9:00", "2026-11-26T08:00:00.000Z"],
      ["2026-12-01 09:00", "2026-12-01T08:00:00.000Z"],
      ["2026-12-01T09:00:00Z", "2026-12-01T09:00:00.000Z"],
      ["2026-12-01 09:00+05:30", "2026-12-01T03:30:00.000Z"],
      ["2026-02-30 09:00", '"2026-02-30 09:00" is no time'],
      ["24:00", '"24:00" is no time'],
      ["2026-11-25 05:30", "that time is past"],
      ["2032-01-01 00:00", "that is more than 5 years ahead"],
    ];
    for (const [text, expected] of times)
      assert.equal(at(whenAt(text, "Europe/Berlin", NOW)), expected, text);
    assert.deepEqual(["Europe/Berlin", "UTC", "+02:00", "Mars/Base", "", "x".repeat(5000)].map(isTimeZone), [
      true,
      true,
      false,
      false,
      false,
      false,
    ]);
  });

  test("exists where the clocks change: as much later as is missing, and of two the first", () => {
    const instants: [string, string, string][] = [
      ["2026-03-29T02:30", "Europe/Berlin", "2026-03-29T01:30:00.000Z"],
      ["2026-10-25T02:30", "Europe/Berlin", "2026-10-25T00:30:00.000Z"],
      ["2026-03-08T02:30", "America/New_York", "2026-03-08T07:30:00.000Z"],
      ["2026-11-01T01:30", "America/New_York", "2026-11-01T05:30:00.000Z"],
      ["2026-07-01T12:00", "Pacific/Kiritimati", "2026-06-30T22:00:00.000Z"],
      ["2026-07-01T12:00", "Pacific/Niue", "2026-07-01T23:00:00.000Z"],
    ];
    for (const [local, zone, expected] of instants)
      assert.equal(instantOf(local, zone)?.toISOString(), expected, `${local} ${zone}`);
  });
});

function runs(cron: string, timeZone: string, from: string, count: number): string[] {
  const found: string[] = [];
  for (let behind = new Date(from); found.length < count;) {
    const next = nextOccurrence({ cron, timeZone }, behind);
    assert.ok(next !== null);
    found.push(next.toISOString().slice(0, 16));
    behind = next;
  }
  return found;
}

describe("what comes again", () => {
  test("keeps to the wall clock when the clocks change: never left out, never twice", () => {
    const changes: [string, string, string, string[]][] = [
      ["30 2 * * *", "Europe/Berlin", "2026-03-28T12:00Z", ["2026-03-29T01:00", "2026-03-30T00:30"]],
      ["30 2 * * *", "Europe/Berlin", "2026-10-24T12:00Z", ["2026-10-25T00:30", "2026-10-26T01:30"]],
      ["30 2 * * *", "America/New_York", "2026-03-07T12:00Z", ["2026-03-08T07:00", "2026-03-09T06:30"]],
      ["30 1 * * *", "America/New_York", "2026-10-31T12:00Z", ["2026-11-01T05:30", "2026-11-02T06:30"]],
      [
        "0,30 2 * * *",
        "Europe/Berlin",
        "2026-10-24T12:00Z",
        ["2026-10-25T00:00", "2026-10-25T00:30", "2026-10-26T01:00"],
      ],
      ["0 9 * * 1-5", "Europe/Berlin", "2026-03-27T12:00Z", ["2026-03-30T07:00", "2026-03-31T07:00"]],
    ];
    for (const [cron, zone, from, expected] of changes)
      assert.deepEqual(runs(cron, zone, from, expected.length), expected, `${cron} ${zone}`);
    // What comes each half hour does so in the hour that comes twice, too.
    assert.deepEqual(runs("*/30 * * * *", "Europe/Berlin", "2026-10-25T00:29Z", 4), [
      "2026-10-25T00:30",
      "2026-10-25T01:00",
      "2026-10-25T01:30",
      "2026-10-25T02:00",
    ]);
  });

  test("comes at most every five minutes, and comes at all", () => {
    const none = "it is no cron expression of five fields";
    const problems: [string, string | null][] = [
      ["0 9 * * 1-5", null],
      ["*/5 * * * *", null],
      ["@daily", null],
      ["* * * * *", "oftener"],
      ["*/4 * * * *", "oftener"],
      ["0,1 0 1 1 *", "oftener"],
      ["58,2 9,10 * * *", "oftener"],
      ["0 0 30 2 *", "it never comes"],
      ["0 9 * * * *", none],
      ["61 * * * *", none],
      ["", none],
      ["'; drop table reminders", none],
    ];
    for (const [cron, expected] of problems) {
      const problem = cronProblem(cron, "Europe/Berlin", NOW);
      assert.ok(expected === null ? problem === null : problem?.includes(expected), `${cron}: ${problem}`);
    }
  });

  test("is counted where it was missed, as far as that matters", () => {
    const daily = { cron: "0 4 * * *", timeZone: "UTC" };
    const past = (rule: typeof daily, from: string) => pastOccurrences(rule, new Date(from), NOW);
    assert.deepEqual(past(daily, "2026-11-20T04:00Z"), { last: new Date("2026-11-25T04:00Z"), before: 5 });
    assert.deepEqual(past(daily, "2026-11-25T04:00Z"), { last: new Date("2026-11-25T04:00Z"), before: 0 });
    const often = past({ cron: "*/5 * * * *", timeZone: "UTC" }, "2026-09-01T00:00Z");
    assert.deepEqual(often, { last: NOW, before: 1000 });
  });
});
