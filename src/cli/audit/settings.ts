import { type BindingConfig, type Config, serverOf } from "../../config/config.ts";
import { formatPath, type KeyPath } from "../../config/value-tree.ts";
import { PLATFORM_ROWS } from "../../platforms/platforms.ts";
import { isLoopback } from "../../text/host-and-port.ts";
import type { AuditFinding } from "./finding.ts";

/** What is unsafe in a configuration. Pure. */

/** The file and line of a key, or of the table in which it is missing. */
export type Locate = (path: KeyPath) => string;

export type AuditedConfig = Pick<
  Config,
  "bindings" | "platforms" | "http" | "agents" | "log" | "llm" | "database" | "cluster"
>;

export function auditSettings(config: AuditedConfig, locate: Locate): AuditFinding[] {
  const at = (...path: KeyPath): string => `${locate(path)} ${formatPath(path)}`;
  return [
    ...config.bindings.flatMap((binding, index) =>
      auditBinding(config, binding, (key) => at("bindings", index, key)),
    ),
    ...auditDms(config, at),
    ...auditListening(config, at),
    ...auditTools(config, at),
    ...auditAddresses(config, at),
    ...auditLog(config, at),
  ];
}

type At = (...path: KeyPath) => string;

function auditBinding(
  { platforms }: AuditedConfig,
  binding: BindingConfig,
  at: (key: string) => string,
): AuditFinding[] {
  const row = PLATFORM_ROWS.find(({ key }) => key === binding.platform);
  const isOpen =
    platforms[binding.platform] !== null &&
    [binding.workspaces, binding.channels, binding.allowUsers, binding.allowRoles].every(
      ({ length }) => length === 0,
    );
  if (row === undefined || !isOpen) return [];
  const what = "binding";
  const open: AuditFinding[] =
    row.servers === undefined
      ? []
      : [
          {
            severity: "warn",
            what,
            where: at("workspaces"),
            detail: `anybody who can add the bot to a server of their own on ${row.title} is answered there, at your cost`,
            fix: 'write the ids of your servers: workspaces = ["ID"]; or list people in allow_users',
          },
        ];
  const every: AuditFinding = {
    severity: "warn",
    what,
    where: at("mention_required"),
    detail: `on ${row.title} each message in each channel that the bot is added to is answered`,
    fix: 'mention_required = true, or name the channels: channels = ["ID"]',
  };
  const unlimited: AuditFinding = {
    severity: "warn",
    what,
    where: at("rate_limit"),
    detail: `one person on ${row.title} may cause any number of answers`,
    fix: "rate_limit = 20",
  };
  return [
    ...open,
    ...(binding.mentionRequired ? [] : [every]),
    ...(binding.rateLimit === 0 ? [unlimited] : []),
  ];
}

function auditDms({ platforms, bindings }: AuditedConfig, at: At): AuditFinding[] {
  return PLATFORM_ROWS.flatMap(({ key, title }): AuditFinding[] => {
    const isOpen =
      platforms[key]?.dm === "everyone" &&
      bindings.some(({ platform, dms, allowUsers }) => platform === key && dms && allowUsers.length === 0);
    if (!isOpen) return [];
    return [
      {
        severity: "warn",
        what: "direct messages",
        where: at("platforms", key, "dm"),
        detail: `anybody on ${title} can use the bot in direct messages, at your cost`,
        fix: 'dm = "allowlist"; or delete the line: by default strangers are let in by a code',
      },
    ];
  });
}

function auditListening({ http, platforms }: AuditedConfig, at: At): AuditFinding[] {
  const findings: AuditFinding[] = [];
  if (http !== null && !isLoopback(http.host)) {
    const where = at(..."http.listen".split("."));
    const detail = `other machines reach the HTTP service on ${http.host}, and its token crosses the network unencrypted`;
    const fix = `listen = "127.0.0.1:${http.port}", and a TLS proxy before it`;
    findings.push({ severity: "warn", what: "HTTP", where, detail, fix });
    if (http.token === null)
      findings.push({
        severity: "error",
        what: "HTTP",
        where: at("http", "token"),
        detail:
          "other machines reach the HTTP service, and you have set no token: that of the data folder guards it",
        fix: "set WEIR_HTTP_TOKEN in .env to a long random text: openssl rand -hex 32",
      });
  }
  return [...findings, ...PLATFORM_ROWS.flatMap((row) => auditIntake(row, platforms, at))];
}

function auditIntake(
  row: (typeof PLATFORM_ROWS)[number],
  platforms: Config["platforms"],
  at: At,
): AuditFinding[] {
  const config = platforms[row.key];
  const place = config === null ? null : (row.listens?.(config) ?? null);
  if (place === null || isLoopback(place.host)) return [];
  return [
    {
      severity: "warn",
      what: row.title,
      where: at(...`platforms.${row.key}.listen`.split(".")),
      detail: `other machines reach the port for its events on ${place.host} without TLS`,
      fix: `listen = "127.0.0.1:${place.port}", and a TLS proxy before it`,
    },
  ];
}

function auditTools({ agents }: AuditedConfig, at: At): AuditFinding[] {
  return agents.flatMap(({ mcp, id }, agent) =>
    mcp.flatMap(({ name, approve, tools }, index): AuditFinding[] => {
      if (approve !== "never") return [];
      const which = tools.length === 0 ? "all its tools" : tools.join(", ");
      return [
        {
          severity: tools.length === 0 ? "error" : "warn",
          what: "MCP",
          where: at("agents", agent, "mcp", index, "approve"),
          detail: `whoever talks to the agent ${id} can have it call ${which} of ${name}, and nobody approves it`,
          fix: 'approve = "writes"; or "always", where you do not trust what the server calls read-only',
        },
      ];
    }),
  );
}

/** Secrets and people's words that cross a network unencrypted. */
function auditAddresses({ llm, database, cluster, agents }: AuditedConfig, at: At): AuditFinding[] {
  const servers = llm.servers.map(
    ({ name, baseUrl }) => [at("llm", "servers", name, "base_url"), baseUrl] as const,
  );
  const tools = agents.flatMap(({ mcp }, agent) =>
    mcp.map(
      ({ reach }, index) =>
        [at("agents", agent, "mcp", index, "url"), reach.kind === "url" ? reach.url : null] as const,
    ),
  );
  const isDefaultUsed = serverOf(agents[0]?.model ?? "", llm.servers) === undefined;
  const addresses = [
    ...(isDefaultUsed ? [[at("llm", "base_url"), llm.baseUrl] as const] : []),
    ...servers,
    [at("cluster", "url"), cluster?.url ?? null] as const,
    ...tools,
  ];
  const findings = addresses.flatMap(([where, address]): AuditFinding[] => {
    const url = address === null ? null : URL.parse(address);
    if (url === null || !["http:", "amqp:"].includes(url.protocol) || isLoopback(url.hostname)) return [];
    const detail = `what is sent to ${url.host} crosses the network unencrypted, keys and people's words included`;
    return [
      {
        severity: "warn",
        what: "network",
        where,
        detail,
        fix: `use ${url.protocol.replace(":", "s")}://, or a tunnel`,
      },
    ];
  });
  return [...findings, ...auditDatabase(database, at)];
}

function auditDatabase({ url: address }: Config["database"], at: At): AuditFinding[] {
  const url = address === null ? null : URL.parse(address);
  if (url === null || url.hostname === "" || isLoopback(url.hostname)) return [];
  const mode = url.searchParams.get("sslmode") ?? "";
  if (["require", "verify-ca", "verify-full", "no-verify"].includes(mode)) return [];
  const detail = `everything that people say crosses the network to ${url.hostname} unencrypted, unless the server insists on TLS`;
  const fix = "put sslmode=verify-full into DATABASE_URL: docs/postgres.md";
  return [{ severity: "warn", what: "network", where: at("database", "url"), detail, fix }];
}

function auditLog({ log: { level } }: AuditedConfig, at: At): AuditFinding[] {
  if (level !== "debug" && level !== "trace") return [];
  const detail = `level ${level} writes much more than operation needs, and fills the log's files in a short time`;
  return [{ severity: "warn", what: "log", where: at("log", "level"), detail, fix: 'level = "info"' }];
}
