import { z } from "zod";
import { defineTool, type ToolContext, type ToolOutcome } from "../../tools/tool.ts";
import { type SkillRequest, SKILLS } from "./key.ts";

const Name = z.string().trim().min(1).max(64);

async function useSkill({ kitOf }: ToolContext, request: SkillRequest): Promise<ToolOutcome> {
  return { kind: "result", text: await kitOf(SKILLS).use(request), references: [] };
}

const SOURCE = "skill";

/** `activate_skill`: a skill's text stands in the prompt until it is deactivated. */
export const activateSkill = defineTool({
  name: "activate_skill",
  changesTexts: true,
  source: SOURCE,
  input: z.strictObject({ name: Name }),
  run: async ({ name }, context) => useSkill(context, { kind: "activate", name }),
});

/** `deactivate_skill`: its text stands there no longer. */
export const deactivateSkill = defineTool({
  name: "deactivate_skill",
  changesTexts: true,
  source: SOURCE,
  input: z.strictObject({ name: Name }),
  run: async ({ name }, context) => useSkill(context, { kind: "deactivate", name }),
});

/** `read_skill_file`: a file of an active skill. */
export const readSkillFile = defineTool({
  name: "read_skill_file",
  source: SOURCE,
  input: z.strictObject({ name: Name, file: z.string().trim().min(1).max(500) }),
  isReadOnly: true,
  run: async ({ name, file }, context) => useSkill(context, { kind: "read", name, file }),
});
