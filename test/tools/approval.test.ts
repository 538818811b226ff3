import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalArguments, fingerprintOf, needsApproval } from "../../src/tools/approval.ts";

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
  assert.notEqual(fingerprintOf("note", "{}"), fingerprintOf("notes", "{}"));
  assert.notEqual(canonicalArguments('{"__proto__":1}'), "{}");
});
