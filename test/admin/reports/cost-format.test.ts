import assert from "node:assert/strict";
import { test } from "node:test";
import { describeCost, describeSpending } from "../../../src/admin/reports/cost-format.ts";
import { formatDollars } from "../../../src/text/format.ts";

test("money is told in dollars, small sums to a hundredth of a cent", () => {
  const told = new Map([
    [0, "$0.00"],
    [0.000_01, "under $0.0001"],
    [0.0123, "$0.0123"],
    [0.5, "$0.50"],
    [12.345, "$12.35"],
    [1_234_567, "$1,234,567.00"],
  ]);
  for (const [dollars, text] of told) assert.equal(formatDollars(dollars), text);
});

test("a cost says what it does not know", () => {
  assert.equal(describeCost({ dollars: 0.0123, unpriced: [], uncounted: 0 }), "$0.0123");
  assert.equal(
    describeCost({ dollars: 0.0123, unpriced: ["a", "b\u001b[2J"], uncounted: 2 }),
    "at least $0.0123 (no price is known of a, b␛[2J; 2 calls estimated)",
  );
  assert.equal(
    describeCost({ dollars: 0.0123, unpriced: [], uncounted: 1 }),
    "about $0.0123 (1 call estimated)",
  );
  assert.equal(
    describeCost({ dollars: null, unpriced: ["a"], uncounted: 0 }),
    "cost unknown (no price is known of a)",
  );
});

test("what was spent is told with its cached share", () => {
  const one = {
    calls: 3,
    uncounted: 0,
    promptTokens: 12_000,
    cachedTokens: 9000,
    writtenTokens: 0,
    completionTokens: 678,
  };
  const price = { input: 1, cached: 0.1, write: 1, output: 2 };
  assert.equal(
    describeSpending([{ model: "m", ...one }], () => price),
    "3 model calls, 12,000 tokens in (9,000 cached, 75 %), 678 out; $0.0053",
  );
});
