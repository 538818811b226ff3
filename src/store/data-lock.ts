import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { OperatorError, errorMessage } from "../core/errors.ts";
import { isLiveProcess } from "./live-process.ts";

/** SQLite's result code for "another connection holds the lock". */
const SQLITE_BUSY = 5;

/** A daemon that has just taken the lock writes its process id right after. */
const NAME_ATTEMPTS = 10;
const NAME_POLL_MS = 20;

/**
 * Sees to it that one daemon uses a data folder. The lock is the kernel's (SQLite takes it, on an empty file),
 * so it is atomic, and ends with its process however that ends: neither a file that is left over nor a process
 * id that another program has by now locks anybody out.
 * @returns the lock; disposing gives it back
 * @throws OperatorError that names the process that has it, or says why the folder cannot be used
 */
export async function acquireDataLock(dataDir: string): Promise<AsyncDisposable> {
  const pidFile = join(dataDir, "daemon.pid");
  const lock = await takeLock(dataDir);
  if (lock === null) {
    const holder = await nameHolder(pidFile);
    throw new OperatorError(
      `Another Weir (${holder === null ? "process unknown" : `process ${holder}`}) uses the data folder ${dataDir}. ` +
        `Stop it${holder === null ? "" : ` (kill ${holder})`}, or give this one its own: data_dir under [database] ` +
        "in config.toml.",
    );
  }
  try {
    await writeFile(pidFile, `${process.pid}\n`);
  } catch (cause) {
    lock.close();
    throw unusable(dataDir, cause);
  }
  return {
    async [Symbol.asyncDispose]() {
      if (!lock.isOpen) return;
      // The name goes before the lock does: after it, the name would be the next owner's.
      await rm(pidFile, { force: true });
      if (lock.isOpen) lock.close();
    },
  };
}

/**
 * @returns null where another process, or another part of this one, has it
 * @throws OperatorError where the folder cannot be used
 */
async function takeLock(dataDir: string): Promise<DatabaseSync | null> {
  let file: DatabaseSync | undefined;
  try {
    await mkdir(dataDir, { recursive: true });
    file = new DatabaseSync(join(dataDir, "lock"));
    // Nothing is ever written: the open transaction is the lock, and needs no journal file.
    file.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return file;
  } catch (cause) {
    file?.close();
    if (isBusy(cause)) return null;
    throw unusable(dataDir, cause);
  }
}

function unusable(dataDir: string, cause: unknown): OperatorError {
  return new OperatorError(
    `The data folder ${dataDir} cannot be used (${errorMessage(cause)}). Check its owner, or set data_dir under ` +
      "[database] in config.toml.",
    { cause },
  );
}

function isBusy(error: unknown): boolean {
  return error instanceof Error && "errcode" in error && error.errcode === SQLITE_BUSY;
}

async function nameHolder(pidFile: string): Promise<number | null> {
  for (let attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
    const pid = Number.parseInt(await readFile(pidFile, "utf8").catch(() => ""), 10);
    if (isLiveProcess(pid)) return pid;
    await sleep(NAME_POLL_MS);
  }
  return null;
}
