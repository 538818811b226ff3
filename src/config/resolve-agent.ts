import { resolve } from "node:path";
import type { AgentConfig, CompactionConfig } from "./config.ts";
import { DEFAULT_AGENT, DEFAULT_COMPACTION, TARGET_BELOW_BACKGROUND } from "./defaults.ts";
import type { FileAgent, FileAgentOptions } from "./schema.ts";

/** Merges one agent: its own keys over `[defaults]` over the built-in defaults. */
export function resolveAgent(agent: FileAgent, defaults: FileAgentOptions, folder: string): AgentConfig {
  const model = agent.model ?? defaults.model ?? DEFAULT_AGENT.model;
  const temperature = agent.temperature ?? defaults.temperature ?? "default";
  const prompt = agent.prompt ?? defaults.prompt ?? "";
  const compactorPrompt = agent.compactor_prompt ?? defaults.compactor_prompt ?? "";
  return {
    id: agent.id,
    name: agent.name?.trim() || agent.id,
    instructions: (agent.instructions ?? defaults.instructions ?? DEFAULT_AGENT.instructions).trim(),
    prompt: prompt === "" ? null : resolve(folder, prompt),
    compactorPrompt: compactorPrompt === "" ? null : resolve(folder, compactorPrompt),
    model,
    compactorModel: (agent.compactor_model ?? defaults.compactor_model ?? "").trim() || model,
    fallbacks: agent.fallbacks ?? defaults.fallbacks ?? DEFAULT_AGENT.fallbacks,
    seesImages: agent.sees_images ?? defaults.sees_images ?? DEFAULT_AGENT.seesImages,
    temperature: temperature === "default" ? null : temperature,
    contextWindow: agent.context_window ?? defaults.context_window ?? DEFAULT_AGENT.contextWindow,
    maxOutputTokens: agent.max_output_tokens ?? defaults.max_output_tokens ?? DEFAULT_AGENT.maxOutputTokens,
    generationReserve:
      agent.generation_reserve ?? defaults.generation_reserve ?? DEFAULT_AGENT.generationReserve,
    maxToolIterations:
      agent.max_tool_iterations ?? defaults.max_tool_iterations ?? DEFAULT_AGENT.maxToolIterations,
    toolTimeoutMs: agent.tool_timeout_ms ?? defaults.tool_timeout_ms ?? DEFAULT_AGENT.toolTimeoutMs,
    timeZone: agent.time_zone ?? defaults.time_zone ?? DEFAULT_AGENT.timeZone,
    compaction: resolveCompaction(agent.compaction ?? {}, defaults.compaction ?? {}),
  };
}

type FileCompaction = NonNullable<FileAgentOptions["compaction"]>;

function resolveCompaction(agent: FileCompaction, defaults: FileCompaction): CompactionConfig {
  const backgroundThreshold =
    agent.background_threshold ?? defaults.background_threshold ?? DEFAULT_COMPACTION.backgroundThreshold;
  return {
    enabled: agent.enabled ?? defaults.enabled ?? DEFAULT_COMPACTION.enabled,
    notify: agent.notify ?? defaults.notify ?? DEFAULT_COMPACTION.notify,
    backgroundThreshold,
    aggressiveThreshold:
      agent.aggressive_threshold ?? defaults.aggressive_threshold ?? DEFAULT_COMPACTION.aggressiveThreshold,
    emergencyThreshold:
      agent.emergency_threshold ?? defaults.emergency_threshold ?? DEFAULT_COMPACTION.emergencyThreshold,
    target: agent.target ?? defaults.target ?? below(backgroundThreshold),
    keepMessages: agent.keep_messages ?? defaults.keep_messages ?? DEFAULT_COMPACTION.keepMessages,
    maxRawMessages: agent.max_raw_messages ?? defaults.max_raw_messages ?? DEFAULT_COMPACTION.maxRawMessages,
    deadlineMs: agent.deadline_ms ?? defaults.deadline_ms ?? DEFAULT_COMPACTION.deadlineMs,
  };
}

/** Rounded, so that 0.8 gives 0.6 and not 0.6000000000000001. */
function below(background: number): number {
  return Math.round((background - TARGET_BELOW_BACKGROUND) * 1e6) / 1e6;
}
