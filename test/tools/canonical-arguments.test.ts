import assert from "node:assert/strict";
import { test } from "node:test";
import { canonicalArguments } from "../../src/tools/canonical-arguments.ts";

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
