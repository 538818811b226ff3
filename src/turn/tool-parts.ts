import type { SkillRequest } from "../tools/tool.ts";
import type { Agent } from "./agent.ts";
import type { ToolRunParts } from "./tool-calls.ts";
import type { TurnChannel } from "./turn.ts";

/** What a turn's calls of tools work with. */
export function toolRunParts(
  { tools, config }: Agent,
  channel: TurnChannel,
  signal: AbortSignal,
  useSkill: (request: SkillRequest) => Promise<string>,
): ToolRunParts {
  return {
    tools,
    timeoutMs: config.toolTimeoutMs,
    signal,
    context: {
      ...channel.toolKit,
      searchHistory: async (query, limit, until) => channel.recall(query, "all", limit, until),
      recallMemories: async (query, limit, until) => channel.recallMemories(query, "tool", limit, until),
      useSkill,
    },
    onFailure: (tool, why) => channel.onToolFailure(tool, why),
  };
}
