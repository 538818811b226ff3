import { once } from "node:events";
import { createReadStream, type ReadStream } from "node:fs";
import type { FileHandle } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip, type Gunzip } from "node:zlib";
import type { Config } from "../config/config.ts";
import { isMissingFile, OperatorError, WeirError, errorMessage } from "../core/errors.ts";
import { openToRead } from "../files/read-file.ts";
import { writeNewFile } from "../files/write-file.ts";
import { FEATURE_ROWS } from "../features/stored.ts";
import { checkBackup, type OnTable, writeBackup } from "../store/backup/backup.ts";
import { BackupReader, type ReadBackup, type RowCounts } from "../store/backup/backup-file.ts";
import { restoreBackup } from "../store/backup/restore.ts";
import { openDatabase, openForRestore } from "../store/database/open.ts";
import { fileSigner, hasSigningKey, keepSigningKey, readSigningKey } from "../store/database/signing-key.ts";
import { createStore } from "../store/store.ts";
import { formatSize } from "../text/format.ts";
import { counted } from "../text/text.ts";
import { type CommonOptions, type Io, say } from "./shared/io.ts";
import { openLog, readConfig } from "./shared/open.ts";
import { freeBytes } from "./doctor/look-at-machine.ts";
import { Progress } from "./shared/progress.ts";
import { readConfigToLook } from "./shared/readable-config.ts";
import { weirCommand } from "../files/installation.ts";

type BackupOptions = CommonOptions & { readonly verify?: boolean };

const BESIDE = `Not in it: config.toml, .env and the agents' folders. Copy those as you copy other files.
Whoever has the file can read everything. What people take back later stays in it: keep it safe, and not for ever.`;

/**
 * `weir backup FILE`: everything in the database as of now, in one file. A running daemon continues.
 * @throws OperatorError if the file exists already, or cannot be written
 */
export async function backup(io: Io, file: string, options: BackupOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  try {
    const rows = await writeNewFile(file, async (handle, unfinished) => {
      const written = await writeRows(io, config, handle);
      if (options.verify === true) await checkBackup(openBackup(unfinished, io.shutdown));
      return written;
    });
    const checked = options.verify === true ? ", and read again to its end" : "";
    say(io, `${describe(rows)} written to ${file}${checked}.\n${BESIDE}`);
  } catch (error) {
    if (io.shutdown.aborted) throw new OperatorError("Interrupted: there is no backup.");
    throw error;
  }
}

async function writeRows(io: Io, config: Config, file: FileHandle): Promise<RowCounts> {
  await using opened = await openDatabase(config.database, openLog(io, config, "warn"), "reader");
  const packed = createGzip();
  // A stream of the file would keep the caller from closing it.
  const intoFile = async (source: AsyncIterable<Buffer>): Promise<void> => {
    for await (const bytes of source) await file.writeFile(bytes);
  };
  const written = pipeline(packed, intoFile, { signal: io.shutdown });
  // Avoids an unhandled rejection: the next write fails and reports it.
  written.catch(() => undefined);
  const write = async (bytes: Buffer | string): Promise<void> => {
    io.shutdown.throwIfAborted();
    if (!packed.write(bytes)) await Promise.race([once(packed, "drain"), written]);
  };
  const readKey = async (): Promise<string | null> => readSigningKey(config.database.dataDir);
  const rows = await writeBackup(opened.database, readKey, write, progress(io));
  packed.end();
  await written;
  return rows;
}

/**
 * `weir restore FILE`: fills an empty database, completely or not at all; with `verify` it only reads the file. After a crash
 * the same command continues.
 * @throws OperatorError if the file is damaged, the database is in use, or the data folder has another signing key
 */
export async function restore(io: Io, file: string, options: BackupOptions): Promise<void> {
  if (options.verify === true) {
    const { head, rows } = await readWhole(io, file);
    say(io, `${file} is whole: ${describe(rows)}, as of ${head.at}, schema version ${head.schema}.`);
    return;
  }
  const config = readConfig(io, options);
  const log = openLog(io, config, "warn");
  const found = await readWhole(io, file);
  await assertTakes(config, found);
  await using opened = await openForRestore(config.database, log);
  const { database, where } = opened;
  const { signingKey } = found.head;
  // Its rows are believed only with the key that they were signed with.
  const keepKey = async (): Promise<() => Promise<void>> =>
    signingKey === null ? async () => undefined : keepSigningKey(config.database.dataDir, signingKey);
  const parts = { log, where, keepKey, onTable: progress(io), signal: io.shutdown };
  const done = await restoreBackup(database, openBackup(file, io.shutdown), found, parts).catch(
    (error: unknown) => {
      throw failure(io, error, "nothing was restored");
    },
  );
  const { retention } = createStore(database, FEATURE_ROWS, { signer: fileSigner(config.database.dataDir) });
  const strange = await retention.countStrange();
  if (strange > 0)
    log.warn({ messages: strange }, `fingerprints_of_another_key: see \`${weirCommand("doctor")}\``);
  const how = done === "restored" ? "restored into" : "restored before, by an earlier run, into";
  say(io, `${describe(found.rows)} ${how} ${where}. Start Weir: it goes on where the backup was made.`);
}

async function readWhole(io: Io, file: string): Promise<ReadBackup> {
  return await checkBackup(openBackup(file, io.shutdown)).catch((error: unknown) => {
    throw failure(io, error, `${file} was not read to its end`);
  });
}

/** @param rest is so after an interruption */
function failure({ shutdown }: Io, error: unknown, rest: string): unknown {
  if (shutdown.aborted) return new OperatorError(`Interrupted: ${rest}.`);
  if (!(error instanceof WeirError) || !error.retryable) return error;
  return new OperatorError(
    `${errorMessage(error)} The database holds all of the backup or nothing: run this again.`,
    { cause: error },
  );
}

/** @throws OperatorError if the data folder has another key, or clearly too little room */
async function assertTakes(
  { database: { dataDir, url } }: Config,
  { head, bytes }: Pick<ReadBackup, "head" | "bytes">,
): Promise<void> {
  if (head.signingKey !== null) hasSigningKey(dataDir, head.signingKey);
  const free = url === null ? await freeBytes(dataDir) : null;
  if (free === null || free >= bytes) return;
  throw new OperatorError(
    `The rows of the backup have ${formatSize(bytes)}, and ${formatSize(free)} are free for ${dataDir}: make room, or set data_dir under [database] to a folder on another disk.`,
  );
}

export function openBackup(file: string, signal: AbortSignal): BackupReader {
  const bytes = createReadStream(file, { fd: openBackupFile(file) });
  const unpacked = createGunzip();
  // Avoids an unhandled rejection: the reader reports the error.
  pipeline(bytes, unpacked, { signal }).catch(() => undefined);
  return new BackupReader(wholly(unpacked, bytes), file);
}

/** gzip ignores zeros after its end; an extra byte makes the reader notice them. */
async function* wholly(unpacked: Gunzip, file: ReadStream): AsyncGenerator<Buffer> {
  yield* unpacked;
  if (unpacked.bytesWritten < file.bytesRead) yield Buffer.alloc(1);
}

/** @throws OperatorError if it cannot be read */
function openBackupFile(file: string): number {
  try {
    return openToRead(file);
  } catch (error) {
    if (!isMissingFile(error)) throw error;
    throw new OperatorError(`There is no file ${file}.`, { cause: error });
  }
}

function describe({ channels = 0, entries = 0, summaries = 0, memories = 0 }: RowCounts): string {
  const told = [
    counted(channels, "channel"),
    counted(entries, "entry", "entries"),
    counted(summaries, "summary", "summaries"),
    counted(memories, "memory", "memories"),
  ];
  return told.join(", ");
}

function progress(io: Io): OnTable {
  let bar: Progress | null = null;
  let done = 0;
  return (_, of) => {
    if (!io.stderr.isTTY) return;
    bar ??= new Progress(io.stderr, of);
    bar.step();
    done++;
    if (done === of) bar.end();
  };
}
