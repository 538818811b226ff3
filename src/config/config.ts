import type { Proxies } from "../network/proxies.ts";
import type { z } from "zod";
import type { AskMode } from "../core/ask-mode.ts";
import type { ModelPrice } from "../core/cost.ts";
import type { AgentId } from "../core/ids.ts";
import type { agentSchema } from "./schema/agents.ts";
import type { API_CHOICES, modelSchema } from "./schema/models.ts";
import type { PLATFORMS } from "../platforms/platforms.ts";
import type { bindingSchema } from "./schema/platforms.ts";
import type { CompleteFile } from "./schema/file.ts";
import type { CamelCased } from "./camel-case.ts";

export { MIN_WINDOW } from "./schema/values.ts";

/** The schema's options under JavaScript names. The schema documents them. */
type Complete = CamelCased<CompleteFile>;
type CompleteAgent = CamelCased<z.output<typeof agentSchema>>;

/** The operator's configuration, checked and complete: every value is set, every path absolute. Deeply frozen. */
export interface Config extends Pick<Complete, "log" | "retention" | "terminal" | "daemon"> {
  /** Absolute path of its file; null: no file, built-in defaults. */
  readonly file: string | null;
  /** Absolute path of the operator's folder. */
  readonly home: string;
  readonly database: DatabaseConfig;
  /** Null: no collector is named. */
  readonly telemetry: TelemetryConfig | null;
  readonly llm: LlmConfig;
  readonly prompts: {
    /** Name of a folder under the shipped `prompts/`. */
    readonly language: string;
    /** Absolute path of a folder that replaces the shipped one. */
    readonly dir: string | null;
  };
  /** Absolute path of the folder with a folder for each agent and the common policy; it may be missing. */
  readonly agentsDir: string;
  readonly platforms: PlatformsConfig;
  /** Null: switched off. */
  readonly http: HttpConfig | null;
  /** Null: this daemon is alone. */
  readonly cluster: ClusterConfig | null;
  /** The first matching binding answers a channel. Empty: none is configured. */
  readonly bindings: readonly BindingConfig[];
  /** Null: the environment names none. Their addresses may hold a password: never print them. */
  readonly proxies: Proxies | null;
  /** At least one; ids are unique. */
  readonly agents: readonly AgentConfig[];
}

export interface DatabaseConfig {
  /** Null: the embedded Postgres under `dataDir`. Usually holds a password: never print it. */
  readonly url: string | null;
  /** Absolute. */
  readonly dataDir: string;
}

/** 0 days: forever. */
export type RetentionConfig = Complete["retention"];

export interface TelemetryConfig {
  readonly endpoint: string;
  /** Never print their values. */
  readonly headers: Readonly<Record<string, string>>;
  readonly serviceName: string;
}

export interface LlmConfig extends Omit<
  Complete["llm"],
  "baseUrl" | "apiKey" | "embeddings" | "transcription" | "servers"
> {
  /** Null: no server is named. */
  readonly baseUrl: string | null;
  /** Null: none set. Never print it. */
  readonly apiKey: string | null;
  /** The servers of `[llm.servers]`, in the order of the file. */
  readonly servers: readonly ServerConfig[];
  /** The tables `[models."NAME"]`. Models without one may be chosen, too. */
  readonly models: readonly ModelConfig[];
  /** Null: no embedding model is named. */
  readonly embeddings: EmbeddingsConfig | null;
  /** Null: no model is named that transcribes. */
  readonly transcription: TranscriptionConfig | null;
}

/** One `[llm.servers.NAME]`. */
export interface ServerConfig {
  readonly name: string;
  readonly baseUrl: string;
  /** Null: none set. Never print it. */
  readonly apiKey: string | null;
  readonly api: (typeof API_CHOICES)[number];
  /** Never print their values. */
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The server of a model name: the part before its first `/`, if a server has that name. Pure.
 * @returns undefined: the default server's
 */
export function serverOf<Server extends Pick<ServerConfig, "name">>(
  model: string,
  servers: readonly Server[],
): Server | undefined {
  const end = model.indexOf("/");
  return end === -1 ? undefined : servers.find(({ name }) => name === model.slice(0, end));
}

/** A model with a server of its own. */
export interface RoleConfig {
  /** Its name in the file. */
  readonly model: string;
  /** Its name at its server. */
  readonly sentAs: string;
  /** Null: OpenAI's. */
  readonly baseUrl: string | null;
  /** Null: none set. Never print it. */
  readonly apiKey: string | null;
  /** Its server's headers. Never print their values. */
  readonly serverHeaders: Readonly<Record<string, string>>;
}

export type EmbeddingsConfig = RoleConfig & Pick<Complete["llm"]["embeddings"], "dimensions">;
export type TranscriptionConfig = RoleConfig & Pick<Complete["llm"]["transcription"], "withinMs">;

/** 0 tokens: not set. */
export interface ModelConfig extends CamelCased<z.output<typeof modelSchema>> {
  /** Its name at its server, after the name of one of `[llm.servers]` and a `/` if it belongs to one. */
  readonly name: string;
}

/**
 * Tokens of the window that is configured for a model; 0: none.
 * @param ofAgent the agent's `context_window`, which the model's own table overrides
 */
export function configuredWindow(models: readonly ModelConfig[], model: string, ofAgent: number): number {
  return models.find(({ name }) => name === model)?.contextWindow || ofAgent;
}

/** Tokens that stay free in a window of this size: a small one (Ollama often runs with 4,096) is never given away to the answer. */
export function reserveIn(
  window: number,
  { maxOutputTokens, generationReserve }: Pick<AgentConfig, "maxOutputTokens" | "generationReserve">,
): number {
  return Math.min(maxOutputTokens + generationReserve, Math.floor(window / 4));
}

/**
 * Names of the models that may be chosen for a channel: those of `[models]`, and those of agents. Pure.
 * @returns each once, the agents' before the others
 */
export function choosableModels({
  agents,
  llm,
}: {
  readonly agents: readonly Pick<AgentConfig, "model" | "fallbacks">[];
  readonly llm: Pick<LlmConfig, "models"> & Partial<Pick<LlmConfig, "embeddings" | "transcription">>;
}): string[] {
  const answering = agents.flatMap(({ model, fallbacks }) => [model, ...fallbacks]);
  // These write no answers.
  const mute = new Set([llm.embeddings?.model, llm.transcription?.model]);
  const others = llm.models.map(({ name }) => name).filter((name) => !mute.has(name));
  return [...new Set([...answering, ...others])];
}

/** An agent that answers with another model: its `context_window` applies to its own model only. Pure. */
export function answeringWith(agent: AgentConfig, model: string): AgentConfig {
  if (model === agent.model) return agent;
  const compactorModel = agent.compactorModel === agent.model ? model : agent.compactorModel;
  return { ...agent, model, contextWindow: 0, compactorModel };
}

/**
 * The configured price of a model; undefined: none.
 * @param models the tables of `[models]`
 */
export function configuredPrice(models: readonly ModelConfig[], model: string): ModelPrice | undefined {
  const said = models.find(({ name }) => name === model);
  if (said === undefined) return undefined;
  const { priceIn, priceOut, priceCached, writePrice } = said;
  if (priceIn === "unknown" || priceOut === "unknown") return undefined;
  const orInput = (price: number | "price_in"): number => (price === "price_in" ? priceIn : price);
  return { input: priceIn, output: priceOut, cached: orInput(priceCached), write: orInput(writePrice) };
}

export interface HttpConfig {
  readonly host: string;
  readonly port: number;
  /** Where another program has the port, the next free one is taken. */
  readonly mayMove: boolean;
  /** Null: the one in the data folder. Never print it. */
  readonly token: string | null;
  /** Small letters, with or without a port. */
  readonly hosts: readonly string[];
}

export interface ClusterConfig extends Pick<Complete["cluster"], "prefix"> {
  /** RabbitMQ's address. Usually holds a password: never print it. */
  readonly url: string;
  /** Null: one is generated. */
  readonly name: string | null;
}

/** Null: switched off. */
export type PlatformsConfig = ChatPlatformConfigs & {
  /** `maxTextLength`: UTF-16 units; a longer answer is sent in parts. */
  readonly loopback: Complete["platforms"]["loopback"] | null;
};

/** The chat platforms, by key. Null: switched off. */
export type ChatPlatformConfigs = {
  readonly [Row in (typeof PLATFORMS)[number] as Row["key"]]: Parameters<Row["diagnose"]>[0] | null;
};

/** One `[[bindings]]`. An empty list of names is no condition. */
export interface BindingConfig extends Omit<
  CamelCased<z.output<typeof bindingSchema>>,
  "agent" | "also" | "memoryShare"
> {
  readonly agent: AgentId;
  /** Other agents that can be asked there: each is configured, none twice. */
  readonly also: readonly AgentId[];
  readonly memoryShare: CompleteAgent["memory"]["share"];
}

/** One `[[agents]]`, completed by `[defaults]` and the built-in defaults. */
export interface AgentConfig extends Omit<
  CompleteAgent,
  "prompt" | "compactorPrompt" | "temperature" | "compaction" | "mcp"
> {
  /** Absolute path of its own system template; null: `system.md.j2` of the prompts' folder. */
  readonly prompt: string | null;
  /** Absolute path of its own template for summaries; null: `compactor.md.j2` of the prompts' folder. */
  readonly compactorPrompt: string | null;
  /** Null: the server's default. */
  readonly temperature: number | null;
  readonly compaction: CompactionConfig;
  readonly mcp: readonly McpServerConfig[];
}

/** One `[[agents.mcp]]`. */
export interface McpServerConfig {
  readonly name: string;
  readonly reach:
    | {
        readonly kind: "command";
        readonly command: string;
        readonly args: readonly string[];
        /** Variables beyond the usual environment. Never print their values. */
        readonly env: Readonly<Record<string, string>>;
        /** Absolute path of the folder in which it runs. */
        readonly folder: string;
      }
    | {
        readonly kind: "url";
        /** May hold a secret: never print it. */
        readonly url: string;
        /** Never print their values. */
        readonly headers: Readonly<Record<string, string>>;
      };
  /** Names of its tools that may be called; empty: all. */
  readonly tools: readonly string[];
  /** Null: the general limit of tools. */
  readonly timeoutMs: number | null;
  readonly approve: AskMode;
  /** Secret values, for masking. */
  readonly secrets: readonly string[];
}

/** Thresholds are shares of the usable window: 0 < target < background < aggressive < emergency < 1. */
export interface CompactionConfig extends Omit<CompleteAgent["compaction"], "target"> {
  readonly target: number;
}
