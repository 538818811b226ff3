import { setTimeout as delay } from "node:timers/promises";
import { chmod, mkdir, mkdtemp, realpath, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { loadConfig } from "../../src/config/load.ts";
import { agentId } from "../../src/core/ids.ts";
import { buildDaemon, type Daemon } from "../../src/daemon/daemon.ts";
import { findEmbeddedPostgres } from "../../src/store/database/embedded/embedded-postgres.ts";
import { Database } from "../../src/store/database/database.ts";
import { createLog } from "../../src/telemetry/log.ts";
import { BenchPlatform } from "./platform.ts";
import { bindPlatform } from "../../src/router/bindings.ts";

export interface BenchAgent {
  readonly id: string;
  readonly model: string;
  readonly summariser?: string;
  /** Tokens. */
  readonly window?: number;
  /** Lines of `[agents.compaction]`. */
  readonly compaction?: string;
}

/** A whole daemon on its own embedded Postgres, with fsync and a log file, as in service. */
export interface BenchDaemon extends AsyncDisposable {
  readonly daemon: Daemon;
  /** One per configured agent, by its id. */
  readonly platforms: ReadonlyMap<string, BenchPlatform>;
  readonly platform: BenchPlatform;
  /** Besides the daemon's own connections, for filling and reading. */
  readonly database: Database;
  readonly dataDir: string;
}

export interface BenchDaemonOptions {
  /** Null: no server; the built-in model answers. */
  readonly modelUrl: string | null;
  readonly agents: readonly BenchAgent[];
  /** Lines of `[daemon]`. */
  readonly daemon?: string;
  /** Tables of `[models]`. */
  readonly models?: string;
  /** Texts of files under `agents/`, by path; default: none. */
  readonly agentFiles?: Readonly<Record<string, string>>;
  /** A database on another server, and a folder that outlives the daemon; default: both are its own. */
  readonly home?: { readonly folder: string; readonly databaseUrl: string };
}

/** A folder that the server's account can access. Disposing removes it. */
export async function makeFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const folder = await realpath(await mkdtemp(path.join(tmpdir(), "weir-bench-")));
  await chmod(folder, 0o711);
  return { path: folder, [Symbol.asyncDispose]: async () => rm(folder, { recursive: true, force: true }) };
}

export async function startBenchDaemon(options: BenchDaemonOptions): Promise<BenchDaemon> {
  await using stack = new AsyncDisposableStack();
  const { home } = options;
  const folder = home === undefined ? stack.use(await makeFolder()) : { path: home.folder };
  await writeFile(path.join(folder.path, "config.toml"), configText(options));
  for (const [file, text] of Object.entries(options.agentFiles ?? {})) {
    const target = path.join(folder.path, "agents", file);
    await mkdir(path.dirname(target), { recursive: true });
    await writeFile(target, text);
  }
  const config = loadConfig({
    cwd: folder.path,
    env: {
      ...(options.modelUrl !== null && { OPENAI_BASE_URL: options.modelUrl }),
      ...(home !== undefined && { DATABASE_URL: home.databaseUrl }),
    },
  });
  const platforms = new Map(options.agents.map(({ id }) => [id, new BenchPlatform(id)]));
  const log = createLog("info", {
    file: { path: path.join(folder.path, "weir.log"), maxBytes: 10_000_000, maxFiles: 5 },
  });
  const daemon = stack.use(
    await buildDaemon({
      config,
      log,
      platforms: () => [...platforms.values()],
      bindings: options.agents.map(({ id }) => bindPlatform(id, agentId(id))),
    }),
  );
  await daemon.open();
  const { dataDir } = config.database;
  const connection = home === undefined ? await findEmbeddedPostgres(dataDir) : { url: home.databaseUrl };
  if (connection === null) throw new Error("the embedded Postgres does not run");
  const database = stack.use(new Database(connection, pino({ level: "silent" }), { maxConnections: 10 }));
  const [platform] = platforms.values();
  if (platform === undefined) throw new Error("a daemon without an agent");
  const kept = stack.move();
  return {
    daemon,
    platforms,
    platform,
    database,
    dataDir,
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/**
 * Waits until the index is complete: all messages can be found, and its cost is spent.
 * @param lookEveryMs short if the time matters, long if the polls' own cost would
 */
export async function untilIndexed({ daemon }: BenchDaemon, lookEveryMs: number): Promise<void> {
  while ((await daemon.store.search.behind()).length > 0) await delay(lookEveryMs);
}

function configText({ agents, daemon = "", models = "" }: BenchDaemonOptions): string {
  const texts = agents.map(
    ({ id, model, summariser = model, window = 131_072, compaction = "" }) => `
[[agents]]
id = "${id}"
name = "Weir"
model = "${model}"
compactor_model = "${summariser}"
context_window = ${window}
[agents.compaction]
${compaction}
`,
  );
  return `[daemon]\n${daemon}\n${models}\n${texts.join("")}`;
}
