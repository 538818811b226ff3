import type { Logger } from "pino";
import { commandTable } from "../admin/commands.ts";
import type { Config } from "../config/config.ts";
import { isColourUnwanted } from "../config/load.ts";
import { OperatorError } from "../core/errors.ts";
import type { AgentId } from "../core/ids.ts";
import { buildDaemon, type Daemon } from "../daemon.ts";
import type { HttpService } from "../http/service.ts";
import { createLoopback } from "../platforms/loopback/adapter.ts";
import type { Platform } from "../platforms/platform.ts";
import { chooseMode, createProcessTerminal } from "../platforms/terminal/process-terminal.ts";
import type { SettledTurns } from "../platforms/terminal/settled-turns.ts";
import type { TerminalPlatform } from "../platforms/terminal/terminal-platform.ts";
import type { Events } from "../telemetry/events.ts";
import { aborted, type CommonOptions, type Io, say } from "./io.ts";
import { openDaemonLog, openLog, readConfig } from "./open.ts";
import { readVersion } from "../admin/version.ts";
import { bindingsOf, openChatPlatforms } from "./chat-platforms.ts";

export type ChatOptions = CommonOptions & {
  readonly channel?: string;
  readonly agent?: string;
  readonly as?: string;
  readonly multi?: boolean;
  readonly jsonl?: boolean;
};

/** A terminal that takes part in a daemon's platforms. */
interface TerminalSession {
  readonly channel?: string | undefined;
  readonly agent?: string | undefined;
  readonly speaker?: string | undefined;
  readonly multi: boolean;
  readonly jsonl: boolean;
}

interface SessionOptions {
  readonly config: Config;
  /** Null: no terminal, the daemon alone. */
  readonly terminal: TerminalSession | null;
  /** Discord and Slack are served, too. */
  readonly isDaemon: boolean;
}

/** `weir start`: the daemon; in a terminal, with a chat. */
export async function start(io: Io, options: CommonOptions): Promise<void> {
  const terminal = io.stdin.isTTY && io.stdout.isTTY ? { multi: false, jsonl: false } : null;
  await runSession(io, { config: readConfig(io, options), terminal, isDaemon: true });
}

/** `weir chat`: talk to an agent here. */
export async function chat(io: Io, options: ChatOptions): Promise<void> {
  const { channel, agent, as: speaker, multi = false, jsonl = false } = options;
  const terminal = { channel, agent, speaker, multi, jsonl };
  await runSession(io, { config: readConfig(io, options), terminal, isDaemon: false });
}

/**
 * Builds the daemon with its platforms, runs it until the terminal is done or a signal comes, and drains.
 * @throws OperatorError behind the drain, where its database has ended for good
 */
async function runSession(io: Io, options: SessionOptions): Promise<void> {
  const { config, terminal } = options;
  const agent = findAgent(config, terminal?.agent);
  const mode = terminal === null ? null : chooseMode(terminal.jsonl);
  // The terminal is the chat's, and the log goes into a file; a daemon's goes there in any case, for `weir logs`.
  const hasFile = mode === "interactive" || (options.isDaemon && mode === null);
  const log = hasFile
    ? await openDaemonLog(io, config, mode === null)
    : openLog(io, config, mode === "lines" && config.log.level === "info" ? "warn" : config.log.level);
  let shown: TerminalPlatform | null = null;
  const served = options.isDaemon ? await openChatPlatforms(config, log) : [];
  const platforms = (events: Events): Platform[] => {
    const list: Platform[] = [...served];
    const { loopback } = config.platforms;
    if (loopback !== null) list.push(createLoopback({ ...loopback, log }));
    if (terminal !== null) {
      shown = createProcessTerminal({
        channel: terminal.channel ?? agent,
        agent,
        speaker: terminal.speaker,
        multi: terminal.multi,
        jsonl: terminal.jsonl,
        commands: commandTable(),
        noColour: isColourUnwanted(),
        turns: settledTurns(events),
      });
      list.push(shown);
    }
    return list;
  };
  const bindings = bindingsOf(config, agent);
  // Whoever sits before it is told at once; a process manager would try a few times in half a minute, and no more.
  const patience = terminal === null ? { waitUntil: io.shutdown } : {};
  // Before the daemon, and beyond it: it also tells how that starts and how it ends.
  await using http = options.isDaemon ? await openHttp(io, config, log) : null;
  await using daemon = await buildDaemon({ config, log, platforms, bindings, ...patience });
  http?.watch(daemon);
  if (mode !== null && mode !== "jsonl" && daemon.models.isOffline)
    io.stderr.write(`${daemon.models.describe()}\n`);
  if (io.shutdown.aborted) return;
  await daemon.open();
  await until(io, daemon, shown, mode === null ? agents(config) : null);
  // A drain may take a while, and whoever sent the signal wants to see that it was heard.
  if (io.shutdown.aborted) log.info({ deadlineMs: config.daemon.drainDeadlineMs }, "draining");
  daemon.lost.throwIfAborted();
}

/** Nothing of the service is read where none is configured. @returns null: none is */
async function openHttp(io: Io, config: Config, log: Logger): Promise<HttpService | null> {
  const { http } = config;
  if (http === null) return null;
  const { startHttpService } = await import("../http/service.ts");
  const service = await startHttpService({ config, http, version: readVersion(), log });
  const { newToken } = service;
  if (newToken !== null)
    say(
      io,
      `HTTP at ${service.url} wants "Authorization: Bearer ${newToken.text}". It is kept in ${newToken.file}, and not shown again.`,
    );
  return service;
}

async function until(
  io: Io,
  daemon: Daemon,
  terminal: TerminalPlatform | null,
  announced: string | null,
): Promise<void> {
  if (announced !== null) say(io, `Weir is ready: ${announced}; ${daemon.models.describe()}`);
  io.tellReady();
  const stopped = aborted(AbortSignal.any([io.shutdown, daemon.lost]));
  await Promise.race(terminal === null ? [stopped] : [stopped, terminal.closed]);
}

function agents(config: Config): string {
  const ids = config.agents.map(({ id }) => id);
  return `${ids.length === 1 ? "agent" : "agents"} ${ids.join(", ")}`;
}

/** @throws OperatorError if there is no such agent */
export function findAgent(config: Config, wanted: string | undefined): AgentId {
  const found = wanted === undefined ? config.agents[0] : config.agents.find(({ id }) => id === wanted);
  if (found !== undefined) return found.id;
  const known = config.agents.map(({ id }) => id).join(", ");
  throw new OperatorError(`There is no agent "${wanted}". The configuration has: ${known}.`);
}

/** What the terminal wants to hear, out of all that happens. */
function settledTurns(events: Events): SettledTurns {
  return {
    onSettled: (listener) =>
      events.on((event) => {
        if (event.type === "turn_settled") listener(event);
      }),
    onEmergency: (listener) =>
      events.on((event) => {
        if (event.type === "emergency") listener(event);
      }),
    onCompaction: (listener) =>
      events.on((event) => {
        if (event.type === "compaction") listener(event);
      }),
  };
}
