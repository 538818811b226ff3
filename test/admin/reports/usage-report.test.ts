import assert from "node:assert/strict";
import { test } from "node:test";
import { formatUsage, parseSince, reportUsage } from "../../../src/admin/reports/usage-report.ts";
import type { Usage } from "../../../src/store/turns/usage.ts";

const SINCE = new Date("2026-11-14T12:00:00Z");
const PRICES = { big: { input: 10, cached: 1, write: 10, output: 50 } };

function used(key: string | null, model: string, tokens: number, overrides: Partial<Usage> = {}): Usage {
  return {
    key,
    name: "",
    model,
    calls: 1,
    uncounted: 0,
    promptTokens: tokens,
    cachedTokens: 0,
    writtenTokens: 0,
    completionTokens: 0,
    ...overrides,
  };
}

function priceOf(model: string): (typeof PRICES)["big"] | undefined {
  return model === "big" ? PRICES.big : undefined;
}

test("what costs most comes first, a part whose price nobody knows is told, and days keep their order", () => {
  const usages = [
    used("cheap", "big", 1000, { cachedTokens: 1000 }),
    used("dear", "big", 100_000, { completionTokens: 2000 }),
    used("dear", "small", 5),
    used("unknown", "small", 50_000, { uncounted: 1 }),
  ];
  const report = reportUsage("agent", SINCE, usages, priceOf);
  assert.deepEqual(
    report.lines.map(({ key, cost: { dollars } }) => [key, dollars]),
    [
      ["dear", 1.1],
      ["cheap", 0.001],
      ["unknown", null],
    ],
  );
  assert.equal(
    formatUsage(report),
    [
      "agent    calls  tokens in  cached  tokens out     cost",
      "-------  -----  ---------  ------  ----------  -------",
      "dear         2    100,005       0       2,000  ≥ $1.10",
      "cheap        1      1,000   1,000           0   $0.001",
      "unknown      1   ~ 50,000       0         ~ 0  unknown",
      "all          4  ~ 151,005   1,000     ~ 2,000  ≥ $1.10",
      "In all: at least $1.10 (no price is known of small; 1 call estimated).",
    ].join("\n"),
  );
  const days = reportUsage(
    "day",
    SINCE,
    [used("2026-11-20", "big", 1), used("2026-11-21", "big", 9)],
    priceOf,
  );
  assert.deepEqual(
    days.lines.map(({ key }) => key),
    ["2026-11-20", "2026-11-21"],
  );
});

test("what no person has asked for is told as such, and one line needs no sum", () => {
  const text = formatUsage(reportUsage("person", SINCE, [used(null, "big", 1_000_000)], priceOf));
  assert.equal(text.split("\n").length, 4);
  assert.match(text, /^\(nobody\) +1 +1,000,000 +0 +0 +\$10\.00$/m);
  assert.match(text, /\(nobody\): summaries, embeddings, transcripts, and work of Weir's own/);
  assert.equal(formatUsage(reportUsage("day", SINCE, [], priceOf)), "No model was called in that time.");
});

test("a time is a length or a day that is past", () => {
  const now = new Date("2026-11-21T12:00:00Z");
  const cases: readonly [string, string | null][] = [
    ["7d", "2026-11-14T12:00:00.000Z"],
    ["1h 30m", "2026-11-21T10:30:00.000Z"],
    ["2026-11-01", "2026-11-01T00:00:00.000Z"],
    ["2026-11-22", null],
    ["2026-13-01", null],
    ["0d", null],
    ["99999w", null],
    ["soon", null],
    ["", null],
  ];
  for (const [said, expected] of cases)
    assert.equal(parseSince(said, now)?.toISOString() ?? null, expected, said);
});
