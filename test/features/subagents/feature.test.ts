import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { spawnAgent } from "../../../src/features/subagents/feature.ts";
import { loadPrompts } from "../../../src/prompts/load.ts";
import { createTools } from "../../../src/tools/tools.ts";

const ROOT = join(import.meta.dirname, "../../..");

test("what the tool for subagents costs is what its page says", () => {
  const prompts = loadPrompts({ dir: join(ROOT, "prompts", "en") });
  // As the page sets it up.
  const agent = {
    model: "gpt-5-mini",
    fallbacks: ["gpt-5"],
    subagents: { personas: { researcher: "" } },
    approvals: { tools: {} },
  };
  const tools = createTools(prompts, {
    recall: "all",
    described: [spawnAgent(agent)],
  });
  const spec = tools.find((one) => one.spec.name === "spawn_agent")?.spec;
  const said = /`spawn_agent`, of (\d+) tokens \(o200k\)/.exec(
    readFileSync(join(ROOT, "docs/subagents.md"), "utf8"),
  )?.[1];
  assert.equal(Number(said), countTokens(JSON.stringify(spec)));
});
