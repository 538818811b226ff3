import { z } from "zod";
import type { Prompts } from "../prompts/load.ts";
import { makeTool, type Tool } from "./tool.ts";

/** Names that the model may choose from. */
export interface SpawnChoices {
  readonly personas: readonly string[];
  readonly models: readonly string[];
  readonly tools: readonly string[];
}

const Name = z.string().trim().min(1).max(200);

const Input = z.strictObject({
  task: z.string().trim().min(1).max(8000),
  persona: Name.optional(),
  model: Name.optional(),
  tools: z.array(Name).max(50).optional(),
  context: z.enum(["none", "brief"]).default("none"),
});

/** `spawn_agent`: a subagent does a task, and reports the outcome to its agent. */
export function spawnAgent(choices: SpawnChoices): (prompts: Prompts) => Tool {
  return (prompts) =>
    makeTool({
      name: "spawn_agent",
      description: prompts.render("tool-spawn-agent", choices),
      input: Input,
      timeoutMs: "own",
      async run({ task, persona = null, model = null, tools = null, context: told }, context) {
        const request = { task, persona, model, tools, context: told };
        return { kind: "result", text: await context.spawnAgent(request, context), references: [] };
      },
    });
}
