// proves: src/features/subagents/declaration.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { configErrorFrom, configFrom } from "../../config/folder.ts";

const MAIN = '[[agents]]\nid = "main"\n';

test("subagents are off unless they are switched on, and an agent's own options go over the defaults", (t) => {
  assert.equal(configFrom(t, MAIN).agents[0]?.subagents.enabled, false);
  const defaults =
    '[defaults.subagents]\nenabled = true\nwait_ms = 5\nmax_steps = 3\npersonas = { a-b = "A.", c = "C." }\n';
  const [main] = configFrom(t, `${defaults}${MAIN}[agents.subagents]\nwait_ms = 0\n`).agents;
  assert.deepEqual(main?.subagents, {
    enabled: true,
    waitMs: 0,
    maxParallel: 4,
    maxSteps: 3,
    timeoutMs: 900_000,
    personas: { "a-b": "A.", c: "C." },
  });
});

test("what is wrong with them is said with its line", (t) => {
  const wrong = 'wait_m = 3\nmax_parallel = 0\npersonas = { Big_Name = "a", ok = 3 }\n';
  const told = configErrorFrom(t, `${MAIN}[agents.subagents]\n${wrong}`).message;
  assert.match(told, /config\.toml:4:1 {2}agents\[0\]\.subagents\.wait_m [^]*did you mean `wait_ms`\?/);
  assert.match(told, /config\.toml:5:1 [^]*expected: a whole number of subagents, 1 to 100/);
  assert.match(told, /personas\.Big_Name [^]*under a name of small letters, digits and -/);
  assert.match(told, /personas\.ok [^]*found: {4}3/);
});
