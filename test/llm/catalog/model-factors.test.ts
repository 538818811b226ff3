import assert from "node:assert/strict";
import { test } from "node:test";

import { ModelFactors } from "../../../src/llm/catalog/known-windows.ts";

test("each model has a factor of its own, 1 until its provider has reported", () => {
  const factors = new ModelFactors();
  assert.equal(factors.of("a"), 1);
  factors.learn("a", { estimated: 1000, reported: 1500 });
  assert.equal(factors.of("a"), 1.5);
  factors.learn("a", { estimated: 1000, reported: 1000 });
  const fallen = factors.of("a");
  assert.ok(fallen < 1.5 && fallen > 1.4, String(fallen));
  assert.equal(factors.of("b"), 1);
});
