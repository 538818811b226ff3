import type { TurnRange } from "../core/history.ts";
import type { SkillRequest } from "../tools/tool.ts";
import type { Agent } from "./agent.ts";
import { effectKeys } from "./effect-keys.ts";
import type { ToolRunParts } from "./tool-calls.ts";
import type { TurnChannel } from "./turn-channel.ts";

/** What a turn's calls of tools work with. */
export function toolRunParts(
  { tools, config, models }: Agent,
  channel: TurnChannel,
  turn: TurnRange,
  signal: AbortSignal,
  useSkill: (request: SkillRequest) => Promise<string>,
): ToolRunParts {
  return {
    tools,
    timeoutMs: config.toolTimeoutMs,
    signal,
    effectKeys: async (calls) =>
      effectKeys(calls, { channel: channel.cacheKey, turn, history: await channel.snapshot() }),
    context: {
      ...channel.toolKit,
      seesImages: config.seesImages && models.seesImages(config.model),
      searchHistory: async (query, limit, until) => channel.recall(query, "all", limit, until),
      recallMemories: async (query, limit, until) => channel.recallMemories(query, "tool", limit, until),
      useSkill,
    },
    onFailure: (tool, why) => channel.onToolFailure(tool, why),
    onCall: (call) => channel.onToolCall?.(call),
  };
}
