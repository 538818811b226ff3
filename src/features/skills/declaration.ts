import type { Declaration } from "../declaration.ts";

export const skills = {
  options: {},
  agentOptions: {},
  tools: ["activate_skill", "deactivate_skill", "read_skill_file"],
  check: () => [],
} as const satisfies Declaration;
