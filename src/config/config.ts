import type { AgentId } from "../core/ids.ts";

/** What the operator wants, checked and complete: every value is set, every path absolute. Deeply frozen. */
export interface Config {
  /** Absolute path of the file it came from; null: no file, built-in defaults. */
  readonly file: string | null;
  readonly database: DatabaseConfig;
  readonly llm: LlmConfig;
  readonly log: { readonly level: LogLevel };
  readonly daemon: DaemonConfig;
  readonly prompts: PromptsConfig;
  readonly platforms: PlatformsConfig;
  /** The first that matches a channel holds. Empty: none is configured. */
  readonly bindings: readonly BindingConfig[];
  /** At least one; ids are unique. */
  readonly agents: readonly AgentConfig[];
}

export const LOG_LEVELS = ["trace", "debug", "info", "warn", "error", "silent"] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

export interface DatabaseConfig {
  /** Null: the embedded Postgres under `dataDir`. Holds a password as a rule: never print it. */
  readonly url: string | null;
  /** Absolute. */
  readonly dataDir: string;
}

export interface LlmConfig {
  /** Null: nobody named a server. */
  readonly baseUrl: string | null;
  /** Null: none set. Never print it. */
  readonly apiKey: string | null;
  readonly firstTokenTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly maxRetries: number;
}

export interface DaemonConfig {
  readonly drainDeadlineMs: number;
  readonly maxLoadedChannels: number;
  readonly idleEvictMs: number;
  readonly mailboxSize: number;
  /** Compactions that run at a time, over all channels. */
  readonly maxCompactions: number;
}

interface PromptsConfig {
  /** Name of a folder under the shipped `prompts/`. */
  readonly language: string;
  /** Absolute path of a folder that is used instead of the shipped one. */
  readonly dir: string | null;
}

/** Null: switched off. */
export interface PlatformsConfig {
  /** `maxTextLength`: UTF-16 units; a longer answer is sent in parts. */
  readonly loopback: { readonly url: string; readonly maxTextLength: number } | null;
  readonly discord: DiscordConfig | null;
  readonly slack: SlackConfig | null;
}

/** What all chat platforms are told. */
export interface ChatPlatformConfig {
  /** Null: the platform's own. */
  readonly apiUrl: string | null;
  readonly dm: DmPolicy;
  /** Ids of the people whose DMs are answered, where `dm` is `allowlist`. */
  readonly allow: readonly string[];
  /** Ids of the people who may change what holds for everybody. */
  readonly owners: readonly string[];
  /** Ids or names of the roles whose people may, too. */
  readonly ownerRoles: readonly string[];
  /** What was missed for longer than this is context, and is not answered any more. */
  readonly catchUpMaxAgeMs: number;
}

export const DM_POLICIES = ["everyone", "allowlist", "off"] as const;
export type DmPolicy = (typeof DM_POLICIES)[number];

export interface DiscordConfig extends ChatPlatformConfig {
  /** Never print it. */
  readonly token: string;
}

export interface SlackConfig extends ChatPlatformConfig {
  /** Never print it. */
  readonly botToken: string;
  readonly intake:
    | { readonly mode: "socket"; readonly appToken: string }
    | { readonly mode: "http"; readonly signingSecret: string; readonly host: string; readonly port: number };
}

/** One `[[bindings]]`, complete. An empty list of names is no condition. */
export interface BindingConfig {
  readonly agent: AgentId;
  readonly platform: ChatPlatformName;
  /** Ids or names of guilds or teams. */
  readonly workspaces: readonly string[];
  /** Ids or names of channels; a thread belongs to its channel. */
  readonly channels: readonly string[];
  readonly threads: boolean;
  readonly dms: boolean;
  /** In a channel only what is meant for the bot makes a turn. */
  readonly mentionRequired: boolean;
  /** What makes no turn is context. */
  readonly listen: boolean;
  /** Who may cause a turn: ids of people, ids or names of roles. Both lists empty: everybody. */
  readonly allowUsers: readonly string[];
  readonly allowRoles: readonly string[];
  /** Other bots may cause turns. */
  readonly allowBots: boolean;
  /** Turns a person may cause in a minute; 0: no limit. */
  readonly rateLimit: number;
  /** Answers are shown while they are written, where the platform can. */
  readonly streaming: boolean;
  /** An emoji under each message that will be answered; "": none. */
  readonly acknowledge: string;
}

export const CHAT_PLATFORMS = ["discord", "slack"] as const;
export type ChatPlatformName = (typeof CHAT_PLATFORMS)[number];

/** The smallest window that a model is used with, in tokens. */
export const MIN_WINDOW = 1024;

/** One `[[agents]]`, with what `[defaults]` and the built-in defaults add. */
export interface AgentConfig {
  readonly id: AgentId;
  /** How it is called in the system prompt. */
  readonly name: string;
  /** The agent's own instructions, as text. */
  readonly instructions: string;
  /** Absolute path of its own system template; null: `system.md.j2` of the prompts' folder. */
  readonly prompt: string | null;
  /** Absolute path of its own template for summaries; null: `compactor.md.j2` of the prompts' folder. */
  readonly compactorPrompt: string | null;
  /** The server's name of the model; `auto`: whatever the server offers. */
  readonly model: string;
  readonly compactorModel: string;
  readonly fallbacks: readonly string[];
  /** Its models see pictures: those that people attach are kept, and shown to it. */
  readonly seesImages: boolean;
  /** Null: the server's default. */
  readonly temperature: number | null;
  /** Tokens, at least {@link MIN_WINDOW}; 0: from the table of known models. */
  readonly contextWindow: number;
  /** Tokens. */
  readonly maxOutputTokens: number;
  /** Tokens kept free beside `maxOutputTokens`. */
  readonly generationReserve: number;
  readonly maxToolIterations: number;
  readonly toolTimeoutMs: number;
  /** IANA name. */
  readonly timeZone: string;
  readonly compaction: CompactionConfig;
}

/** Thresholds are shares of the usable window: 0 < target < background < aggressive < emergency < 1. */
export interface CompactionConfig {
  /** False: no summaries; emergency stays. */
  readonly enabled: boolean;
  /** Whether people in the channel are told when a compaction lands. */
  readonly notify: CompactionNotify;
  readonly backgroundThreshold: number;
  readonly aggressiveThreshold: number;
  readonly emergencyThreshold: number;
  readonly target: number;
  /** The newest messages that a compaction leaves alone. */
  readonly keepMessages: number;
  /** So many raw entries are due for background, however short they are. */
  readonly maxRawMessages: number;
  /** One attempt of a compaction may take so long. */
  readonly deadlineMs: number;
}

export const COMPACTION_NOTIFY = ["off", "channel"] as const;
export type CompactionNotify = (typeof COMPACTION_NOTIFY)[number];
