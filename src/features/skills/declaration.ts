import type { Declaration } from "../declaration.ts";

export const skills = {
  tools: ["activate_skill", "deactivate_skill", "read_skill_file"],
} as const satisfies Declaration;
