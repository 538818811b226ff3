import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { type Logger, pino } from "pino";
import type { Compaction } from "../../src/channel/channel-context.ts";
import type { Config, McpServerConfig } from "../../src/config/config.ts";
import { loadConfig } from "../../src/config/load.ts";
import type { ReloadAnswer } from "../../src/admin/requests/reload-answer.ts";
import { agentId } from "../../src/core/ids.ts";
import type { InboundMessage, Receipt } from "../../src/core/message.ts";
import { buildDaemon, type Daemon, type DaemonOptions } from "../../src/daemon/daemon.ts";
import type { Connection } from "../../src/store/database/queryable.ts";
import type { WeirEvent } from "../../src/telemetry/events.ts";
import type { Cluster } from "../../src/daemon/channels.ts";
import { TestPlatform } from "./test-platform.ts";
import { type Binding, bindPlatform } from "../../src/router/bindings.ts";

export interface TestWeirOptions {
  readonly connection: Connection;
  /** Base URL of the model server. */
  readonly modelUrl: string;
  /** The key for it; default: none. */
  readonly apiKey?: string;
  /** The time in the conversations; default: the wall clock. */
  readonly now?: () => Date;
  readonly config?: string;
  /** More variables of the environment. */
  readonly env?: Readonly<Record<string, string>>;
  /** The folder with the agents' folders; default: none. */
  readonly agentsDir?: string;
  readonly platform?: TestPlatform;
  readonly logLevel?: string;
  /** In place of one of that level. */
  readonly log?: Logger;
  /** Called with each line of the log, from `warn` on. */
  readonly onLog?: (line: string) => void;
  /** Changes to the default binding. */
  readonly binding?: Partial<Binding>;
  /** The bindings; default: the first agent everywhere, by `binding`. */
  readonly bindingsOf?: (config: Config) => readonly Binding[];
  /** Default: this daemon is home of all channels. */
  readonly cluster?: Cluster;
  /** Changes to the compactors: waits, the circuit breaker. */
  readonly compaction?: Partial<Compaction>;
  /** As for `DaemonOptions`; null: a daemon's own limits. Default: long enough for a busy machine, so that nothing is late. */
  readonly lookUpWithinMs?: number | null;
  readonly takeover?: DaemonOptions["takeover"];
}

/** The whole daemon on the test's platform, with a real database and a real model server. */
export interface TestWeir extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly platform: TestPlatform;
  readonly events: WeirEvent[];
  /** Activates another config.toml. */
  reload(config: string): Promise<ReloadAnswer>;
  /** Says something in the channel `room`, by default under a made-up id. */
  say(text: string, options?: Partial<InboundMessage> & { room?: string }): Promise<Receipt>;
  /** Resolves with the first event, past or future, that meets the condition. */
  event<Type extends WeirEvent["type"]>(
    type: Type,
    condition?: (event: Extract<WeirEvent, { type: Type }>) => boolean,
  ): Promise<Extract<WeirEvent, { type: Type }>>;
}

/** Longest wait for a turn's look-ups in tests of their results, ms. */
export const LOOK_UP_WITHIN_MS = 60_000;

let count = 0;

/** The configuration of `startWeir`. */
export async function readConfig({
  connection,
  modelUrl,
  apiKey = "",
  config = "",
  env: more = {},
}: Pick<TestWeirOptions, "connection" | "modelUrl" | "apiKey" | "config" | "env">): Promise<Config> {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-config-"));
  try {
    await writeFile(path.join(folder, "config.toml"), config);
    const env = {
      DATABASE_URL: connectionUrl(connection),
      OPENAI_BASE_URL: modelUrl,
      OPENAI_API_KEY: apiKey,
      ...more,
    };
    return loadConfig({ cwd: folder, env });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** Each configuration is read from a file of its own, which is gone afterwards. */
const NO_FILES = {
  check: () => "This configuration is of a test.",
  onTaken: () => undefined,
  pathsOf: () => [],
  onConfigured: () => undefined,
};

/** Starts it; disposing drains it. */
export async function startWeir(options: TestWeirOptions): Promise<TestWeir> {
  const config = await readAs(options, options.config);
  const platform = options.platform ?? new TestPlatform();
  const { onLog } = options;
  const log =
    onLog === undefined
      ? (options.log ?? pino({ level: options.logLevel ?? "silent" }))
      : pino({ level: "warn" }, { write: onLog });
  const events: WeirEvent[] = [];
  const waiting = new Set<() => void>();
  const bindFirst = ({ agents: [first] }: Config): Binding[] =>
    ["test", "discord", "slack"].map((name) => {
      return { ...bindPlatform(name, first?.id ?? agentId("main")), ...options.binding };
    });
  const { bindingsOf = bindFirst } = options;
  let saved: Config | Error = config;
  const { compaction = {}, now, cluster, takeover, lookUpWithinMs = LOOK_UP_WITHIN_MS } = options;
  const daemon = await buildDaemon({
    config,
    log,
    platforms: () => [platform],
    bindings: bindingsOf(config),
    source: {
      read() {
        if (saved instanceof Error) throw saved;
        return saved;
      },
      bindingsOf,
      ...NO_FILES,
    },
    compaction,
    lookUpWithinMs: lookUpWithinMs ?? undefined,
    takeover,
    ...(now !== undefined && { now }),
    ...(cluster !== undefined && { cluster }),
  });
  daemon.events.on((event) => {
    events.push(event);
    for (const resolve of waiting) resolve();
    waiting.clear();
  });
  await daemon.open();
  return {
    daemon,
    platform,
    events,
    async reload(text) {
      // Each was read in a separate folder.
      const { database, file, home } = config;
      saved = await readAs(options, text).then(
        (next) => ({ ...next, database, file, home }),
        (error: unknown) => (error instanceof Error ? error : new Error("nothing was read")),
      );
      return daemon.reload();
    },
    say: async (text, { room = "room", ...overrides } = {}) =>
      daemon.inbox.receive(message(text, room, overrides)),
    async event(type, condition = () => true) {
      for (;;) {
        const found = events.filter((event) => isOfType(event, type)).find(condition);
        if (found !== undefined) return found;
        await new Promise<void>((resolve) => {
          waiting.add(resolve);
        });
      }
    },
    [Symbol.asyncDispose]: async () => daemon[Symbol.asyncDispose](),
  };
}

/** The configuration with this config.toml. */
async function readAs(options: TestWeirOptions, config?: string): Promise<Config> {
  const read = await readConfig({ ...options, ...(config !== undefined && { config }) });
  // The folder of the configuration is removed by now: servers run elsewhere.
  const agents = read.agents.map((agent) => ({ ...agent, mcp: agent.mcp.map(inTemporaryFolder) }));
  return { ...read, agents, agentsDir: options.agentsDir ?? read.agentsDir };
}

function inTemporaryFolder(server: McpServerConfig): McpServerConfig {
  const { reach } = server;
  return reach.kind === "url" ? server : { ...server, reach: { ...reach, folder: tmpdir() } };
}

function isOfType<Type extends WeirEvent["type"]>(
  event: WeirEvent,
  type: Type,
): event is Extract<WeirEvent, { type: Type }> {
  return event.type === type;
}

function message(text: string, room: string, overrides: Partial<InboundMessage>): InboundMessage {
  count++;
  return {
    type: "message",
    channel: { platform: "test", name: room },
    kind: "channel",
    workspace: "",
    id: `in-${count}`,
    author: { id: "u-ann", name: "Ann", isBot: false },
    text,
    at: new Date(),
    addressed: true,
    ...overrides,
  };
}

/** The URL form of a connection, also of a socket in a folder. */
export function connectionUrl(connection: Connection): string {
  if ("url" in connection) return connection.url;
  const { host, port, user, database } = connection;
  return `postgres://${user}@localhost:${port}/${database}?host=${encodeURIComponent(host)}`;
}
