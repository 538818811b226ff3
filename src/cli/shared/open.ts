import path from "node:path";
import type { Logger } from "pino";
import { KnownSecrets } from "../../admin/secrets.ts";
import type { Config } from "../../config/config.ts";
import { isColourUnwanted, loadConfig } from "../../config/load.ts";
import { errorMessage, OperatorError } from "../../core/errors.ts";
import { formatAddress, parseAddress } from "../../core/ids.ts";
import { useProxies } from "../../network/use-proxies.ts";
import type { LearnedModels } from "../../llm/catalog/learned-models.ts";
import { FEATURE_ROWS } from "../../features/stored.ts";
import type { ChannelRow } from "../../store/channels/channels.ts";
import type { Database } from "../../store/database/database.ts";
import { closeDataFolder } from "../../store/database/data-folder.ts";
import { NotMigratedError } from "../../store/database/migrate.ts";
import { assertExists, openDatabase } from "../../store/database/open.ts";
import { fileSigner } from "../../store/database/signing-key.ts";
import { createStore, type Store } from "../../store/store.ts";
import { createLog, type LogTargets } from "../../telemetry/log.ts";
import type { LogFileOptions } from "../../telemetry/log-file.ts";
import { createTimeFormat, type TimeFormat } from "../../text/time.ts";
import type { CommonOptions, Io } from "./io.ts";
import { placeOf } from "./readable-config.ts";

export function readConfig(io: Io, options: CommonOptions): Config {
  const config = loadConfig(placeOf(io, options));
  useProxies(config.proxies);
  return config;
}

/** On stderr, in the configured form: by default readable text on a terminal, and JSON lines otherwise. */
export function openLog(
  io: Io,
  config: Config,
  level: string = config.log.level,
  { masked }: Pick<KnownSecrets, "masked"> = KnownSecrets.of(config),
): Logger {
  return createLog(level, { ...stderrOf(io, config), mask: masked });
}

/**
 * The log of a daemon: also in the file that `weir logs` reads.
 * @param secrets what is hidden in it; a reload may add to them
 * @param isShown also on stderr, and there alone where the data folder cannot be used: with a database of one's own it need not be
 * @throws OperatorError if the folder cannot be used, and nothing would be shown
 */
export async function openDaemonLog(
  io: Io,
  config: Config,
  secrets: KnownSecrets,
  isShown: boolean,
): Promise<Logger> {
  const stderr = isShown ? stderrOf(io, config) : {};
  try {
    // Before there is a log in it that others could read.
    await closeDataFolder(config.database.dataDir);
  } catch (error) {
    if (!isShown || config.database.url === null) throw error;
    const log = openLog(io, config, config.log.level, secrets);
    log.warn({ why: errorMessage(error) }, "log_file_not_written");
    return log;
  }
  return createLog(config.log.level, { ...stderr, file: logFileOf(config), mask: secrets.masked });
}

export function logFileOf({ database, log }: Config): LogFileOptions {
  return { path: path.join(database.dataDir, "weir.log"), maxBytes: log.fileMaxBytes, maxFiles: log.files };
}

function stderrOf({ stderr }: Io, { log }: Config): LogTargets {
  const form = log.format === "auto" ? (stderr.isTTY ? "text" : "json") : log.format;
  return { stderr: form, hasColor: stderr.isTTY && !isColourUnwanted() };
}

/** Opens the database beside a daemon that may be running, for one command. */
export async function withStore<Result>(
  io: Io,
  config: Config,
  work: (store: Store, database: Database) => Promise<Result>,
  role: "reader" | "asker" = "reader",
): Promise<Result> {
  const log = openLog(io, config, "warn");
  await using opened = await openDatabase(config.database, log, role);
  const signer = fileSigner(config.database.dataDir);
  return await work(createStore(opened.database, FEATURE_ROWS, { signer }), opened.database);
}

/** @throws OperatorError if there is no such channel, with the known ones */
export async function findChannel(store: Store, name: string): Promise<ChannelRow> {
  const channel = await store.channels.find(parseAddress(name));
  if (channel !== undefined) return channel;
  const known = await store.channels.newest(10);
  const list = known.map(({ address }) => formatAddress(address)).join(", ");
  const hint = list === "" ? "Nothing has been said anywhere yet." : `The newest channels are: ${list}.`;
  throw new OperatorError(`There is no channel ${formatAddress(parseAddress(name))}. ${hint}`);
}

/**
 * For a command about all channels: a folder that is not Weir's has no channels.
 * @throws OperatorError if there is no database
 */
export async function assertHasRun({ database, file, home }: Config): Promise<void> {
  try {
    await assertExists(database);
  } catch (error) {
    if (!(error instanceof NotMigratedError) || file !== null) throw error;
    throw new OperatorError(
      `${errorMessage(error)} Is ${home} the right home? There is no config.toml in it either.`,
    );
  }
}

export function firstTimeFormat(config: Config): TimeFormat {
  return timeFormatOf(config, config.agents[0]?.id ?? "");
}

/** Times as an agent sees them; those of the first agent if the configuration no longer has this one. */
export function timeFormatOf(config: Config, agent: string): TimeFormat {
  const { timeZone = "UTC" } = config.agents.find(({ id }) => id === agent) ?? config.agents[0] ?? {};
  return createTimeFormat(timeZone);
}

/** A daemon's knowledge of models, read-only. */
export function onlyLooking({ learnedModels }: Pick<Store, "learnedModels">): LearnedModels {
  return {
    load: async (server) => learnedModels.load(server),
    keepWindow: async () => undefined,
    keepFactor: async () => undefined,
  };
}
