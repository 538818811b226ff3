import { originOf } from "../text/displayable.ts";
import { counted } from "../text/text.ts";
import {
  type AgentConfig,
  type BindingConfig,
  type ClusterConfig,
  type Config,
  configuredPrice,
  configuredWindow,
  type ModelConfig,
  reserveIn,
} from "./config.ts";
import type { ChatPlatformConfig } from "./chat-platform.ts";
import { CHAT_PLATFORMS, PLATFORM_ROWS } from "../platforms/platforms.ts";
import { secretVariable } from "./references.ts";

/** Tokens of a model's window by the table of known models; undefined: unknown. */
export type KnownWindow = (model: string) => number | undefined;

/** A valid configuration as text for an operator. It names the secrets that are set, never their values. */
export function describeConfig(config: Config, known: KnownWindow = () => undefined): string {
  const { llm, database, cluster, platforms, prompts } = config;
  const rows: [string, string][] = [
    ["file", config.file ?? "none: built-in defaults"],
    ["home", config.home],
    [
      "database",
      database.url === null ? `embedded Postgres in ${database.dataDir}` : describeDatabase(database.url),
    ],
    ["model server", llm.baseUrl === null ? noServer(llm) : originOf(llm.baseUrl)],
    ["API key", llm.apiKey === null ? "not set" : "set"],
    ...llm.servers.map(({ name, baseUrl, apiKey, api }): [string, string] => [
      `server ${name}`,
      `${originOf(baseUrl)}, ${apiKey === null ? "no key" : "with a key"}${api === "auto" ? "" : `, by the API "${api}"`}`,
    ]),
    ...describeCluster(cluster),
    ["prompts", prompts.dir ?? `built in, language "${prompts.language}"`],
    ["loopback", platforms.loopback === null ? "off" : originOf(platforms.loopback.url)],
    ...PLATFORM_ROWS.map((row): [string, string] => [row.title, describePlatform(row, platforms[row.key])]),
    ["log level", config.log.level],
    ["texts kept", kept(config.retention.textDays)],
    ["pictures kept", kept(config.retention.imageDays)],
    ["spans", config.telemetry === null ? "off" : `to ${originOf(config.telemetry.endpoint)}`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const head = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  const isChatting = CHAT_PLATFORMS.some((key) => platforms[key] !== null);
  const bindings = isChatting ? ["", ...config.bindings.map(describeBinding)] : [];
  const models = llm.models.length === 0 ? [] : ["", ...llm.models.map(describeModel)];
  return [
    ...head,
    ...bindings,
    ...models,
    ...config.agents.flatMap((agent) => ["", ...describeAgent(agent, llm.models, known)]),
  ].join("\n");
}

function kept(days: number): string {
  return days === 0 ? "for ever" : `${counted(days, "day")}, then until they are summarised`;
}

function describePlatform(row: (typeof PLATFORM_ROWS)[number], config: ChatPlatformConfig | null): string {
  if (config === null) return whyOff(row);
  const how = row.describe?.(config);
  return `on, ${how === undefined ? "" : `${how}, `}${describeChat(config)}`;
}

/** `off: DISCORD_TOKEN is not set`. */
export function whyOff({ key, token }: Pick<(typeof PLATFORM_ROWS)[number], "key" | "token">): string {
  return `off: ${secretVariable(key, token)} is not set`;
}

function describeChat({ apiUrl, dm, owners, ownerRoles }: ChatPlatformConfig): string {
  const people = counted(owners.length, "owner");
  const roles = ownerRoles.length === 0 ? "" : ` and ${counted(ownerRoles.length, "role")} of owners`;
  return `DMs ${dm}, ${people}${roles}${apiUrl === null ? "" : `, at ${originOf(apiUrl)}`}`;
}

function describeBinding(binding: BindingConfig): string {
  const { platform, agent, also, workspaces, channels, mentionRequired, listen } = binding;
  const where = [...workspaces, ...channels].join(", ");
  const when = mentionRequired ? "mentions" : "every message";
  return `binding  ${platform}${where === "" ? "" : ` (${where})`}: ${agent} answers ${when}${listen ? ", and listens" : ""}${also.length === 0 ? "" : `; also ${also.join(", ")}`}`;
}

function noServer({ apiKey, servers: [first] }: Pick<Config["llm"], "apiKey" | "servers">): string {
  if (apiKey !== null) return "the default of the openai client";
  return first === undefined
    ? "not set: a local Ollama, or else the offline model"
    : `not set: ${first.name} answers`;
}

/** Host and name only: the user name may be confidential. */
function describeDatabase(url: string): string {
  const parsed = URL.parse(url);
  const isAddress = parsed !== null && parsed.host !== "";
  return isAddress ? `set (Postgres at ${parsed.host}${parsed.pathname})` : "set";
}

function describeCluster(cluster: ClusterConfig | null): [string, string][] {
  if (cluster === null) return [];
  const { host = "" } = URL.parse(cluster.url) ?? {};
  return [["cluster", `on, by RabbitMQ at ${host}, queues ${cluster.prefix}.*`]];
}

function describeModel(model: ModelConfig): string {
  const { name, contextWindow, maxOutputTokens, seesImages, cacheMarkers } = model;
  const price = configuredPrice([model], name);
  const said = [
    ...(contextWindow === 0 ? [] : [`a window of ${contextWindow} tokens`]),
    ...(maxOutputTokens === 0 ? [] : [`answers of ${maxOutputTokens} at most`]),
    ...(price === undefined
      ? []
      : [
          `$${price.input} in, $${price.cached} of the cache, $${price.write} written to it, $${price.output} out for a million tokens`,
        ]),
    ...(seesImages ? [] : ["sent no pictures"]),
    ...(cacheMarkers === "auto" ? [] : [`requests ${cacheMarkers ? "with" : "without"} cache markers`]),
  ];
  return `model  ${name}: ${said.length === 0 ? "may be chosen for a channel" : said.join(", ")}`;
}

function describeAgent(agent: AgentConfig, models: readonly ModelConfig[], known: KnownWindow): string[] {
  const { compaction } = agent;
  // An agent's own context_window applies to its own model only.
  const configured = (name: string): number =>
    configuredWindow(models, name, name === agent.model ? agent.contextWindow : 0);
  const windowOf = (name: string): string => describeWindow(configured(name), known(name));
  const ownWindow = configured(agent.model) || known(agent.model);
  const others = [...new Set([agent.compactorModel, ...agent.fallbacks])].filter(
    (name) => name !== agent.model,
  );
  const rows: [string, string][] = [
    ["model", [agent.model, ...agent.fallbacks.map((name) => `then ${name}`)].join(", ")],
    ["compactor", agent.compactorModel],
    [
      "window",
      `${windowOf(agent.model)}, ${reserveIn(ownWindow ?? Infinity, agent)} kept free for the answer`,
    ],
    ...others.map((name): [string, string] => ["", `${windowOf(name)} for ${name}`]),
    [
      "thresholds",
      `target ${percent(compaction.target)}, background ${percent(compaction.backgroundThreshold)}, ` +
        `aggressive ${percent(compaction.aggressiveThreshold)}, emergency ${percent(compaction.emergencyThreshold)}`,
    ],
    ["time zone", agent.timeZone],
    ...(agent.prompt === null ? [] : [["template", agent.prompt] satisfies [string, string]]),
  ];
  const title = agent.name === agent.id ? `agent ${agent.id}` : `agent ${agent.id} ("${agent.name}")`;
  return [title, ...rows.map(([name, value]) => `  ${name.padEnd(10)}  ${value}`)];
}

/**
 * The window of a model, and the source of that number.
 * @param configured 0: none is
 * @param tokens by the table of known models; undefined: it does not have it
 */
function describeWindow(configured: number, tokens: number | undefined): string {
  if (configured > 0) return `${configured} tokens`;
  const table = tokens === undefined ? "the table of known models does not have it" : `else ${tokens} tokens`;
  return `what the server says, ${table}`;
}

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`;
}
