/** Weir's own tools whose description is the same for each agent, sorted. */
export const PLAIN_TOOLS = [
  "activate_skill",
  "deactivate_skill",
  "memory_recall",
  "memory_write",
  "note",
  "react",
  "read_skill_file",
  "remind",
  "search_history",
  "skip",
] as const;

export type PlainTool = (typeof PLAIN_TOOLS)[number];

export const BUILT_IN_TOOLS: readonly string[] = [...PLAIN_TOOLS, "hand_off", "spawn_agent"];
