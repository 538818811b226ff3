import { originOf } from "../text/displayable.ts";
import { counted } from "../text/text.ts";
import {
  type AgentConfig,
  type BindingConfig,
  type ChatPlatformConfig,
  type Config,
  configuredWindow,
  type ModelConfig,
  type PlatformsConfig,
} from "./config.ts";

/** What an operator sees of a configuration that is right. Says which secrets are set, never what they are. */
export function describeConfig(config: Config): string {
  const { llm, database, platforms, prompts } = config;
  const rows: [string, string][] = [
    ["file", config.file ?? "none: built-in defaults"],
    [
      "database",
      database.url === null ? `embedded Postgres in ${database.dataDir}` : describeDatabase(database.url),
    ],
    ["model server", llm.baseUrl === null ? noServer(llm.apiKey !== null) : originOf(llm.baseUrl)],
    ["API key", llm.apiKey === null ? "not set" : "set"],
    ["prompts", prompts.dir ?? `built in, language "${prompts.language}"`],
    ["loopback", platforms.loopback === null ? "off" : originOf(platforms.loopback.url)],
    ["Discord", describeDiscord(platforms)],
    ["Slack", describeSlack(platforms)],
    ["log level", config.log.level],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const head = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  const isChatting = platforms.discord !== null || platforms.slack !== null;
  const bindings = isChatting ? ["", ...config.bindings.map(describeBinding)] : [];
  const models = llm.models.length === 0 ? [] : ["", ...llm.models.map(describeModel)];
  return [
    ...head,
    ...bindings,
    ...models,
    ...config.agents.flatMap((agent) => ["", ...describeAgent(agent, llm.models)]),
  ].join("\n");
}

function describeDiscord({ discord }: PlatformsConfig): string {
  return discord === null ? "off: DISCORD_TOKEN is not set" : `on, ${describeChat(discord)}`;
}

function describeSlack({ slack }: PlatformsConfig): string {
  if (slack === null) return "off: SLACK_BOT_TOKEN is not set";
  const { intake } = slack;
  const by = intake.mode === "socket" ? "Socket Mode" : `HTTP on ${intake.host}:${intake.port}`;
  return `on, by ${by}, ${describeChat(slack)}`;
}

function describeChat({ apiUrl, dm, owners, ownerRoles }: ChatPlatformConfig): string {
  const people = counted(owners.length, "owner");
  const roles = ownerRoles.length === 0 ? "" : ` and ${counted(ownerRoles.length, "role")} of owners`;
  return `DMs ${dm}, ${people}${roles}${apiUrl === null ? "" : `, at ${originOf(apiUrl)}`}`;
}

function describeBinding({
  platform,
  agent,
  workspaces,
  channels,
  mentionRequired,
  listen,
}: BindingConfig): string {
  const where = [...workspaces, ...channels].join(", ");
  const when = mentionRequired ? "mentions" : "every message";
  return `binding  ${platform}${where === "" ? "" : ` (${where})`}: ${agent} answers ${when}${listen ? ", and listens" : ""}`;
}

function noServer(hasKey: boolean): string {
  return hasKey ? "the default of the openai client" : "not set: a local Ollama, or else the offline model";
}

/** Host and name only: a user may be part of what nobody should see. */
function describeDatabase(url: string): string {
  const parsed = URL.parse(url);
  const isAddress = parsed !== null && parsed.host !== "";
  return isAddress ? `set (Postgres at ${parsed.host}${parsed.pathname})` : "set";
}

function describeModel({ name, contextWindow, maxOutputTokens }: ModelConfig): string {
  const said = [
    ...(contextWindow === 0 ? [] : [`a window of ${contextWindow} tokens`]),
    ...(maxOutputTokens === 0 ? [] : [`answers of ${maxOutputTokens} at most`]),
  ];
  return `model  ${name}: ${said.join(", ")}`;
}

function describeAgent(agent: AgentConfig, models: readonly ModelConfig[]): string[] {
  const { compaction } = agent;
  const tokens = configuredWindow(models, agent.model, agent.contextWindow);
  const window = tokens === 0 ? "from the table of known models" : `${tokens} tokens`;
  const rows: [string, string][] = [
    ["model", [agent.model, ...agent.fallbacks.map((name) => `then ${name}`)].join(", ")],
    ["compactor", agent.compactorModel],
    ["window", `${window}, ${agent.maxOutputTokens + agent.generationReserve} kept free for the answer`],
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

function percent(share: number): string {
  return `${Number((share * 100).toFixed(2))} %`;
}
