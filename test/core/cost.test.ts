import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { costOf, type ModelSpending, totalSpending } from "../../src/core/cost.ts";

const PRICES = new Map([
  ["dear", { input: 10, cached: 1, write: 10, output: 50 }],
  ["free", { input: 0, cached: 0, write: 0, output: 0 }],
]);
const priceOf = (model: string) => PRICES.get(model);

function spent(model: string, overrides: Partial<ModelSpending> = {}): ModelSpending {
  return {
    model,
    calls: 1,
    uncounted: 0,
    promptTokens: 1000,
    cachedTokens: 0,
    writtenTokens: 0,
    completionTokens: 100,
    ...overrides,
  };
}

describe("what calls have cost", () => {
  test("is the tokens by their price, those of a cache by theirs", () => {
    assert.equal(costOf([spent("dear")], priceOf).dollars, 0.015);
    assert.equal(costOf([spent("dear", { cachedTokens: 800 })], priceOf).dollars, 0.0078);
    assert.equal(costOf([spent("dear"), spent("dear")], priceOf).dollars, 0.03);
  });

  test("is more for what a provider writes to its cache", () => {
    const written = (tokens: Partial<ModelSpending>) =>
      costOf([spent("written", tokens)], () => ({ input: 10, cached: 1, write: 12.5, output: 50 })).dollars;
    assert.equal(written({ writtenTokens: 1000 }), 0.0175);
    assert.equal(written({ cachedTokens: 800, writtenTokens: 200 }), 0.0083);
    assert.equal(written({ cachedTokens: 800, writtenTokens: 5000 }), 0.0083, "no more than was sent");
  });

  test("is nothing of a model that costs nothing, and unknown, never nothing, of one without a price", () => {
    assert.deepEqual(costOf([spent("free")], priceOf), { dollars: 0, unpriced: [], uncounted: 0 });
    assert.deepEqual(costOf([spent("other")], priceOf), { dollars: null, unpriced: ["other"], uncounted: 0 });
    assert.deepEqual(costOf([], priceOf), { dollars: null, unpriced: [], uncounted: 0 });
    const mixed = costOf([spent("dear"), spent("other"), spent("other")], priceOf);
    assert.deepEqual(mixed, { dollars: 0.015, unpriced: ["other"], uncounted: 0 });
  });

  test("tells of answers that the provider did not count, and is no model's fault that only failed", () => {
    const failed = spent("other", { promptTokens: 0, completionTokens: 0 });
    assert.deepEqual(costOf([failed], priceOf), { dollars: null, unpriced: [], uncounted: 0 });
    assert.equal(costOf([spent("dear", { uncounted: 3 })], priceOf).uncounted, 3);
  });

  test("does not fall below nothing where a provider had more in its cache than was sent", () => {
    assert.equal(
      costOf([spent("dear", { cachedTokens: 5000, completionTokens: 0 })], priceOf).dollars,
      0.001,
    );
  });
});

test("spendings of all models add up", () => {
  assert.deepEqual(
    totalSpending([spent("a"), spent("b", { cachedTokens: 7, writtenTokens: 9, uncounted: 2 })]),
    {
      calls: 2,
      uncounted: 2,
      promptTokens: 2000,
      cachedTokens: 7,
      writtenTokens: 9,
      completionTokens: 200,
    },
  );
});
