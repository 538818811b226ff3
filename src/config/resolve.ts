import { resolve } from "node:path";
import type { AgentId } from "../core/ids.ts";
import { type CamelCased, camelCased } from "./camel-case.ts";
import {
  type AgentConfig,
  type BindingConfig,
  type ChatPlatformConfigs,
  type ClusterConfig,
  type CompactionConfig,
  type Config,
  type HttpConfig,
  type ModelConfig,
  type PlatformsConfig,
  type RoleConfig,
  type ServerConfig,
  type TelemetryConfig,
  serverOf,
} from "./config.ts";
import { VERBATIM_OPTIONS } from "../features/declarations.ts";
import type { ChatPlatformConfig } from "./chat-platform.ts";
import { headersFrom, type References } from "./references.ts";
import type { McpServers } from "./mcp-servers.ts";
import { agentSchema, isAgentId, PRESET_OPTIONS } from "./schema/agents.ts";
import { modelSchema } from "./schema/models.ts";
import { CHAT_PLATFORMS, PLATFORM_ROWS } from "../platforms/platforms.ts";
import { hostAndPort } from "../text/host-and-port.ts";
import { bindingSchema } from "./schema/platforms.ts";
import { type CompleteFile, type FileConfig, fileSchema } from "./schema/file.ts";
import { isTable } from "./value-tree.ts";

/** Of the HTTP service, where nobody has chosen one. */
const OWN_ADDRESS = "127.0.0.1:8420";
/** Share of the window by which the default target is below the background threshold. */
const TARGET_BELOW_BACKGROUND = 0.2;
/** The same for the plain preset, whose cuts take their share and no more. */
const PLAIN_TARGET_BELOW = 0.01;

type FileAgent = NonNullable<FileConfig["agents"]>[number];
type CompletePlatforms = CamelCased<CompleteFile>["platforms"];

/**
 * Completes a checked file: an agent's values over `[defaults]` over the built-in defaults.
 * @param place.folder the home, to which paths are relative
 * @param mcp the servers of each agent, by its place
 * @param servers those of `[llm.servers]`
 */
export function resolveConfig(
  file: FileConfig,
  references: References,
  place: { readonly path: string | null; readonly folder: string },
  mcp: McpServers = new Map(),
  proxies: Config["proxies"] = null,
  servers: readonly ServerConfig[] = [],
): Config {
  const { bindings: _, defaults = {}, agents: written, models, ...rest } = file;
  const { database, llm, log, telemetry, retention, terminal, daemon, http, cluster, prompts, platforms } =
    camelCased(fileSchema.parse(rest));
  // Under the file's names.
  const { servers: _servers, ...ofLlm } = llm;
  const agents = (written ?? [{ id: mainAgent() }]).map((agent, index) =>
    resolveAgent(agent, { defaults, folder: place.folder, mcp: mcp.get(index) ?? [] }),
  );
  return {
    file: place.path,
    home: place.folder,
    database: { url: references.databaseUrl, dataDir: resolve(place.folder, database.dataDir) },
    llm: {
      ...ofLlm,
      servers,
      baseUrl: references.baseUrl,
      apiKey: references.apiKey,
      models: resolveModels(models),
      ...resolveRoles(llm, references, servers),
    },
    log,
    telemetry: resolveTelemetry(telemetry, references),
    retention,
    terminal,
    daemon,
    prompts: { ...prompts, dir: pathOrNull(prompts.dir, place.folder) },
    agentsDir: resolve(place.folder, "agents"),
    platforms: resolvePlatforms(platforms, references),
    http: resolveHttp(http, references),
    cluster: resolveCluster(cluster, references),
    bindings: resolveBindings(file.bindings, agents),
    proxies,
    agents,
  };
}

/** A model with a server of its own; null: none is named. A key is sent only to its own server. */
function resolveRole(
  model: string,
  own: Pick<RoleConfig, "baseUrl" | "apiKey">,
  { baseUrl, apiKey }: References,
  servers: readonly ServerConfig[],
): RoleConfig | null {
  const name = model.trim();
  if (name === "") return null;
  const of = { model: name, sentAs: name, serverHeaders: {} };
  if (own.baseUrl !== null || own.apiKey !== null) return { ...of, ...own };
  const named = serverOf(name, servers);
  const server = named ?? (baseUrl === null && apiKey === null ? servers[0] : undefined);
  if (server === undefined) return { ...of, baseUrl, apiKey };
  const sentAs = named === undefined ? name : name.slice(named.name.length + 1);
  return { ...of, sentAs, baseUrl: server.baseUrl, apiKey: server.apiKey, serverHeaders: server.headers };
}

function resolveRoles(
  { embeddings, transcription }: CamelCased<CompleteFile>["llm"],
  references: References,
  servers: readonly ServerConfig[],
): Pick<Config["llm"], "embeddings" | "transcription"> {
  const { embeddingsUrl, embeddingsKey, transcriptionUrl, transcriptionKey } = references;
  const ofEmbeddings = { baseUrl: embeddingsUrl, apiKey: embeddingsKey };
  const embeds = resolveRole(embeddings.model, ofEmbeddings, references, servers);
  const ofTranscription = { baseUrl: transcriptionUrl, apiKey: transcriptionKey };
  const hears = resolveRole(transcription.model, ofTranscription, references, servers);
  return {
    embeddings: embeds && { ...embeds, dimensions: embeddings.dimensions },
    transcription: hears && { ...hears, withinMs: transcription.withinMs },
  };
}

function resolveModels(models: FileConfig["models"] = {}): ModelConfig[] {
  return Object.entries(models).map(([name, written]) => {
    return { name, ...camelCased(modelSchema.parse(written)) };
  });
}

function mainAgent(): AgentId {
  const id = "main";
  if (!isAgentId(id)) throw new TypeError("the id of the default agent is not legal");
  return id;
}

function pathOrNull(path: string, folder: string): string | null {
  return path === "" ? null : resolve(folder, path);
}

function resolveAgent(
  written: FileAgent,
  parts: { readonly defaults: NonNullable<FileConfig["defaults"]>; readonly folder: string } & Pick<
    AgentConfig,
    "mcp"
  >,
): AgentConfig {
  const { defaults, folder, mcp } = parts;
  const agent = camelCased(agentSchema.parse(withPreset(layered(defaults, written))), VERBATIM_OPTIONS);
  return {
    ...agent,
    mcp,
    name: agent.name.trim() || agent.id,
    instructions: agent.instructions.trim(),
    prompt: pathOrNull(agent.prompt, folder),
    compactorPrompt: pathOrNull(agent.compactorPrompt, folder),
    compactorModel: agent.compactorModel.trim() || agent.model,
    temperature: agent.temperature === "default" ? null : agent.temperature,
    compaction: withTarget(agent.compaction),
  };
}

/** The options of `above` over those of `below`; in a table, option by option. */
function layered(
  below: Readonly<Record<string, unknown>>,
  above: Readonly<Record<string, unknown>>,
): Record<string, unknown> {
  const tables = Object.entries(below).flatMap(([key, under]) => {
    const over = above[key];
    return isTable(under) && isTable(over) ? [[key, { ...under, ...over }] as const] : [];
  });
  return { ...below, ...above, ...Object.fromEntries(tables) };
}

/** The options of the preset under those that are written. */
function withPreset(agent: Record<string, unknown>): Record<string, unknown> {
  const { compaction } = agent;
  if (!isTable(compaction)) return agent;
  const preset = compaction["preset"] === "plain" ? PRESET_OPTIONS.plain : PRESET_OPTIONS.default;
  return { ...agent, compaction: { ...preset, ...compaction } };
}

function withTarget(
  compaction: Omit<CompactionConfig, "target"> & { readonly target?: number | undefined },
): CompactionConfig {
  // Rounded, so that 0.8 gives 0.6 and not 0.6000000000000001.
  const distance = compaction.preset === "plain" ? PLAIN_TARGET_BELOW : TARGET_BELOW_BACKGROUND;
  const below = Math.round((compaction.backgroundThreshold - distance) * 1e6) / 1e6;
  return { ...compaction, target: compaction.target ?? below };
}

function resolvePlatforms(file: CompletePlatforms, references: References): PlatformsConfig {
  const chats = PLATFORM_ROWS.map((row) => [row.key, resolvePlatform(row, file, references)]);
  return {
    loopback: file.loopback.url === "" ? null : file.loopback,
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- each key has what its own row has made
    ...(Object.fromEntries(chats) as ChatPlatformConfigs),
  };
}

/** A platform is on if its token is set. */
function resolvePlatform(
  row: (typeof PLATFORM_ROWS)[number],
  file: CompletePlatforms,
  references: References,
): ChatPlatformConfig | null {
  const set = references.platforms[row.key] ?? {};
  const own = row.resolve(file[row.key], camelCased(set));
  if (own === null) return null;
  const { dm, allow, owners, ownerRoles, catchUpMaxAgeMs, apiUrl } = file[row.key];
  const chat: ChatPlatformConfig = {
    dm,
    allow,
    owners,
    ownerRoles,
    catchUpMaxAgeMs,
    apiUrl: apiUrl === "" ? null : apiUrl.replace(/(?<!\/)\/+$/, ""),
    secrets: Object.values(set).filter((value) => value !== null),
  };
  return { ...own, ...chat };
}

function resolveTelemetry(
  { serviceName }: CamelCased<CompleteFile>["telemetry"],
  { collectorUrl: endpoint, collectorHeaders }: References,
): TelemetryConfig | null {
  if (endpoint === null) return null;
  return { endpoint, headers: headersFrom(collectorHeaders ?? "") ?? {}, serviceName };
}

function resolveHttp(
  { listen, hosts }: CamelCased<CompleteFile>["http"],
  { httpToken: token }: References,
): HttpConfig | null {
  if (listen === "") return null;
  const mayMove = listen === "auto";
  return {
    ...hostAndPort(mayMove ? OWN_ADDRESS : listen),
    mayMove,
    token,
    hosts: hosts.map((name) => name.toLowerCase()),
  };
}

function resolveCluster(
  { name, prefix }: CamelCased<CompleteFile>["cluster"],
  { clusterUrl: url }: References,
): ClusterConfig | null {
  return url === null ? null : { url, name: name === "" ? null : name, prefix };
}

/** Without any binding, the first agent answers DMs and mentions everywhere, and listens to nothing else. */
function resolveBindings(
  file: FileConfig["bindings"],
  agents: readonly Pick<AgentConfig, "id" | "memory">[],
): BindingConfig[] {
  const written =
    file ??
    agents.slice(0, 1).flatMap(({ id }) =>
      CHAT_PLATFORMS.map((platform) => {
        return { agent: id, platform, listen: false };
      }),
    );
  return written.flatMap((binding) => {
    const complete = camelCased(bindingSchema.parse(binding));
    // A missing agent is reported as another problem.
    return agents
      .filter(({ id }) => id === complete.agent)
      .map(({ id, memory }) => {
        const { memoryShare } = complete;
        const also = agents.map((one) => one.id).filter((one) => one !== id && complete.also.includes(one));
        const share = memoryShare === "agent" ? memory.share : memoryShare;
        return { ...complete, agent: id, also, memoryShare: share };
      });
  });
}
