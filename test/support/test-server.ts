import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, realpath } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pino } from "pino";
import { startEmbeddedPostgres } from "../../src/store/database/embedded/embedded-postgres.ts";
import { migrate } from "../../src/store/database/migrate.ts";
import { Database } from "../../src/store/database/database.ts";
import type { Connection } from "../../src/store/database/queryable.ts";

/** The variable with the test server's Connection as JSON. */
export const CONNECTION_VARIABLE = "WEIR_TEST_CONNECTION";
/** The variable with the place of the common data folder, see `openSeed`. */
export const SEED_VARIABLE = "WEIR_TEST_SEED";
/** Set it to run the tests on another server. */
export const URL_VARIABLE = "WEIR_TEST_DATABASE_URL";

/** As for `npm start`: loading the code is half of a start's time, and each test file is a start like a daemon's. */
export const CODE_CACHE = join(import.meta.dirname, "..", "..", "node_modules", ".cache", "weir-code");

/** The migrated database that every test file copies. Nobody stays connected to it. */
export const TEMPLATE_NAME = "weir";

/** For a short run with many concurrent connections. */
const SETTINGS = {
  fsync: "off",
  synchronous_commit: "off",
  full_page_writes: "off",
  autovacuum: "off",
  max_connections: "300",
  shared_buffers: "128MB",
};

/**
 * Waits until its standard input ends, at any end of the test run (Ctrl-C and kill -9 included), then ends the daemon
 * and the server of a data folder and removes it. Their files may be stale, and another program may have their process
 * ids: so the daemon is the process that has the folder's lock open, and the server is the process with the folder as
 * its argument.
 */
const GUARDIAN = `
cat >/dev/null
folder=$(cd "$1" 2>/dev/null && pwd -P) || exit 0
has_lock() {
  for file in /proc/"$1"/fd/*; do
    [ "$(readlink "$file")" = "$folder/lock" ] && return 0
  done
  [ ! -d /proc/self ] && lsof -p "$1" -Fn 2>/dev/null | grep -qxF "n$folder/lock"
}
is_server() {
  case "$(ps -ww -o args= -p "$1" 2>/dev/null) " in
    *"/postgres -D $folder/postgres "*) return 0 ;;
  esac
  return 1
}
daemon=$(cat "$folder/daemon.pid" 2>/dev/null)
[ -n "$daemon" ] && has_lock "$daemon" && kill -KILL "$daemon" 2>/dev/null
pid=$(head -n 1 "$folder/postgres/postmaster.pid" 2>/dev/null)
if [ -n "$pid" ] && is_server "$pid"; then
  kill -QUIT "$pid" 2>/dev/null
  while is_server "$pid"; do sleep 0.02; done
fi
rm -rf "$folder"
`;

export interface TestServer extends AsyncDisposable {
  readonly connection: Connection;
  /** Removed with the server. */
  readonly folder: string;
}

/**
 * Starts the one server of a test run, with a migrated template. Disposing removes all of it.
 * @param settings of Postgres; default: for a short run
 */
export async function startTestServer(
  settings: Readonly<Record<string, string>> = SETTINGS,
): Promise<TestServer> {
  const dataDir = await realpath(await mkdtemp(join(tmpdir(), "weir-test-")));
  // As root, the server runs as another account, which needs access; its own folders are closed to all others.
  await chmod(dataDir, 0o711);
  const guardian = startGuardian(dataDir);
  try {
    const log = pino({ level: "warn" });
    // Never disposed: the guardian ends it, so that every run tests this way of ending.
    const { connection } = await startEmbeddedPostgres({ dataDir, log, settings });
    await using database = new Database(connection, log, { maxConnections: 1 });
    await migrate(database, log);
    return { connection, folder: dataDir, [Symbol.asyncDispose]: async () => endGuardian(guardian) };
  } catch (error) {
    await endGuardian(guardian);
    throw error;
  }
}

/** Makes sure that nothing of a data folder outlives the test's process. */
export function startGuardian(dataDir: string): ChildProcess {
  return spawn("/bin/sh", ["-c", GUARDIAN, "sh", dataDir], {
    cwd: "/",
    detached: true,
    stdio: ["pipe", "ignore", "inherit"],
  });
}

/** Resolves when no process uses its data folder, and the folder is removed. */
export async function endGuardian(guardian: ChildProcess): Promise<void> {
  const ended = once(guardian, "exit");
  guardian.stdin?.end();
  await ended;
}
