// proves: src/features/questions/declaration.ts, src/config/camel-case.ts, src/config/checks/check-agents.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { configErrorFrom, configFrom } from "../../config/folder.ts";

test("approvals are set for all agents, and for one; names of tools stay as they are written", (t) => {
  const { agents } = configFrom(
    t,
    `[defaults.approvals]
tools = { search_history = "writes" }
expire_ms = 60000
[[agents]]
id = "one"
[[agents]]
id = "two"
[agents.approvals]
tools = { note = "always", files__write_file = "never" }
approvers = ["discord:1"]`,
  );
  assert.deepEqual(
    agents.map(({ approvals }) => approvals),
    [
      { tools: { search_history: "writes" }, approvers: [], expireMs: 60_000 },
      { tools: { note: "always", files__write_file: "never" }, approvers: ["discord:1"], expireMs: 60_000 },
    ],
  );
});

test("a mistaken tool, mode or person is told with its place and what was meant", (t) => {
  const tool = configErrorFrom(t, '[defaults.approvals]\ntools = { serch_history = "always" }');
  assert.match(tool.message, /config\.toml:2/);
  assert.match(tool.message, /no tool has this name/);
  assert.match(tool.message, /search_history/);
  assert.match(
    configErrorFrom(t, '[defaults.approvals]\ntools = { note = "allways" }').message,
    /each with "always", "never" or "writes"/,
  );
  assert.match(
    configErrorFrom(t, '[defaults.approvals]\ntools = { hand_off = "always" }').message,
    /a turn ends with hand_off, which can wait for no approval/,
  );
  assert.match(configErrorFrom(t, '[defaults.approvals]\napprovers = ["123"]').message, /this names nobody/);
  assert.deepEqual(
    configFrom(t, '[defaults.approvals]\ntools = { files__note = "always" }').agents[0]?.approvals.tools,
    {
      files__note: "always",
    },
  );
});
