import { z } from "zod";
import type { AgentConfig } from "../../config/config.ts";
import { type DescribedToolMaker, makeTool } from "../../tools/tool.ts";
import { standaloneTools } from "../../tools/tools.ts";
import { SUBAGENTS } from "./key.ts";
import { modelsOfSubagents } from "./subagent-run.ts";

const Name = z.string().trim().min(1).max(200);

const Input = z.strictObject({
  task: z.string().trim().min(1).max(8000),
  persona: Name.optional(),
  model: Name.optional(),
  tools: z.array(Name).max(50).optional(),
  context: z.enum(["none", "brief"]).default("none"),
});

/** `spawn_agent`: a subagent does a task, and reports the outcome to its agent. */
export function spawnAgent(
  agent: Pick<AgentConfig, "model" | "fallbacks"> & {
    readonly subagents: Pick<AgentConfig["subagents"], "personas">;
  },
): DescribedToolMaker {
  return (prompts, beside) =>
    makeTool({
      name: "spawn_agent",
      shownAs: "A subagent at work",
      isDelegation: true,
      leftOutBy: "subagents.enabled = false",
      description: prompts.render("tool-spawn-agent", {
        personas: Object.keys(agent.subagents.personas),
        models: modelsOfSubagents(agent),
        tools: standaloneTools(beside).map(({ spec }) => spec.name),
      }),
      input: Input,
      timeoutMs: "own",
      async run({ task, persona = null, model = null, tools = null, context: told }, context) {
        const request = { task, persona, model, tools, context: told };
        const text = await context.kitOf(SUBAGENTS).spawn(request, context);
        return { kind: "result", text, references: [] };
      },
    });
}
