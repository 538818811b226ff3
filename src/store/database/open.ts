import { backoffMs } from "../../async/backoff.ts";
import { isRetryable, retry } from "../../async/retry.ts";
import { stat } from "node:fs/promises";
import path from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { DatabaseConfig } from "../../config/config.ts";
import { errorMessage, isMissingFile, OperatorError } from "../../core/errors.ts";
import { closeDataFolder } from "./data-folder.ts";
import { acquireDataLock, FolderTakenError } from "./data-lock.ts";
import { stillWaits } from "./succession.ts";
import {
  type EmbeddedPostgres,
  findEmbeddedPostgres,
  startEmbeddedPostgres,
} from "./embedded/embedded-postgres.ts";
import { assertFit } from "./look-at-server.ts";
import { assertMigrated, listPending, migrate, NotMigratedError, readSchemaState } from "./migrate.ts";
import { DAEMON_SESSIONS, Database, type DatabaseOptions } from "./database.ts";
import type { Connection, Queryable } from "./queryable.ts";
import { weirCommand } from "../../files/installation.ts";

export interface OpenDatabase extends AsyncDisposable {
  readonly database: Database;
  /** For a log: where it is, without its password. */
  readonly where: string;
  /** Aborted where an owner's embedded server has ended and does not start any more; its reason says why. */
  readonly lost: AbortSignal;
  /** A shutdown has begun: an embedded server that ends from now on is not started again. */
  expectEnd(): void;
}

/**
 * What a program may do with the database.
 * `owner`: alone on the data folder, or a daemon among others on one server; makes and migrates what is not there.
 * `reader`: beside a daemon where one runs; makes and changes nothing.
 * `asker`: the same, but it may write: it leaves requests to a daemon.
 */
export type DatabaseRole = "owner" | "reader" | "asker";

const SESSIONS: Readonly<Record<DatabaseRole, DatabaseOptions>> = {
  owner: { isDaemon: true },
  reader: { applicationName: "weir-reader", isReadOnly: true },
  asker: { applicationName: "weir-asker" },
};

/**
 * Opens the database. `DATABASE_URL` decides: with it that server is used, without it the embedded one is started, and
 * stopped when this is disposed of; for an owner it is started again where it ends meanwhile.
 * @param until waits for a database that cannot be reached, and an owner for a data folder that is taken, until this is aborted; default:
 *   no wait
 * @throws OperatorError if another Weir has the data folder, or the database is newer than the code; NotMigratedError
 *   where it is older, or is not there, and only an owner makes it so
 */
export async function openDatabase(
  config: DatabaseConfig,
  log: Logger,
  role: DatabaseRole,
  until?: AbortSignal,
): Promise<OpenDatabase> {
  await using stack = new AsyncDisposableStack();
  const lost = new AbortController();
  const { connection, server } = await (role === "owner" ? own : join)(config, log, stack, until);
  // Who only looks holds the folder for a moment, and a daemon can't start beside it.
  if (role === "owner") server?.supervise((error) => lost.abort(error));
  const database = stack.use(new Database(connection, log, SESSIONS[role]));
  if (role === "owner") {
    await untilOpen(
      async () => {
        await assertUsable(config, database, true);
        await migrate(database, log);
      },
      log,
      until,
    );
  } else {
    await assertUsable(config, database, role !== "reader");
    assertMigrated(await readSchemaState(database));
  }
  const kept = stack.move();
  return {
    database,
    where: describe(config),
    lost: lost.signal,
    expectEnd: () => server?.expectEnd(),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** The embedded server is as Weir makes it. */
async function assertUsable(config: DatabaseConfig, database: Database, isWriter: boolean): Promise<void> {
  if (config.url !== null) await assertFit(database, isWriter);
}

/**
 * For `weir doctor`: whether a daemon could use the database; what is not there yet can be made.
 * @throws OperatorError if not, with what to do
 */
export async function assertUsableByDaemon(config: DatabaseConfig, log: Logger): Promise<void> {
  await using database = openUnchecked(config, log);
  if (database !== null) await assertFit(database, true);
}

/** The operator's own server, whatever its schema: to read, and nothing of Weir's. Null: there is none. */
export function openUnchecked(config: DatabaseConfig, log: Logger): Database | null {
  return config.url === null ? null : new Database({ url: config.url }, log, SESSIONS.reader);
}

function describe({ url, dataDir }: DatabaseConfig): string {
  return url === null ? `the embedded Postgres in ${dataDir}` : "the Postgres of database.url";
}

/**
 * `weir migrate`: brings the database up to this version; makes it where there is none.
 * @param isForced also beside a Weir that runs on it
 * @returns where it is
 * @throws OperatorError if another Weir runs on it, and there is something to migrate
 */
export async function migrateDatabase(
  config: DatabaseConfig,
  log: Logger,
  isForced: boolean,
): Promise<string> {
  await using stack = new AsyncDisposableStack();
  const { connection, holder } = await ownOrJoin(config, log, stack);
  const database = stack.use(new Database(connection, log, { applicationName: "weir-migrate" }));
  await assertUsable(config, database, true);
  const { current, known } = await readSchemaState(database);
  if (current < known && !isForced) {
    const other = holder ?? (await findDaemons(database));
    if (other !== null) throw new OperatorError(`Another Weir (${other}) runs on this database. ${BESIDE}`);
  }
  await migrate(database, log);
  return describe(config);
}

/**
 * `weir upgrade --check`: the migrations that a start of this version would apply. Changes nothing.
 * @throws NotMigratedError if there is no database yet; OperatorError if this version cannot use it
 */
export async function pendingMigrations(config: DatabaseConfig, log: Logger): Promise<readonly string[]> {
  await using stack = new AsyncDisposableStack();
  const { connection } = await join(config, log, stack);
  const database = stack.use(new Database(connection, log, SESSIONS.reader));
  await assertUsable(config, database, false);
  return await listPending(database);
}

/**
 * Opens the target database of a restore, and makes an empty embedded server if there is no server.
 * @throws OperatorError if a Weir has the data folder
 */
export async function openForRestore(
  config: DatabaseConfig,
  log: Logger,
): Promise<Omit<OpenDatabase, "lost" | "expectEnd">> {
  await using stack = new AsyncDisposableStack();
  const { connection } = await own(config, log, stack);
  const database = stack.use(new Database(connection, log, { applicationName: "weir-restore" }));
  await assertUsable(config, database, true);
  const kept = stack.move();
  return { database, where: describe(config), [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

const BESIDE =
  `Stop it and run this again, or start this version, which migrates by itself. \`${weirCommand("migrate --force")}\` migrates beside it: ` +
  "that is safe from one version to the next.";

/** @returns words for the daemons on that database; null: there are none */
export async function findDaemons(database: Queryable): Promise<string | null> {
  const rows = await database.query<{ by: "network" | "socket" | "unknown"; host: string | null }>(
    "",
    `select distinct host(a.client_addr) as host,
            case when a.client_port is null then 'unknown' when a.client_addr is null then 'socket' else 'network' end as by
       from ${DAEMON_SESSIONS} daemon left join pg_stat_activity a using (pid)
      where pid <> pg_backend_pid()`,
  );
  if (rows.length === 0) return null;
  const places = rows.map(({ by, host }) => (by === "network" ? `${host}` : PLACES[by])).toSorted();
  return `connected from ${places.join(", ")}`;
}

/** The server shows the addresses of its network connections alone, and those of another user's to few. */
const PLACES = { socket: "a socket", unknown: "an address that this user may not see" } as const;

/** The first wait for a database and the longest, ms; each is twice the one before. */
const BACKOFF = { fromMs: 500, toMs: 10_000 };

/**
 * A machine that starts has its database a while later, and a process manager that has given a daemon up does not come back.
 * @throws what the last attempt threw
 */
async function untilOpen(open: () => Promise<unknown>, log: Logger, until?: AbortSignal): Promise<void> {
  let told = "";
  const waitMs = (error: unknown, failures: number): number | null => {
    if (until?.aborted !== false || !isRetryable(error)) return null;
    const why = errorMessage(error);
    // One that stays away is told once.
    if (why !== told) log.warn({ why }, "database_waited_for");
    told = why;
    return backoffMs(BACKOFF, failures);
  };
  await retry(open, waitMs, until);
}

/** False: the database is at rest, so no daemon runs on it. */
export async function mayHaveDaemon({ url, dataDir }: DatabaseConfig): Promise<boolean> {
  return url !== null || (await findEmbeddedPostgres(dataDir)) !== null;
}

/**
 * For whoever looks for something in a database, and would make an empty one by opening it.
 * @throws NotMigratedError if the embedded one was never made
 */
export async function assertExists({ url, dataDir }: DatabaseConfig): Promise<void> {
  if (url !== null) return;
  try {
    await stat(path.join(dataDir, "postgres"));
  } catch (error) {
    // Later use of an unreadable folder reports the error.
    if (!isMissingFile(error)) return;
    throw new NotMigratedError(
      `There is no database in ${dataDir} yet: the first \`${weirCommand("start")}\` makes it.`,
    );
  }
}

/** Where the database is, and its server where that is ours to start. */
interface Joined {
  readonly connection: Connection;
  readonly server?: EmbeddedPostgres;
}

/** How often a daemon looks whether the data folder is free, ms. */
const FOLDER_LOOK_MS = 250;

/**
 * Takes the data folder once it is free.
 * @param until ends the wait; default: no wait
 * @throws FolderTakenError where there is no wait, or it is ended
 */
export async function takeFolder(
  dataDir: string,
  log: Logger,
  until?: AbortSignal,
): Promise<Awaited<ReturnType<typeof acquireDataLock>>> {
  let told = "";
  const waitMs = (error: unknown): number | null => {
    if (until?.aborted !== false || !(error instanceof FolderTakenError)) return null;
    stillWaits(dataDir);
    const { holder } = error;
    if (holder !== told) log.warn({ holder, dataDir }, "data_folder_waited_for: another Weir uses it");
    told = holder;
    return FOLDER_LOOK_MS;
  };
  return retry(async () => acquireDataLock(dataDir), waitMs, until);
}

/** Takes the data folder, and starts its server. */
async function own(
  config: DatabaseConfig,
  log: Logger,
  stack: AsyncDisposableStack,
  until?: AbortSignal,
): Promise<Joined> {
  const { url, dataDir } = config;
  if (url !== null) return { connection: { url } };
  const why = await closeDataFolder(dataDir);
  if (why !== null) log.warn({ dataDir, why }, "data_folder_open_to_others");
  stack.use(await takeFolder(dataDir, log, until));
  const server = stack.use(await startEmbeddedPostgres({ dataDir, log }));
  return { connection: server.connection, server };
}

/** The server of a running daemon; without a daemon, the server of the data folder is started for reading. */
async function join(config: DatabaseConfig, log: Logger, stack: AsyncDisposableStack): Promise<Joined> {
  const { url, dataDir } = config;
  if (url !== null) return { connection: { url } };
  await assertExists(config);
  const found = (await findEmbeddedPostgres(dataDir)) ?? (await lockOrFind(dataDir, stack));
  return { connection: found ?? stack.use(await startEmbeddedPostgres({ dataDir, log })).connection };
}

/** @returns also who has the data folder; null: it is ours, or there is none */
async function ownOrJoin(
  config: DatabaseConfig,
  log: Logger,
  stack: AsyncDisposableStack,
): Promise<{ readonly connection: Connection; readonly holder: string | null }> {
  try {
    return { connection: (await own(config, log, stack)).connection, holder: null };
  } catch (error) {
    const connection = error instanceof FolderTakenError ? await findEmbeddedPostgres(config.dataDir) : null;
    if (!(error instanceof FolderTakenError) || connection === null) throw error;
    return { connection, holder: error.holder };
  }
}

/** How long a reader waits for another command to leave the data folder, and how often it looks, ms. */
const READER_WAIT_MS = 5000;
const READER_POLL_MS = 100;

/** Takes the data folder. If it is taken, it waits a little: for its end, or for a server to read from. */
async function lockOrFind(dataDir: string, stack: AsyncDisposableStack): Promise<Connection | null> {
  const deadline = performance.now() + READER_WAIT_MS;
  for (;;) {
    try {
      stack.use(await acquireDataLock(dataDir));
      return null;
    } catch (error) {
      if (performance.now() >= deadline) throw error;
    }
    await delay(READER_POLL_MS);
    const running = await findEmbeddedPostgres(dataDir);
    if (running !== null) return running;
  }
}
