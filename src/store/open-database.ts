import { setTimeout as delay } from "node:timers/promises";
import type { Logger } from "pino";
import type { DatabaseConfig } from "../config/config.ts";
import { errorMessage, WeirError } from "../core/errors.ts";
import { acquireDataLock } from "./data-lock.ts";
import {
  type EmbeddedPostgres,
  findEmbeddedPostgres,
  startEmbeddedPostgres,
} from "./embedded/embedded-postgres.ts";
import { migrate } from "./migrate.ts";
import { type Connection, Database } from "./pool.ts";

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
 * Opens the database and migrates it. `DATABASE_URL` decides: with it that server is used, without it the embedded
 * one is started, and stopped when this is disposed of; for an owner it is started again where it ends meanwhile.
 * @param role `owner`: alone on the data folder; `reader`: beside a daemon where one runs
 * @param until waits for a database that cannot be reached until this is aborted; default: no wait
 * @throws OperatorError where another Weir has the data folder, or the database is newer than the code
 */
export async function openDatabase(
  config: DatabaseConfig,
  log: Logger,
  role: "owner" | "reader",
  until?: AbortSignal,
): Promise<OpenDatabase> {
  await using stack = new AsyncDisposableStack();
  const lost = new AbortController();
  const { connection, server } = await connect(config, log, role, stack);
  // A reader holds the folder for a moment only, and a daemon can't start beside it.
  if (role === "owner") server?.supervise((error) => lost.abort(error));
  const database = stack.use(new Database(connection, log));
  await insistently(async () => migrate(database, log), log, until);
  const kept = stack.move();
  const where =
    config.url === null ? `the embedded Postgres in ${config.dataDir}` : "the Postgres of database.url";
  return {
    database,
    where,
    lost: lost.signal,
    expectEnd: () => server?.expectEnd(),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** The first wait for a database and the longest, ms; each is twice the one before. */
const WAIT_FROM_MS = 500;
const WAIT_TO_MS = 10_000;

/**
 * A machine that starts has its database a while later, and a process manager that has given a daemon up does not come back.
 * @throws what the last attempt threw
 */
async function insistently(open: () => Promise<unknown>, log: Logger, until?: AbortSignal): Promise<void> {
  let told = "";
  for (let waitMs = WAIT_FROM_MS; ; waitMs = Math.min(waitMs * 2, WAIT_TO_MS)) {
    try {
      await open();
      return;
    } catch (error) {
      const isWaitedFor = until?.aborted === false && error instanceof WeirError && error.retryable;
      if (!isWaitedFor) throw error;
      const why = errorMessage(error);
      // One that stays away is told once.
      if (why !== told) log.warn({ why }, "database_waited_for");
      told = why;
      await delay(waitMs, undefined, { signal: until }).catch(() => undefined);
    }
  }
}

/** False: the database is at rest, so no daemon runs on it. */
export async function mayHaveDaemon({ url, dataDir }: DatabaseConfig): Promise<boolean> {
  return url !== null || (await findEmbeddedPostgres(dataDir)) !== null;
}

async function connect(
  config: DatabaseConfig,
  log: Logger,
  role: "owner" | "reader",
  stack: AsyncDisposableStack,
): Promise<{ readonly connection: Connection; readonly server?: EmbeddedPostgres }> {
  if (config.url !== null) return { connection: { url: config.url } };
  const running = role === "reader" ? await findEmbeddedPostgres(config.dataDir) : null;
  if (running !== null) return { connection: running };
  const found = await lockOrFind(config.dataDir, role, stack);
  if (found !== null) return { connection: found };
  const server = stack.use(await startEmbeddedPostgres({ dataDir: config.dataDir, log }));
  return { connection: server.connection, server };
}

/** How long a reader waits for another command to leave the data folder, and how often it looks, ms. */
const READER_WAIT_MS = 5000;
const READER_POLL_MS = 100;

/** Takes the data folder. A reader that finds it taken waits a little: for its end, or for a server to read from. */
async function lockOrFind(
  dataDir: string,
  role: "owner" | "reader",
  stack: AsyncDisposableStack,
): Promise<Connection | null> {
  const deadline = performance.now() + (role === "reader" ? READER_WAIT_MS : 0);
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
