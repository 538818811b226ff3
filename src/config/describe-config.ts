import type { AgentConfig, Config } from "./config.ts";

/** What an operator sees of a configuration that is right. Says which secrets are set, never what they are. */
export function describeConfig(config: Config): string {
  const { llm, database, platforms, prompts } = config;
  const rows: [string, string][] = [
    ["file", config.file ?? "none: built-in defaults"],
    [
      "database",
      database.url === null ? `embedded Postgres in ${database.dataDir}` : describeDatabase(database.url),
    ],
    ["model server", llm.baseUrl === null ? noServer(llm.apiKey !== null) : withoutSecrets(llm.baseUrl)],
    ["API key", llm.apiKey === null ? "not set" : "set"],
    ["prompts", prompts.dir ?? `built in, language "${prompts.language}"`],
    ["loopback", platforms.loopback === null ? "off" : withoutSecrets(platforms.loopback.url)],
    ["log level", config.log.level],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  const head = rows.map(([name, value]) => `${name.padEnd(width)}  ${value}`);
  return [...head, ...config.agents.flatMap((agent) => ["", ...describeAgent(agent)])].join("\n");
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

function withoutSecrets(address: string): string {
  const url = URL.parse(address);
  return url === null ? "set" : `${url.protocol}//${url.host}${url.pathname}`;
}

function describeAgent(agent: AgentConfig): string[] {
  const { compaction } = agent;
  const window =
    agent.contextWindow === 0 ? "from the table of known models" : `${agent.contextWindow} tokens`;
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
