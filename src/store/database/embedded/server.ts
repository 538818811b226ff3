import { constants, type FileHandle, open, rename, stat } from "node:fs/promises";
import { createConnection } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { WeirError } from "../../../core/errors.ts";
import type { Binaries } from "./binaries.ts";
import { observePostmaster } from "./postmaster.ts";
import type { ProgramResult } from "./program.ts";
import { runAs, type ServerAccount } from "./server-account.ts";

/** A data folder, and what it takes to run a server on it. */
export interface ServerHome {
  readonly binaries: Binaries;
  readonly account: ServerAccount;
  readonly pgData: string;
  readonly logFile: string;
  readonly socketFolder: string;
}

/** The server did not start, or did not stop, for a reason that its own log tells. */
export class EmbeddedPostgresError extends WeirError {
  readonly retryable = false;
}

/** Recovery after a crash of the machine reads up to `max_wal_size` again before the server is ready. */
const START_TIMEOUT_MS = 180_000;
const STOP_TIMEOUTS_MS = { fast: 15_000, immediate: 5_000 } as const;
/** pg_ctl itself looks ten times a second only. */
const POLL_MS = 5;
const LOG_MAX_BYTES = 10_000_000;
/** Flags for opening the server's log: a symbolic link is refused, and a pipe is not waited for. */
const APPEND =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;
/** SQLSTATE lock_file_exists: postmaster.pid, or the shared memory of a dead server's last backend. */
const LOCK_FILE_EXISTS = " F0001 ";

const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: "",
  max_connections: "50",
  shared_buffers: "64MB",
  jit: "off",
  timezone: "UTC",
  log_timezone: "UTC",
  // %e, the SQLSTATE: by it a failed start is told apart, see LOCK_FILE_EXISTS.
  log_line_prefix: "%m [%p] %e ",
  log_checkpoints: "off",
  // Nothing replicates from it; write less of a log.
  wal_level: "minimal",
  max_wal_senders: "0",
};

/**
 * Starts the server through pg_ctl, so that its parent is process 1 and its session its own: neither a terminal's
 * Ctrl-C nor a process manager that signals whole trees of processes reaches it.
 * @param settings added to, or instead of, those that Weir sets
 * @returns once it takes connections. `pgCtlEnded`: pg_ctl has noticed, which it does up to 0.1 s later. Null: a server that was killed
 *   still holds the folder, for up to some seconds
 * @throws EmbeddedPostgresError with the end of the server's log
 */
export async function launchServer(
  home: ServerHome,
  settings: Readonly<Record<string, string>>,
): Promise<{ readonly pgCtlEnded: Promise<unknown> } | null> {
  await using log = await openLog(home.logFile);
  const { size: offset } = await log.stat();
  const options = Object.entries({ ...SETTINGS, ...settings }).map(([key, value]) =>
    quote(`${key}=${value}`),
  );
  const starting = runAs(
    home.account,
    [
      home.binaries.pgCtl,
      "start",
      "--silent",
      "--wait",
      `--timeout=${START_TIMEOUT_MS / 1000}`,
      // pg_ctl would put its own --pgdata between double quotes, where a shell expands what it finds.
      `--options=-D ${quote(home.pgData)} ${options.map((option) => `-c ${option}`).join(" ")}`,
    ],
    { outputTo: log.fd, env: { PGDATA: home.pgData } },
  );
  const result = await firstOf(starting, home.pgData);
  if (result === "ready" || result.code === 0) return { pgCtlEnded: starting };
  const said = await readFrom(home.logFile, offset);
  if (said.includes(LOCK_FILE_EXISTS)) return null;
  const remedy = said.includes("insufficient file descriptors")
    ? " for want of open files: raise `ulimit -n` to 1024 at least, or LimitNOFILE= of a systemd unit"
    : "";
  throw new EmbeddedPostgresError(
    `The embedded Postgres did not start${remedy} (${home.logFile}):\n${said.trim().split("\n").slice(-12).join("\n")}`,
  );
}

/**
 * Stops the server: connections are cut off, transactions rolled back, all data written. If that takes too
 * long, at once; the next start then recovers from the log.
 * @throws EmbeddedPostgresError if it runs on
 */
export async function stopServer(home: ServerHome): Promise<void> {
  for (const mode of ["fast", "immediate"] as const) {
    if (await hasStopped(home.pgData)) return;
    await runAs(home.account, [home.binaries.pgCtl, "stop", "--silent", "--no-wait", `--mode=${mode}`], {
      env: { PGDATA: home.pgData },
    });
    const deadline = performance.now() + STOP_TIMEOUTS_MS[mode];
    while (performance.now() < deadline) {
      if (await hasStopped(home.pgData)) return;
      await sleep(POLL_MS);
    }
  }
  throw new EmbeddedPostgresError(`The embedded Postgres on ${home.pgData} does not stop.`);
}

export function answers(socketPath: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection(socketPath);
    socket.once("connect", () => {
      socket.destroy();
      resolve(true);
    });
    socket.once("error", () => resolve(false));
  });
}

async function hasStopped(pgData: string): Promise<boolean> {
  const { state } = await observePostmaster(pgData);
  return state === "absent" || state === "dead";
}

/** The server is ready somewhat before pg_ctl notices; pg_ctl knows first when it failed. */
async function firstOf(starting: Promise<ProgramResult>, pgData: string): Promise<ProgramResult | "ready"> {
  for (;;) {
    const ended = await Promise.race([starting, sleep(POLL_MS)]);
    if (ended !== undefined) return ended;
    if ((await observePostmaster(pgData)).state === "ready") return "ready";
  }
}

/** The log holds pieces of statements, and so of messages: other accounts may not read it. */
async function openLog(logFile: string): Promise<FileHandle> {
  const found = await stat(logFile).catch(() => null);
  if (found !== null && found.size > LOG_MAX_BYTES) await rename(logFile, `${logFile}.old`);
  return open(logFile, APPEND, 0o600);
}

async function readFrom(logFile: string, offset: number): Promise<string> {
  await using file = await open(logFile);
  const { size } = await file.stat();
  const buffer = Buffer.alloc(Math.min(size - offset, 100_000));
  await file.read(buffer, 0, buffer.length, offset);
  return buffer.toString("utf8");
}

/** For the shell that pg_ctl starts the server with. */
function quote(text: string): string {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
