import assert from "node:assert/strict";
import { test } from "node:test";
import { nearestName } from "../../src/config/nearest-name.ts";

test("a name with a letter wrong, or a part of one name, is taken for that; anything else for none", () => {
  const known = ["context", "compact", "forget", "background_threshold", "aggressive_threshold"];
  assert.equal(nearestName("contxt", known), "context");
  assert.equal(nearestName("FORGET", known), "forget");
  assert.equal(nearestName("background", known), "background_threshold");
  assert.equal(nearestName("threshold", known), null);
  assert.equal(nearestName("whatever", known), null);
  assert.equal(nearestName("x".repeat(1000), known), null);
});
