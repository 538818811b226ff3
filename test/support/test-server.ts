import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { startEmbeddedPostgres } from "../../src/store/embedded/embedded-postgres.ts";
import { migrate } from "../../src/store/migrate.ts";
import { type Connection, Database } from "../../src/store/pool.ts";

/** The variable by which test processes learn where the server is: a Connection as JSON. */
export const CONNECTION_VARIABLE = "WEIR_TEST_CONNECTION";
/** Set by whoever wants the tests to run on a server of theirs. */
export const URL_VARIABLE = "WEIR_TEST_DATABASE_URL";

/** The migrated database of which every test file gets a copy. Nobody stays connected to it. */
export const TEMPLATE_NAME = "weir";

/** For one run that is soon over; and many test files connect at once. */
const SETTINGS = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  autovacuum: "off",
  max_connections: "300",
  shared_buffers: "128MB",
};

/**
 * Waits until its standard input ends, which it does when the test run is over however that came about (Ctrl-C and
 * kill -9 included), then ends the daemon and the server of a data folder and removes it.
 */
const GUARDIAN = `
cat >/dev/null
daemon=$(cat "$1/daemon.pid" 2>/dev/null)
[ -n "$daemon" ] && kill -KILL "$daemon" 2>/dev/null
pid=$(head -n 1 "$1/postgres/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ]; then
  kill -QUIT "$pid" 2>/dev/null
  while [ -f "$1/postgres/postmaster.pid" ] && kill -0 "$pid" 2>/dev/null; do sleep 0.02; done
fi
rm -rf "$1"
`;

export interface TestServer extends AsyncDisposable {
  readonly connection: Connection;
}

/** Starts the one server of a test run, with its template migrated. Disposing removes every trace of it. */
export async function startTestServer(): Promise<TestServer> {
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), "weir-test-")));
  // As root, the server runs as an account that has to come through; its own folders are closed to all others.
  await chmod(dataDir, 0o711);
  const guardian = startGuardian(dataDir);
  try {
    const log = pino({ level: "warn" });
    // Never disposed of: the guardian ends it, so that one way of ending is tried by every run.
    const { connection } = await startEmbeddedPostgres({ dataDir, log, settings: SETTINGS });
    await using database = new Database(connection, log, { maxConnections: 1 });
    await migrate(database, log);
    return { connection, [Symbol.asyncDispose]: async () => endGuardian(guardian) };
  } catch (error) {
    await endGuardian(guardian);
    throw error;
  }
}

/** Sees to it that nothing of a data folder outlives the test's process. */
export function startGuardian(dataDir: string): ChildProcess {
  return spawn("/bin/sh", ["-c", GUARDIAN, "sh", dataDir], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "inherit"],
  });
}

/** Resolves when nothing runs on its data folder any more, and the folder is gone. */
export async function endGuardian(guardian: ChildProcess): Promise<void> {
  const ended = once(guardian, "exit");
  guardian.stdin?.end();
  await ended;
}
