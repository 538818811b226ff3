import type { Declaration } from "../declaration.ts";

export const notes = {
  options: {},
  agentOptions: {},
  tools: ["memory_write", "note"],
  check: () => [],
} as const satisfies Declaration;
