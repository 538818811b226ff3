import { camelToSnake } from "./camel-case.ts";
import type { ChatPlatformConfig, Config } from "./config.ts";
import { isForStart } from "./schema-walk.ts";
import { isTable } from "./value-tree.ts";

/** What differs between two configurations, by keys as the file has them. No value is ever told. */
export interface Changes {
  /** Takes effect in a Weir that runs. */
  readonly live: readonly string[];
  /** Takes effect at the next start. */
  readonly atStart: readonly string[];
}

/** Tables of which a Weir that runs keeps what it was started with, but for what is read whenever somebody asks. */
type LivePlatform = Pick<ChatPlatformConfig, "dm" | "allow" | "owners" | "ownerRoles">;

/**
 * The configuration that a Weir that runs can take up: that of now, but for what only a start can change. Pure.
 * @param started what it was started with
 */
export function takeUp(started: Config, next: Config): Config {
  const { baseUrl, apiKey, firstTokenTimeoutMs, idleTimeoutMs, embeddings } = started.llm;
  const { loopback, discord, slack } = started.platforms;
  return {
    ...next,
    database: started.database,
    daemon: started.daemon,
    telemetry: started.telemetry,
    http: started.http,
    agentsDir: started.agentsDir,
    llm: { ...next.llm, baseUrl, apiKey, firstTokenTimeoutMs, idleTimeoutMs, embeddings },
    platforms: {
      loopback,
      discord: discord === null ? null : { ...discord, ...liveOf(next.platforms.discord) },
      slack: slack === null ? null : { ...slack, ...liveOf(next.platforms.slack) },
    },
  };
}

/** Of a platform that is off in the file, and so goes on as it was, nothing is known. */
function liveOf(platform: ChatPlatformConfig | null): LivePlatform | null {
  if (platform === null) return null;
  const { dm, allow, owners, ownerRoles } = platform;
  return { dm, allow, owners, ownerRoles };
}

/** Pure. */
export function changesBetween(before: Config, after: Config): Changes {
  const [a, b] = [valuesOf(before), valuesOf(after)];
  const all = [...new Set([...a.keys(), ...b.keys()])];
  // Of what is off in one of them only the switch is told.
  const keys = all.filter((key) => a.get(key) !== b.get(key) && (isNamed(key) || (a.has(key) && b.has(key))));
  const named = new Set(keys.map((key) => whole(key, a, b)));
  const atStart = [...named].filter((key) => isOfStart(key));
  return { live: [...named].filter((key) => !atStart.includes(key)), atStart };
}

function isNamed(key: string): boolean {
  return /^(?:agents|models)\./.test(key);
}

/** An agent or a model that is new or gone is told as one. */
function whole(key: string, a: ReadonlyMap<string, string>, b: ReadonlyMap<string, string>): string {
  const table = /^(?:agents\.[^.]+|models\."(?:[^"\\]|\\.)*")/.exec(key)?.[0];
  if (table === undefined) return key;
  const isIn = (values: ReadonlyMap<string, string>): boolean =>
    values.keys().some((one) => one.startsWith(`${table}.`));
  return isIn(a) && isIn(b) ? key : table;
}

function isOfStart(key: string): boolean {
  const model = /^models\..*\.([a-z_]+)$/.exec(key)?.[1];
  return isForStart(model === undefined ? key.split(".") : ["models", "NAME", model]);
}

/** Each option that can differ, by its key, as a text to compare. */
function valuesOf({
  database,
  llm,
  log,
  telemetry,
  retention,
  daemon,
  http,
  prompts,
  platforms,
  bindings,
  agents,
}: Config): Map<string, string> {
  const values = new Map<string, string>();
  const put = (key: string, value: unknown): void => {
    values.set(key, JSON.stringify(value) ?? "");
  };
  const putAll = (table: string, of: object): void => {
    for (const [name, value] of Object.entries(of)) put(`${table}.${camelToSnake(name)}`, value);
  };
  const { models, embeddings, ...server } = llm;
  for (const [table, of] of Object.entries({ database, llm: server, log, retention, daemon, prompts }))
    putAll(table, of);
  putAll("telemetry", telemetry ?? { endpoint: null });
  putAll("llm.embeddings", embeddings ?? { model: "" });
  const { host = "", port = 0, ...service } = http ?? {};
  putAll("http", { listen: [host, port], ...service });
  for (const { name, ...model } of models) putAll(`models.${JSON.stringify(name)}`, model);
  const { loopback, discord, slack } = platforms;
  putAll("platforms.loopback", loopback ?? { url: "" });
  putAll("platforms.discord", discord ?? { token: null });
  const { intake = {}, ...chat } = slack ?? { botToken: null };
  putAll("platforms.slack", chat);
  const { host: at, port: on, ...keys } = { host: "", port: 0, ...intake };
  if (slack !== null) putAll("platforms.slack", { ...keys, listen: [at, on] });
  put("bindings", bindings);
  for (const { id, ...agent } of agents)
    for (const [name, value] of Object.entries(agent)) {
      const key = `agents.${id}.${camelToSnake(name)}`;
      if (isTable(value)) putAll(key, value);
      else put(key, value);
    }
  return values;
}
