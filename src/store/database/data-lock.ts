import { closeSync, openSync } from "node:fs";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { setTimeout as sleep } from "node:timers/promises";
import { errorCode, OperatorError } from "../../core/errors.ts";
import { readText, SHORT } from "../../files/read-file.ts";
import { makePrivateFolder, PRIVATE_FILE, unusable } from "./data-folder.ts";
import { isLiveProcess } from "./live-process.ts";

/** SQLite's result code for "another connection holds the lock". */
const SQLITE_BUSY = 5;

/** A daemon that has just taken the lock writes its process id right after. */
const NAME_ATTEMPTS = 10;
const NAME_POLL_MS = 20;

export class FolderTakenError extends OperatorError {
  /** Which, in words. */
  readonly holder: string;

  constructor(dataDir: string, pid: number | null) {
    const holder = pid === null ? "process unknown" : `process ${pid}`;
    super(
      `Another Weir (${holder}) uses the data folder ${dataDir}. Stop it${pid === null ? "" : ` (kill ${pid})`}, or give ` +
        "this one its own: data_dir under [database] in config.toml.",
    );
    this.holder = holder;
  }
}

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
    throw new FolderTakenError(dataDir, holder);
  }
  try {
    // One that another account has left behind can't be written, but replaced.
    await rm(pidFile, { force: true });
    await writeFile(pidFile, `${process.pid}\n`, { mode: PRIVATE_FILE, flag: "wx" });
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
 * @returns null if another process, or another part of this one, has it
 * @throws OperatorError if the folder cannot be used
 */
async function takeLock(dataDir: string): Promise<DatabaseSync | null> {
  let file: DatabaseSync | undefined;
  try {
    await makePrivateFolder(dataDir);
    const name = join(dataDir, "lock");
    makeLockFile(name);
    file = new DatabaseSync(name);
    // Nothing is ever written: the open transaction is the lock, and needs no journal file.
    file.exec("PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE");
    return file;
  } catch (cause) {
    file?.close();
    if (cause instanceof Error && "errcode" in cause && cause.errcode === SQLITE_BUSY) return null;
    throw unusable(dataDir, cause);
  }
}

/**
 * Who can read the file can hold the lock. One that is there is not opened: whichever part of a process closes a file
 * gives up all of the process's locks on it. For the same reason nothing of it waits.
 */
function makeLockFile(name: string): void {
  try {
    closeSync(openSync(name, "wx", PRIVATE_FILE));
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** NaN: no process has written its number. */
function pidIn(file: string): number {
  try {
    return Number.parseInt(readText(file, SHORT), 10);
  } catch {
    return Number.NaN;
  }
}

async function nameHolder(pidFile: string): Promise<number | null> {
  for (let attempt = 0; attempt < NAME_ATTEMPTS; attempt++) {
    const pid = pidIn(pidFile);
    if (isLiveProcess(pid)) return pid;
    await sleep(NAME_POLL_MS);
  }
  return null;
}
