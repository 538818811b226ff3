import assert from "node:assert/strict";
import { test } from "node:test";
import { fingerprintOf, unreadableArguments } from "../../../src/features/questions/call-fingerprint.ts";

const spec = { name: "note", description: "", parameters: {} };

test("a call is told from that of another tool, also of one that has its name from another server", () => {
  const calls = [
    { spec },
    { spec: { ...spec, name: "notes" } },
    { spec, identity: "one server" },
    { spec, identity: "another" },
  ].map((tool) => fingerprintOf(tool, "{}"));
  assert.equal(new Set(calls).size, calls.length);
});

test("nobody is asked about what nobody can read", () => {
  const nested = (levels: number): string => `{"a":${"[".repeat(levels - 1)}${"]".repeat(levels - 1)}}`;
  assert.equal(unreadableArguments(nested(32)), null);
  assert.equal(unreadableArguments(""), null);
  assert.match(unreadableArguments(nested(40)) ?? "", /over 32 levels/);
  assert.match(unreadableArguments(nested(24_000)) ?? "", /over 32 levels/);
  assert.match(unreadableArguments('{"a":[1e999]}') ?? "", /too large/);
  assert.match(unreadableArguments(`{"a":"${"x".repeat(50_000)}"}`) ?? "", /over 50,000 characters/);
});
