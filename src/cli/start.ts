import type { Logger } from "pino";
import { explainFailure } from "../admin/explain-failure.ts";
import { tellOwnersOfFailures } from "../admin/failure-notes.ts";
import { KnownSecrets } from "../admin/secrets.ts";
import type { Config } from "../config/config.ts";
import { managedPlace } from "../config/load.ts";
import { errorCode, errorMessage, OperatorError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { buildDaemon, type Daemon } from "../daemon/daemon.ts";
import type { HttpService } from "../daemon/http/service.ts";
import type { Monitor } from "../daemon/metrics/metrics.ts";
import { besideCluster, openCluster } from "../daemon/cluster.ts";
import { createLoopback } from "../platforms/local/loopback/adapter.ts";
import type { Platform } from "../platforms/platform.ts";
import { useProxies } from "../network/use-proxies.ts";
import { chooseMode } from "../platforms/terminal/process-terminal.ts";
import type { TerminalMode, TerminalPlatform } from "../platforms/terminal/terminal-platform.ts";
import { modelServerOf } from "../llm/provider-name.ts";
import type { Events } from "../telemetry/events.ts";
import { openOtlp } from "../telemetry/otlp/open.ts";
import type { MetricFamily } from "../telemetry/otlp/metric-families.ts";
import type { Otlp } from "../telemetry/otlp/otlp.ts";
import { FolderTakenError } from "../store/database/data-lock.ts";
import { takeFolder } from "../store/database/open.ts";
import { Succession } from "../store/database/succession.ts";
import { aborted, type CommonOptions, type Io, say } from "./shared/io.ts";
import { logFileOf, openDaemonLog, openLog, readConfig } from "./shared/open.ts";
import { readVersion } from "../admin/version.ts";
import { bindingsOf, openChatPlatforms } from "./chat/chat-platforms.ts";
import type { Binding } from "../router/bindings.ts";
import type { ChatOptions } from "./chat.ts";
import { findChatSocket } from "./chat/chat-socket.ts";
import { configurationSource } from "./shared/configuration-source.ts";
import { Terminals, type TerminalSession } from "./chat/terminals.ts";
import { describePlatform } from "../admin/reports/chat-facts.ts";
import { weirCommand } from "../files/installation.ts";

interface SessionOptions {
  readonly config: Config;
  readonly common: CommonOptions;
  readonly terminal: TerminalSession | null;
  /** Discord and Slack are served, too. */
  readonly isDaemon: boolean;
}

/** `weir start`: the daemon; in a terminal, with a chat. */
export async function start(io: Io, options: CommonOptions): Promise<void> {
  const terminal = io.stdin.isTTY && io.stdout.isTTY ? { multi: false, jsonl: false } : null;
  const config = readConfig(io, options);
  try {
    await runSession(io, { config, common: options, terminal, isDaemon: true });
  } catch (error) {
    // It was ended while it waited.
    if (error instanceof WaitEndedError) return;
    const { dataDir } = config.database;
    const mayChat = error instanceof FolderTakenError && (await findChatSocket(dataDir)) !== null;
    throw mayChat
      ? new OperatorError(`${errorMessage(error)} \`${weirCommand("chat")}\` talks to it.`)
      : error;
  }
}

/** A daemon was ended before it had what it waited for. */
class WaitEndedError extends OperatorError {}

/**
 * `weir chat` without a daemon: talk to an agent here, in a Weir of its own.
 * @returns true: it has made way for a daemon, and the conversation is not over
 */
export async function chatAlone(io: Io, config: Config, options: ChatOptions): Promise<boolean> {
  useProxies(config.proxies);
  const { channel, agent, as: speaker, multi = false, jsonl = false } = options;
  const terminal = { channel, agent, speaker, multi, jsonl };
  return await runSession(io, { config, common: options, terminal, isDaemon: false });
}

function serversOf({ current, models }: Daemon): Parameters<Otlp["watch"]>[1] {
  return (model) => modelServerOf(current.setup.config.llm, models.isOffline, model);
}

/**
 * Builds the daemon with its platforms, runs it until the terminal is done or a signal comes, and drains.
 * @returns true: it has made way for another daemon
 * @throws OperatorError after the drain, if its database has ended for good
 */
async function runSession(io: Io, options: SessionOptions): Promise<boolean> {
  const { config, terminal, isDaemon } = options;
  const agent = findAgent(config, terminal?.agent);
  const mode = terminal === null ? null : chooseMode(terminal.jsonl);
  // Requests before the daemon exists are not lost: the end of a start reads all files once more.
  let reload = (): void => undefined;
  // Without a terminal, SIGHUP means a reload.
  if (mode === null) io.onHangUp(() => reload());
  const levelOf = ({ log: { level } }: Config): string =>
    mode === "lines" && level === "info" ? "warn" : level;
  // The terminal is the chat's, so the log goes into a file; a daemon's always does, for `weir logs`.
  const hasFile = mode === "interactive" || (isDaemon && mode === null);
  const secrets = KnownSecrets.of(config);
  const log = hasFile
    ? await openDaemonLog(io, config, secrets, mode === null)
    : openLog(io, config, levelOf(config), secrets);
  using succession = openSuccession(io, config, { isDaemon, mode, log });
  const ending = AbortSignal.any([io.shutdown, ...(succession === null ? [] : [succession.makesWay])]);
  const logPlace = hasFile ? logFileOf(config).path : "the standard error of the process";
  const explain = (reason: string): string => secrets.masked(explainFailure(reason, logPlace));
  const terminals = new Terminals({ config, agent, own: terminal, isDaemon, explain, log });
  const cluster = isDaemon ? await openCluster(config, log) : besideCluster(config);
  const served = isDaemon ? await openChatPlatforms(config, log, cluster?.shardsOf) : [];
  const platforms = (events: Events): Platform[] => [
    ...served,
    ...localPlatforms(config, terminals, events, log),
  ];
  const bindingsBy = (next: Config): Binding[] => {
    const first = findAgent(next, terminal?.agent);
    return bindingsOf(next, first, namedAgents(next, first, options));
  };
  const source = configurationSource(io, options.common, {
    config,
    log,
    bindingsOf: bindingsBy,
    onConfigured: (next) => (log.level = levelOf(next)),
  });
  // At a terminal a person gets errors at once. A process manager would only try a few times in half a minute.
  const patience: { readonly waitUntil?: AbortSignal } = terminal === null ? { waitUntil: ending } : {};
  // Opened before the daemon and closed after it: it also reports the start and the end.
  const monitor = await openMonitor(config, isDaemon);
  await using http = isDaemon ? await openHttp(io, config, { monitor, log, secrets, ...patience }) : null;
  // Also what the daemon does while it ends is sent.
  await using otlp = await openCollector(config, monitor, log);
  const found = { config, bindings: bindingsBy(config), source, secrets };
  const building = buildDaemon({ ...found, log, logPlace, platforms, cluster, ...patience });
  await using daemon = await unlessEnded(building, patience.waitUntil);
  reload = () => void daemon.reload();
  for (const watcher of [monitor, http]) watcher?.watch(daemon);
  otlp?.watch(daemon.events, serversOf(daemon));
  terminals.watch(daemon, http?.page != null);
  const owners = (): Config["platforms"] => daemon.current.setup.config.platforms;
  tellOwnersOfFailures({ ...daemon, platforms: served, owners, explain, log });
  // In `lines` mode the person reads it among the first lines.
  if (mode === "lines" && daemon.models.isOffline) io.stderr.write(`${daemon.models.describe()}\n`);
  if (ending.aborted) return !io.shutdown.aborted;
  using connections = new ConnectionWatch(served, (line) => {
    if (terminal === null) say(io, line);
    terminals.remark(line);
  });
  if (terminal !== null) connections.start(true);
  await daemon.open();
  if (terminal === null) connections.start(false);
  if (mode === null) say(io, readyLine(daemon, http));
  const isOver = await until(io, ending, daemon, terminals.own, mode);
  // A drain may take a while; this confirms the signal.
  if (ending.aborted) log.info({ deadlineMs: config.daemon.drainDeadlineMs }, "draining");
  daemon.lost.throwIfAborted();
  return !isOver;
}

function localPlatforms(
  { platforms: { loopback } }: Config,
  terminals: Terminals,
  events: Events,
  log: Logger,
): Platform[] {
  const local = [loopback === null ? null : createLoopback({ ...loopback, log }), terminals.open(events)];
  return local.filter((one) => one !== null);
}

/** @returns null: this process neither makes way for another one nor takes over from one */
function openSuccession(
  io: Io,
  { database }: Config,
  parts: { readonly isDaemon: boolean; readonly mode: TerminalMode | null; readonly log: Logger },
): Succession | null {
  const { isDaemon, mode, log } = parts;
  const comer = { pid: process.pid, place: managedPlace(), since: performance.timeOrigin };
  if (isDaemon) return mode === null ? new Succession(database.dataDir, comer, log) : null;
  // With a Postgres elsewhere a daemon runs beside it.
  return database.url === null ? new Succession(database.dataDir, null, log) : null;
}

/** @throws WaitEndedError in place of the error with which a wait ends */
async function unlessEnded<Result>(work: Promise<Result>, waitUntil?: AbortSignal): Promise<Result> {
  try {
    return await work;
  } catch (error) {
    if (waitUntil?.aborted !== true || !isWaitedFor(error)) throw error;
    throw new WaitEndedError(errorMessage(error), { cause: error });
  }
}

function isWaitedFor(error: unknown): boolean {
  const isPortTaken = error instanceof Error && errorCode(error.cause) === "EADDRINUSE";
  return error instanceof FolderTakenError || isPortTaken;
}

/** Announces to a person that a daemon takes over. A script's input so far is answered first; the rest goes to the daemon. */
async function takeLeave(
  terminal: TerminalPlatform | null,
  mode: TerminalMode | null,
  shutdown: AbortSignal,
): Promise<void> {
  terminal?.remark("(A daemon has started. This chat goes on through it in a moment.)", true);
  if (terminal === null || mode === "interactive") return;
  await terminal.stopIntake();
  await Promise.race([terminal.closed, aborted(shutdown)]);
}

/** Loads the metrics only if somebody reads them. @returns null: nobody does */
async function openMonitor({ http, telemetry }: Config, isDaemon: boolean): Promise<Monitor | null> {
  if (telemetry === null && (http === null || !isDaemon)) return null;
  const { createMonitor } = await import("../daemon/metrics/metrics.ts");
  return createMonitor(readVersion());
}

/** @returns null: no collector is configured */
async function openCollector(
  { telemetry }: Config,
  monitor: Monitor | null,
  log: Logger,
): Promise<Otlp | null> {
  const families = async (): Promise<readonly MetricFamily[]> => (await monitor?.metrics.families()) ?? [];
  return openOtlp(telemetry && { ...telemetry, version: readVersion(), families, log });
}

/**
 * Loads the HTTP service only if it is configured.
 * @returns null: it is not configured
 */
async function openHttp(
  io: Io,
  config: Config,
  {
    waitUntil,
    monitor,
    ...parts
  }: {
    readonly monitor: Monitor | null;
    readonly log: Logger;
    readonly secrets: KnownSecrets;
    readonly waitUntil?: AbortSignal;
  },
): Promise<HttpService | null> {
  const { http } = config;
  if (http === null || monitor === null) return null;
  const { startHttpService, startHttpServiceOnceFree } = await import("../daemon/http/service.ts");
  const findSocket = async (): Promise<string | null> => findChatSocket(config.database.dataDir);
  const options = { config, http, version: readVersion(), monitor, findSocket, ...parts };
  const onceFree = async (ending: AbortSignal): Promise<HttpService> => {
    const { url, dataDir } = config.database;
    // The daemon that has the folder has the port as well, and of the two the folder says which process it is.
    if (url === null) await (await takeFolder(dataDir, parts.log, ending))[Symbol.asyncDispose]();
    return startHttpServiceOnceFree(options, ending);
  };
  const starting = waitUntil === undefined ? startHttpService(options) : onceFree(waitUntil);
  let service: HttpService;
  try {
    service = await unlessEnded(starting, waitUntil);
  } catch (error) {
    // Nobody has asked for it.
    if (!http.mayMove || error instanceof WaitEndedError) throw error;
    parts.log.warn({ why: errorMessage(error) }, "http_off");
    return null;
  }
  const { newToken } = service;
  if (newToken !== null && !http.mayMove)
    say(
      io,
      `HTTP at ${service.url} wants "Authorization: Bearer ${newToken.text}". It is kept in ${newToken.file}, and not shown again.`,
    );
  return service;
}

/** @returns false: this daemon ends so that another Weir can take over, and the chat is to go on with that one */
async function until(
  io: Io,
  ending: AbortSignal,
  daemon: Daemon,
  terminal: TerminalPlatform | null,
  mode: TerminalMode | null,
): Promise<boolean> {
  io.tellReady();
  const stopped = aborted(AbortSignal.any([ending, daemon.lost]));
  await Promise.race(terminal === null ? [stopped] : [stopped, terminal.closed]);
  if (!ending.aborted || io.shutdown.aborted || daemon.lost.aborted) return true;
  await takeLeave(terminal, mode, io.shutdown);
  return false;
}

function readyLine({ current, models }: Daemon, http: HttpService | null): string {
  const { config } = current.setup;
  const page = http?.page != null ? `; page: \`${weirCommand("open")}\`` : "";
  return `Weir is ready: ${agents(config)}; ${models.describe()}; home ${config.home}${page}`;
}

function agents(config: Config): string {
  const ids = config.agents.map(({ id }) => id);
  return `${ids.length === 1 ? "agent" : "agents"} ${ids.join(", ")}`;
}

/** The agents that answer in the terminal's channel of their name. */
function namedAgents(
  { agents: all }: Config,
  first: AgentId,
  { isDaemon, terminal }: Pick<SessionOptions, "isDaemon" | "terminal">,
): AgentId[] {
  const others = all.map(({ id }) => id).filter((id) => id !== first);
  if (isDaemon || terminal === null) return others;
  // Where a chat has a Weir of its own, `first` answers it wherever it speaks; others are for chats that attach.
  return terminal.jsonl ? [] : others.filter((id) => id !== terminal.channel);
}

/** @throws OperatorError if there is no such agent */
export function findAgent(config: Config, wanted: string | undefined): AgentId {
  const found = wanted === undefined ? config.agents[0] : config.agents.find(({ id }) => id === wanted);
  if (found !== undefined) return found.id;
  const known = config.agents.map(({ id }) => id).join(", ");
  throw new OperatorError(`There is no agent "${wanted}". The configuration has: ${known}.`);
}

/** Shorter than the least wait of a connection before it is opened again, so no state is missed. */
const LOOK_MS = 500;

/** Reports the state of the platforms' connections, a line each, whenever one of them changes. */
class ConnectionWatch implements Disposable {
  readonly #platforms: readonly Pick<Platform, "name" | "connection">[];
  readonly #tell: (line: string) => void;
  /** The last report of each. */
  readonly #told = new Map<string, string>();
  #timer: NodeJS.Timeout | undefined;

  constructor(platforms: readonly Pick<Platform, "name" | "connection">[], tell: (line: string) => void) {
    this.#platforms = platforms;
    this.#tell = tell;
  }

  /** @param isKnown the current state is shown elsewhere: only changes are reported */
  start(isKnown: boolean): void {
    if (this.#platforms.length === 0) return;
    this.#compare(isKnown);
    this.#timer = setInterval(() => this.#compare(false), LOOK_MS).unref();
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }

  #compare(isKnown: boolean): void {
    for (const platform of this.#platforms) {
      const connection = platform.connection?.();
      if (connection === undefined) continue;
      // In how many servers it is may change at any time.
      const state = `${connection.kind} ${connection.why ?? ""}`;
      if (this.#told.get(platform.name) === state) continue;
      this.#told.set(platform.name, state);
      if (!isKnown) this.#tell(describePlatform(platform.name, connection));
    }
  }
}
