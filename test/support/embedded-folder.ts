import { execFile } from "node:child_process";
import { chmod, mkdtemp, readFile, realpath, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { promisify } from "node:util";
import { Client } from "pg";
import { pino } from "pino";
import { observePostmaster } from "../../src/store/database/embedded/postmaster.ts";
import {
  type EmbeddedConnection,
  type EmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../src/store/database/embedded/embedded-postgres.ts";

const run = promisify(execFile);

/** A temporary folder that the server's account can access if root starts it. Disposing removes it. */
export async function makeRoomyFolder(): Promise<AsyncDisposable & { readonly path: string }> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "weir embedded ")));
  await chmod(path, 0o755);
  return { path, [Symbol.asyncDispose]: async () => rm(path, { recursive: true, force: true }) };
}

/** Copies a data folder with its owners. Takes a tenth of an initdb's time. */
export async function copyFolder(from: string, to: string): Promise<void> {
  await run("cp", ["-a", from, to]);
}

export async function startQuietly(dataDir: string): Promise<EmbeddedPostgres> {
  return startEmbeddedPostgres({ dataDir, log: pino({ level: "silent" }) });
}

export async function connect(connection: EmbeddedConnection): Promise<Client> {
  const client = new Client(connection);
  // Killing the server ends its connections.
  client.on("error", () => {});
  await client.connect();
  return client;
}

/** @returns the column `answer` of the first row */
export async function ask(connection: EmbeddedConnection, sql: string): Promise<unknown> {
  const client = await connect(connection);
  try {
    const { rows } = await client.query<{ answer: unknown }>(sql);
    return rows[0]?.answer;
  } finally {
    await client.end();
  }
}

export async function postmasterPid(dataDir: string): Promise<number> {
  return Number.parseInt(await readFile(join(dataDir, "postgres", "postmaster.pid"), "utf8"), 10);
}

/** Kills the server, and resolves when it has ended: on a busy machine it answers a little longer. */
export async function killPostmaster(dataDir: string): Promise<number> {
  const pid = await postmasterPid(dataDir);
  process.kill(pid, "SIGKILL");
  while ((await observePostmaster(join(dataDir, "postgres"))).state === "ready") await delay(5);
  return pid;
}
