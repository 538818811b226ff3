import assert from "node:assert/strict";
import { test } from "node:test";
import {
  canonicalArguments,
  fingerprintOf,
  needsApproval,
  unreadableArguments,
} from "../../src/tools/approval.ts";

const spec = { name: "note", description: "", parameters: {} };

test("the configuration goes over what a tool says of itself; a tool that only reads writes nothing", () => {
  assert.equal(needsApproval({ spec }, {}), false);
  assert.equal(needsApproval({ spec, approve: "always" }, {}), true);
  assert.equal(needsApproval({ spec, approve: "always" }, { note: "never" }), false);
  assert.equal(needsApproval({ spec }, { note: "writes" }), true);
  assert.equal(needsApproval({ spec, approve: "writes", isReadOnly: true }, {}), false);
  assert.equal(needsApproval({ spec, isReadOnly: true }, { note: "always" }), true);
  assert.equal(needsApproval({ spec: { ...spec, name: "constructor" } }, {}), false);
});

test("the same arguments are the same, however they are written; others are not", () => {
  const same = ['{"b":[1,{"d":2,"c":3}],"a":"x"}', '{ "a": "x", "b": [1, {"c": 3.0, "d": 2}] }'];
  assert.deepEqual(same.map(canonicalArguments), Array(2).fill('{"a":"x","b":[1,{"c":3,"d":2}]}'));
  assert.equal(canonicalArguments(" "), "{}");
  assert.throws(() => canonicalArguments("{"), SyntaxError);
  assert.notEqual(canonicalArguments('{"a":[1,2]}'), canonicalArguments('{"a":[2,1]}'));
  assert.notEqual(canonicalArguments('{"a":"1"}'), canonicalArguments('{"a":1}'));
  assert.notEqual(canonicalArguments('{"__proto__":1}'), "{}");
  const numbers = ['{"a":1e999}', '{"a":-1e999}', '{"a":null}', '{"a":0}', '{"a":-0}'].map(
    canonicalArguments,
  );
  assert.equal(new Set(numbers).size, numbers.length);
});

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
