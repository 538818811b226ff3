import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createAgents } from "../src/agents.ts";
import { loadConfig } from "../src/config/load.ts";
import { openModels } from "../src/llm/model-provider.ts";
import { loadPrompts } from "../src/prompts/load.ts";

const prompts = loadPrompts({ dir: join(import.meta.dirname, "../prompts/en") });

test("what a server says of a model's window does not change the tools of agents with a configured one", async () => {
  const config = loadConfig({ cwd: import.meta.dirname, env: {} });
  const agents = config.agents.map((agent) => ({ ...agent, contextWindow: 32_000 }));
  await using models = await openModels(config.llm);
  const toolsOf = (): string[] => {
    const { agent } = createAgents({ ...config, agents }, models, prompts).first;
    return agent.tools.map(({ spec }) => spec.name);
  };
  const before = toolsOf();
  assert.ok(before.includes("read_messages"));
  for (const { model } of agents) models.learnWindow(model, 6000);
  assert.equal(models.windowOf(agents[0]?.model ?? "", 32_000), 6000);
  assert.deepEqual(toolsOf(), before);
});
