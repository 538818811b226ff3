import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { commandTable } from "../../../src/admin/commands/commands.ts";
import { COMMANDS } from "../../../src/features/features.ts";
import type { SlackConfig } from "../../../src/platforms/slack/row.ts";
import type { Cluster } from "../../../src/daemon/channels.ts";
import { loadConfig } from "../../../src/config/load.ts";
import { agentId } from "../../../src/core/ids.ts";
import { buildDaemon, type Daemon } from "../../../src/daemon/daemon.ts";
import { createSlack } from "../../../src/platforms/slack/adapter.ts";
import type { SlackTiming } from "../../../src/platforms/slack/timing.ts";
import { type Binding, bindPlatform } from "../../../src/router/bindings.ts";
import type { WeirEvent } from "../../../src/telemetry/events.ts";
import { LOOK_UP_WITHIN_MS } from "../weir.ts";

export interface SlackWeirOptions {
  /** The Postgres' address; null: an embedded one in its own folder. */
  readonly databaseUrl: string;
  readonly modelUrl: string;
  readonly slack: Pick<SlackConfig, "botToken" | "intake" | "apiUrl"> & Partial<SlackConfig>;
  readonly timing?: Partial<SlackTiming>;
  /** Changes to the default binding. */
  readonly binding?: Partial<Binding>;
  /** More of config.toml. */
  readonly agent?: string;
  readonly onLine?: (line: string) => void;
  /** The daemons that share the channels; default: this one alone. */
  readonly cluster?: Cluster;
  /** HTTP mode: called with the listening port. */
  readonly onListening?: (port: number) => void;
}

export interface SlackWeir extends AsyncDisposable {
  readonly daemon: Daemon;
  readonly events: readonly WeirEvent[];
}

const CONFIG = `[[agents]]\nid = "main"\nname = "Weir"\nmodel = "test-model"\n`;

/** The whole daemon on a Slack server; disposing drains it. */
export async function startSlackWeir(options: SlackWeirOptions): Promise<SlackWeir> {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-slack-"));
  await writeFile(path.join(folder, "config.toml"), CONFIG + (options.agent ?? ""));
  const env = { DATABASE_URL: options.databaseUrl, OPENAI_BASE_URL: options.modelUrl };
  const config = loadConfig({ cwd: folder, env });
  const write = options.onLine ?? ((): void => undefined);
  const log = pino({ level: "info" }, { write });
  const own: SlackConfig = {
    agentView: "auto",
    feedbackButtons: false,
    dm: "everyone",
    allow: [],
    owners: [],
    ownerRoles: [],
    secrets: [],
    catchUpMaxAgeMs: 3_600_000,
    ...options.slack,
  };
  const slack = createSlack({
    config: own,
    log,
    commands: commandTable(COMMANDS),
    timing: { shortMs: 0, streamMs: 20, firstPieceMs: 0, ...options.timing },
    ...(options.onListening && { onListening: options.onListening }),
  });
  const bindings = [{ ...bindPlatform("slack", agentId("main")), ...options.binding }];
  const platforms = { ...config.platforms, slack: own };
  const daemon = await buildDaemon({
    config: { ...config, platforms },
    log,
    platforms: () => [slack],
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
