import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { createAgents } from "../src/agents.ts";
import { OperatorError } from "../src/core/errors.ts";
import { loadConfig } from "../src/config/load.ts";
import { openModels } from "../src/llm/model-provider.ts";
import { loadPrompts } from "../src/prompts/load.ts";
import { folderWith } from "./config/folder.ts";

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

test("the default agent has room in a small window, whether it is configured or the server's, with fewer tools", async () => {
  const config = loadConfig({ cwd: import.meta.dirname, env: {} });
  const few = ["memory_recall", "react", "remind", "search_history", "skip"];
  const cases = [
    { window: 4096, names: few },
    { window: 4999, names: few },
    { window: 5000, names: [...few, "ask"].toSorted() },
    { window: 8192, names: [...few, "ask", "read_messages"].toSorted() },
  ];
  for (const { window, names } of cases)
    for (const contextWindow of [window, 0]) {
      await using models = await openModels(config.llm);
      const agents = config.agents.map((agent) => ({ ...agent, contextWindow }));
      if (contextWindow === 0) for (const { model } of agents) models.learnWindow(model, window);
      const { agent } = createAgents({ ...config, agents }, models, prompts).first;
      assert.deepEqual(
        agent.tools.map(({ spec }) => spec.name),
        names,
        `${window}`,
      );
    }
});

test("an agent without room is told what its prompt and its tools take, and what leaves tools out", async (t) => {
  const long = `context_window = 8192\ninstructions = "${"word ".repeat(4000)}"\nfiles.attach = true\nsubagents.enabled = true`;
  const refusalOf = async (lines: string): Promise<string> => {
    const cwd = folderWith(t, { "config.toml": `[[agents]]\nid = "main"\n${lines}`, "agents/main/keep": "" });
    const config = loadConfig({ cwd, env: {} });
    await using models = await openModels(config.llm);
    try {
      createAgents(config, models, prompts);
    } catch (error) {
      assert.ok(error instanceof OperatorError);
      return error.message;
    }
    throw new Error("it is not refused");
  };
  const told = await refusalOf(long);
  const [whole = 0, prompt = 0, tools = 0] = (
    /take about (\d+) tokens \(prompt (\d+), tools (\d+)\)/.exec(told)?.slice(1) ?? []
  ).map(Number);
  assert.ok(prompt > 4000 && tools > 1000 && prompt + tools === whole, told);
  const options = [
    ...(/leave out tools \((.*?)\)/.exec(told)?.[1] ?? "").matchAll(/([^,]+ = \w+): (\d+)/g),
  ].map(([, option = "", tokens]) => ({ option: option.trim(), tokens: Number(tokens) }));
  assert.deepEqual(options.map(({ option }) => option).toSorted(), [
    "files.attach = false",
    "notes = false",
    "questions.enabled = false",
    "reminders.enabled = false",
    "subagents.enabled = false",
  ]);
  assert.deepEqual(
    options,
    options.toSorted((a, b) => b.tokens - a.tokens),
    "the largest first",
  );
  for (const { option, tokens } of options) {
    const key = option.split(" = ")[0] ?? "";
    const without = await refusalOf(`${long.replace(new RegExp(`^${key} = .*$`, "m"), "")}\n${option}`);
    const left = Number(/, tools (\d+)\)/.exec(without)?.[1]);
    assert.ok(Math.abs(tools - left - tokens) < 40, `${option} leaves ${left} of ${tools}`);
  }
});
