import assert from "node:assert/strict";
import { test } from "node:test";
import type { AgentConfig } from "../../../src/config/config.ts";
import { configuredBy } from "../../../src/features/features.ts";
import { asksFirst, type Tool } from "../../../src/tools/tool.ts";
import { defaultAgent } from "../../context/agent.ts";

const tool: Tool = { spec: { name: "note", description: "", parameters: {} }, run: assert.fail };

test("the configuration goes over what a tool says of itself; a tool that only reads writes nothing", () => {
  const { config } = defaultAgent();
  const asks = (one: Partial<Tool>, tools: AgentConfig["approvals"]["tools"]): boolean =>
    asksFirst(configuredBy({ ...config, approvals: { ...config.approvals, tools } })({ ...tool, ...one }));
  assert.equal(asks({}, {}), false);
  assert.equal(asks({ asks: "always" }, {}), true);
  assert.equal(asks({ asks: "always" }, { note: "never" }), false);
  assert.equal(asks({}, { note: "writes" }), true);
  assert.equal(asks({ asks: "writes", isReadOnly: true }, {}), false);
  assert.equal(asks({ isReadOnly: true }, { note: "always" }), true);
  assert.equal(asks({ spec: { ...tool.spec, name: "constructor" } }, {}), false);
});
