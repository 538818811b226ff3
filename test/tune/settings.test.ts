import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { leafPaths } from "../../src/config/schema-walk.ts";
import { OperatorError } from "../../src/core/errors.ts";
import { settingOf, TUNABLE_KEYS, variantsOf } from "../../src/tune/settings.ts";
import { defaultAgent } from "../context/agent.ts";

describe("what --set asks for", () => {
  test("is a column for all settings, and one for each of several values", () => {
    assert.deepEqual(variantsOf([]), []);
    assert.deepEqual(variantsOf(["compaction.target = 0.4", "context_window=65_536"]), [
      [
        { key: "compaction.target", value: 0.4 },
        { key: "context_window", value: 65_536 },
      ],
    ]);
    const written = variantsOf(["compaction.write_ahead=true,false", "context_window=8192"]);
    assert.deepEqual(
      written.map((variant) => variant.map(({ value }) => value)),
      [
        [true, 8192],
        [false, 8192],
      ],
    );
    const all = variantsOf(["a=1,2", "b=x, y"]);
    assert.deepEqual(
      all.map((variant) => variant.map(({ value }) => value)),
      [
        [1, "x"],
        [1, "y"],
        [2, "x"],
        [2, "y"],
      ],
    );
  });

  test("is refused where it is no setting, is named twice, or cannot be read side by side", () => {
    for (const text of ["", "=", "target", "target=", "=1", "target=1,,2", "a b=1", `x\u0000=1`, "\ud800"])
      assert.throws(() => variantsOf([text]), OperatorError, text);
    assert.throws(() => variantsOf(["a=1", "a=2"]), /names a twice.*--set a=A,B/);
    assert.throws(() => variantsOf(["a=1,2,3", "b=1,2,3"]), /9 columns/);
    assert.throws(
      () => variantsOf(["x".repeat(100_000)]),
      ({ message }: Error) => message.length < 300,
    );
  });
});

test("what can be tried are options of an agent, and today's value of each is known", () => {
  const known = new Set(leafPaths(["defaults"]).map((path) => path.slice(1).join(".")));
  const agent = defaultAgent().config;
  for (const key of TUNABLE_KEYS) {
    assert.ok(known.has(key), key);
    assert.notEqual(settingOf(agent, key), "");
  }
  assert.equal(settingOf(agent, "compaction.target"), "0.6");
  assert.equal(settingOf(agent, "constructor"), "");
});
