import { access, chmod, constants, realpath, statfs } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import type { Logger } from "pino";
import { errorMessage, OperatorError } from "../../../core/errors.ts";
import { makePrivateFolder } from "../data-folder.ts";
import { findBinaries } from "./binaries.ts";
import { DATABASE_NAME, ensureCluster, USER_NAME } from "./cluster.ts";
import { disownForeignPid, observePostmaster } from "./postmaster.ts";
import { answers, EmbeddedPostgresError, launchServer, type ServerHome, stopServer } from "./server.ts";
import { findServerAccount, giveToAccount, type ServerAccount } from "./server-account.ts";
import { type ServerState, SUPERVISION, type SupervisionTiming, Supervisor } from "./supervisor.ts";
import type { Connection } from "../queryable.ts";
import { makeSocketFolder, socketFolderOf } from "../socket-place.ts";

/** Where `pg` finds the server: `host` is the folder of its socket. */
export type EmbeddedConnection = Extract<Connection, { readonly host: string }>;

/** A running server. Disposing stops it, whoever started it. */
export interface EmbeddedPostgres extends AsyncDisposable {
  readonly connection: EmbeddedConnection;
  /** It ran already: a daemon that was killed had left it behind. */
  readonly adopted: boolean;
  /**
   * From now on starts it again whenever it has ended. For who holds the data lock for long: a daemon.
   * @param onLost called once if the server cannot be started again
   */
  supervise(onLost: (error: OperatorError) => void, timing?: SupervisionTiming): void;
  /** A shutdown has begun: from now on it is not started again. */
  expectEnd(): void;
}

export interface EmbeddedPostgresOptions {
  /** Holds `postgres/` (the data), `postgres.log` and `socket/`. Made where it is not there. */
  readonly dataDir: string;
  readonly log: Logger;
  /** Server settings beside those that Weir sets: tests turn `fsync` off. */
  readonly settings?: Readonly<Record<string, string>>;
}

/** Nothing listens on the network: the port is only a part of the socket's name. */
const PORT = 5432;
const SOCKET_NAME = `.s.PGSQL.${PORT}`;

/** A killed server held its folder for up to 2 s; a stopping one writes its data first. */
const BUSY_TIMEOUT_MS = 30_000;
const BUSY_POLL_MS = 20;

/** A start writes another segment of the write-ahead log (16 MB), and some files beside it. */
const LEAST_FREE_BYTES = 32_000_000;

/**
 * Brings up the Postgres server of a data folder: makes its data where there is none, adopts a server that runs
 * already, waits for one that is just going away. The caller holds the folder's data lock.
 * @throws OperatorError if the operator has to change something
 * @throws EmbeddedPostgresError if the server does not start; its log says why
 */
export async function startEmbeddedPostgres(options: EmbeddedPostgresOptions): Promise<EmbeddedPostgres> {
  const startedAt = performance.now();
  const binaries = await findBinaries();
  const dataDir = await prepareDataFolder(options.dataDir);
  const pgData = join(dataDir, "postgres");
  const account = await findServerAccount(pgData, [binaries.folder, dataDir]);
  const created = await ensureCluster(binaries, account, pgData);
  const socketFolder = await prepareSocketFolder(dataDir, SOCKET_NAME, account);
  const home: ServerHome = {
    binaries,
    account,
    pgData,
    logFile: join(dataDir, "postgres.log"),
    socketFolder,
  };
  const settings = {
    ...options.settings,
    unix_socket_directories: `"${socketFolder.replaceAll('"', '""')}"`,
    port: String(PORT),
  };
  let { adopted, pgCtlEnded } = await bringUp(home, settings);
  const connection = await findEmbeddedPostgres(dataDir);
  if (connection === null)
    throw new EmbeddedPostgresError(`The embedded Postgres on ${pgData} ended at once.`);
  const ms = Math.round(performance.now() - startedAt);
  options.log.info({ created, adopted, ms, socket: connection.host }, "database_started");
  const start = async (signal: AbortSignal): Promise<void> => {
    await refuseIfGone(pgData);
    try {
      ({ pgCtlEnded } = await bringUp(home, settings, signal));
    } catch (cause) {
      // On a full disk even the server's log, which would say so, is cut off.
      if (!(await isFull(pgData))) throw cause;
      const what = `No space left on device: the disk of ${pgData} is full. Make room.`;
      throw new EmbeddedPostgresError(`${what} ${errorMessage(cause)}`, { cause });
    }
  };
  let supervisor: Supervisor | null = null;
  return {
    connection,
    adopted,
    supervise(onLost, timing = SUPERVISION) {
      const server = { look: async () => lookAt(pgData), start, log: options.log };
      supervisor ??= new Supervisor(server, timing, onLost);
    },
    expectEnd: () => supervisor?.end(),
    async [Symbol.asyncDispose]() {
      supervisor?.end();
      await pgCtlEnded;
      await stopServer(home);
      // It may have been about to start it.
      await supervisor?.ended;
      await pgCtlEnded;
      await stopServer(home);
      options.log.info("database_stopped");
    },
  };
}

/** @throws OperatorError if the data are gone: no attempt brings them back, and an empty database is no substitute */
async function refuseIfGone(pgData: string): Promise<void> {
  await access(join(pgData, "PG_VERSION")).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "ENOENT") return;
    throw new OperatorError(
      `The database in ${pgData} is gone. Put it back from a backup before the next start.`,
    );
  });
}

async function isFull(folder: string): Promise<boolean> {
  const { bavail, bsize } = await statfs(folder);
  return bavail * bsize < LEAST_FREE_BYTES;
}

async function lookAt(pgData: string): Promise<ServerState> {
  const { state } = await observePostmaster(pgData);
  if (state === "absent") return "stopped";
  return state === "dead" ? "crashed" : "runs";
}

/**
 * The server that runs on a data folder, for a program beside the daemon.
 * @returns null if none runs
 */
export async function findEmbeddedPostgres(dataDir: string): Promise<EmbeddedConnection | null> {
  const folder = await realpath(dataDir).catch(() => null);
  if (folder === null) return null;
  const found = await observePostmaster(join(folder, "postgres"));
  if (found.state !== "ready") return null;
  return { host: found.socketFolder, port: found.port, user: USER_NAME, database: DATABASE_NAME };
}

async function prepareDataFolder(path: string): Promise<string> {
  try {
    await makePrivateFolder(path);
    await access(path, constants.R_OK | constants.W_OK | constants.X_OK);
    return await realpath(path);
  } catch (cause) {
    throw new OperatorError(
      `The data folder ${path} cannot be made or written. Check its owner, or set data_dir under [database].`,
      { cause },
    );
  }
}

async function bringUp(
  home: ServerHome,
  settings: Readonly<Record<string, string>>,
  signal?: AbortSignal,
): Promise<{ adopted: boolean; pgCtlEnded: Promise<unknown> }> {
  const deadline = performance.now() + BUSY_TIMEOUT_MS;
  const isWanted = (): boolean => performance.now() < deadline && signal?.aborted !== true;
  while (isWanted()) {
    const found = await observePostmaster(home.pgData);
    if (found.state === "ready") {
      if (await answers(join(found.socketFolder, `.s.PGSQL.${found.port}`))) {
        return { adopted: true, pgCtlEnded: Promise.resolve() };
      }
      // Somebody tidied its socket away: a server that nobody can reach.
      await stopServer(home);
    } else if (found.state === "absent" || found.state === "dead") {
      if (found.state === "dead" && found.pidIsForeign) {
        await disownForeignPid(home.pgData, join(home.socketFolder, SOCKET_NAME));
      }
      const launched = await launchServer(home, settings);
      if (launched !== null) return { adopted: false, ...launched };
      await sleep(BUSY_POLL_MS);
    } else {
      await sleep(BUSY_POLL_MS);
    }
  }
  throw new EmbeddedPostgresError(
    `Another Postgres holds ${home.pgData} (${home.logFile} names it). Stop it and start again.`,
  );
}

/**
 * Makes the folder that holds the server's socket. Whoever can enter it is let in without a password, so it is
 * closed to all but the server's account (and root).
 * @param socketName the socket's file name, for the length of its path
 * @returns a folder inside of the data folder or, where its path would be too long for a socket, a private one
 *   among the temporary files that is the same at every start
 * @throws OperatorError if another account owns the place
 */
async function prepareSocketFolder(
  dataDir: string,
  socketName: string,
  account: ServerAccount,
): Promise<string> {
  const folder = socketFolderOf({ dataDir, folder: "socket", prefix: "weir", socketName });
  await makeSocketFolder(folder, [process.getuid?.(), account.ids?.uid], "database socket");
  await giveToAccount(account, folder);
  await chmod(folder, 0o700);
  return folder;
}
