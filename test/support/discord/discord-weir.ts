import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { commandTable } from "../../../src/admin/commands/commands.ts";
import { COMMANDS } from "../../../src/features/features.ts";
import type { DiscordConfig } from "../../../src/platforms/discord/row.ts";
import type { Cluster } from "../../../src/daemon/channels.ts";
import type { ShardHomes } from "../../../src/platforms/shared/shard-homes.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { agentId } from "../../../src/core/ids.ts";
import { buildDaemon, type Daemon } from "../../../src/daemon/daemon.ts";
import { createDiscord } from "../../../src/platforms/discord/adapter.ts";
import type { DiscordTiming } from "../../../src/platforms/discord/timing.ts";
import { type Binding, bindPlatform } from "../../../src/router/bindings.ts";
import type { WeirEvent } from "../../../src/telemetry/events.ts";
import { LOOK_UP_WITHIN_MS } from "../weir.ts";

export interface DiscordWeirOptions {
  readonly databaseUrl: string;
  readonly modelUrl: string;
  readonly discord: Pick<DiscordConfig, "token" | "apiUrl"> & Partial<DiscordConfig>;
  readonly timing?: Partial<DiscordTiming>;
  /** Changes to the default binding. */
  readonly binding?: Partial<Binding>;
  /** More settings of the agent in config.toml. */
  readonly agent?: string;
  /** The daemons that share the channels; default: this one alone. */
  readonly cluster?: Cluster;
  /** Its connections; default: all. */
  readonly shardHomes?: ShardHomes;
  readonly onLine?: (line: string) => void;
}

export interface DiscordWeir extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly events: readonly WeirEvent[];
}

const CONFIG = `[[agents]]\nid = "main"\nname = "Weir"\nmodel = "test-model"\n`;
const TIMING = { isLoginPaced: false, streamMs: 20, callsPerSecond: 1000, closeMs: 200 };

/** The whole daemon on a Discord server; disposing drains it. */
export async function startDiscordWeir(options: DiscordWeirOptions): Promise<DiscordWeir> {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-discord-"));
  await writeFile(path.join(folder, "config.toml"), CONFIG + (options.agent ?? ""));
  const env = { DATABASE_URL: options.databaseUrl, OPENAI_BASE_URL: options.modelUrl };
  const config = loadConfig({ cwd: folder, env });
  const write = options.onLine ?? ((): void => undefined);
  const log = pino({ level: "info" }, { write });
  const own: DiscordConfig = {
    shards: 1,
    dm: "everyone",
    allow: [],
    owners: [],
    ownerRoles: [],
    secrets: [],
    catchUpMaxAgeMs: 3_600_000,
    ...options.discord,
  };
  const discord = createDiscord({
    config: own,
    log,
    commands: commandTable(COMMANDS),
    timing: { ...TIMING, ...options.timing },
    ...(options.shardHomes && { shardHomes: options.shardHomes }),
  });
  const bindings = [{ ...bindPlatform("discord", agentId("main")), ...options.binding }];
  const platforms = { ...config.platforms, discord: own };
  const daemon = await buildDaemon({
    config: { ...config, platforms },
    log,
    platforms: () => [discord],
    bindings,
    lookUpWithinMs: LOOK_UP_WITHIN_MS,
    ...(options.cluster && { cluster: options.cluster }),
  });
  const events: WeirEvent[] = [];
  daemon.events.on((event) => void events.push(event));
  await daemon.open();
  return {
    daemon,
    events,
    async [Symbol.asyncDispose]() {
      await daemon[Symbol.asyncDispose]();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
