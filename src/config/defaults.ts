import { assert } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import type { CompactionConfig, DaemonConfig, LogLevel } from "./config.ts";
import { isAgentId, MAX_LOOPBACK_TEXT } from "./schema.ts";

/** The built-in defaults. The shipped config.toml shows each of them, and a test compares the two. */

/** Environment variables that are read even where the file says nothing of them. */
export const DEFAULT_VARIABLE = {
  databaseUrl: "DATABASE_URL",
  baseUrl: "OPENAI_BASE_URL",
  apiKey: "OPENAI_API_KEY",
  discordToken: "DISCORD_TOKEN",
  slackBotToken: "SLACK_BOT_TOKEN",
  slackAppToken: "SLACK_APP_TOKEN",
  slackSigningSecret: "SLACK_SIGNING_SECRET",
} as const;

export const DEFAULT_AGENT_ID = agentId("main");
export const DEFAULT_DATA_DIR = "./data";
export const DEFAULT_LANGUAGE = "en";
export const DEFAULT_LOG_LEVEL: LogLevel = "info";

export const DEFAULT_LLM = { firstTokenTimeoutMs: 60_000, idleTimeoutMs: 30_000, maxRetries: 3 } as const;

export const DEFAULT_DAEMON: DaemonConfig = {
  drainDeadlineMs: 20_000,
  maxLoadedChannels: 1000,
  idleEvictMs: 600_000,
  mailboxSize: 100,
  maxCompactions: 4,
};

export const DEFAULT_CHAT_PLATFORM = { dm: "everyone", catchUpMaxAgeMs: 3_600_000 } as const;

export const DEFAULT_LOOPBACK = { maxTextLength: MAX_LOOPBACK_TEXT } as const;

export const DEFAULT_SLACK = { mode: "socket", listen: "127.0.0.1:3000" } as const;

export const DEFAULT_BINDING = {
  threads: true,
  dms: true,
  mentionRequired: true,
  listen: true,
  allowBots: false,
  rateLimit: 20,
  streaming: true,
  acknowledge: "",
} as const;

export const DEFAULT_AGENT = {
  instructions: "",
  model: "auto",
  fallbacks: [] as readonly string[],
  seesImages: false,
  contextWindow: 0,
  maxOutputTokens: 2048,
  generationReserve: 4096,
  maxToolIterations: 8,
  toolTimeoutMs: 20_000,
  timeZone: "UTC",
} as const;

export const DEFAULT_COMPACTION: Omit<CompactionConfig, "target"> = {
  enabled: true,
  notify: "off",
  backgroundThreshold: 0.8,
  aggressiveThreshold: 0.85,
  emergencyThreshold: 0.95,
  keepMessages: 20,
  maxRawMessages: 300,
  deadlineMs: 180_000,
};

/** Where nobody set a target, compaction goes this share of the window under the background threshold. */
export const TARGET_BELOW_BACKGROUND = 0.2;

function agentId(text: string): AgentId {
  assert(isAgentId(text), "the id of the default agent is legal");
  return text;
}
