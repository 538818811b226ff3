import { once } from "node:events";
import { createReadStream } from "node:fs";
import { type FileHandle, link, lstat, open, rename, rm } from "node:fs/promises";
import { pipeline } from "node:stream/promises";
import { createGunzip, createGzip } from "node:zlib";
import type { Config } from "../../config/config.ts";
import { errorCode, errorMessage, isMissingFile, OperatorError, WeirError } from "../../core/errors.ts";
import { openToRead } from "../../files/read-file.ts";
import { checkBackup, type OnTable, restoreBackup, writeBackup } from "../../store/backup/backup.ts";
import { BackupReader, type RowCounts } from "../../store/backup/backup-file.ts";
import { migrate, readSchemaState } from "../../store/database/migrate.ts";
import { openDatabase, openForRestore } from "../../store/database/open.ts";
import { fileSigner, keepSigningKey, readSigningKey } from "../../store/database/signing-key.ts";
import { createStore } from "../../store/store.ts";
import { counted } from "../../text/text.ts";
import { type CommonOptions, type Io, say } from "../io.ts";
import { openLog, readConfig } from "../open.ts";
import { Progress } from "../progress.ts";
import { readConfigToLook } from "../readable-config.ts";

export type BackupOptions = CommonOptions & { readonly verify?: boolean };

const BESIDE = `Not in it: config.toml, .env and the agents' folders. Copy those as you copy other files.
Whoever has the file can read everything. What people take back later stays in it: keep it safe, and not for ever.`;

/**
 * `weir backup FILE`: everything in the database as of now, in one file. A daemon that runs goes on.
 * @throws OperatorError if the file is there already, or cannot be written
 */
export async function backup(io: Io, file: string, options: BackupOptions): Promise<void> {
  const config = readConfigToLook(io, options);
  if ((await lstat(file).catch(() => null)) !== null) throw isThere(file);
  const unfinished = `${file}.unfinished`;
  const out = await createUnfinished(unfinished);
  try {
    const rows = await writeClosing(io, config, out);
    if (options.verify === true) await checkBackup(openBackup(unfinished));
    await finish(unfinished, file);
    const checked = options.verify === true ? ", and read again to its end" : "";
    say(io, `${describe(rows)} written to ${file}${checked}.\n${BESIDE}`);
  } catch (error) {
    await rm(unfinished, { force: true });
    if (io.shutdown.aborted) throw new OperatorError("Interrupted: there is no backup.");
    throw error instanceof WeirError
      ? error
      : new OperatorError(`${file} cannot be written: ${errorMessage(error)}.`);
  }
}

/** A new file, for its owner's eyes alone. */
async function createUnfinished(file: string): Promise<FileHandle> {
  try {
    return await open(file, "wx", 0o600);
  } catch (error) {
    throw new OperatorError(
      errorCode(error) === "EEXIST"
        ? `${file} is there already: another backup is being written, or one was interrupted; if it was, remove this file.`
        : `${file} cannot be written: ${errorMessage(error)}.`,
      { cause: error },
    );
  }
}

/** Gives the file its name, unless another one has it by now. */
async function finish(unfinished: string, file: string): Promise<void> {
  try {
    // Unlike a rename, it does not replace a file.
    await link(unfinished, file);
  } catch (error) {
    if (errorCode(error) === "EEXIST") throw isThere(file);
    // Not each file system has links.
    await rename(unfinished, file);
    return;
  }
  await rm(unfinished);
}

function isThere(file: string): OperatorError {
  return new OperatorError(`${file} is there already: name another file.`);
}

async function writeClosing(io: Io, config: Config, file: FileHandle): Promise<RowCounts> {
  try {
    return await writeRows(io, config, file);
  } finally {
    await file.close();
  }
}

async function writeRows(io: Io, config: Config, file: FileHandle): Promise<RowCounts> {
  await using opened = await openDatabase(config.database, openLog(io, config, "warn"), "reader");
  const { current: schema } = await readSchemaState(opened.database);
  const head = { schema, signingKey: readSigningKey(config.database.dataDir) };
  const packed = createGzip();
  const written = pipeline(packed, file.createWriteStream(), { signal: io.shutdown });
  // Where it fails, what is written next fails, and tells of it.
  written.catch(() => undefined);
  const write = async (bytes: Buffer | string): Promise<void> => {
    io.shutdown.throwIfAborted();
    if (!packed.write(bytes)) await Promise.race([once(packed, "drain"), written]);
  };
  const rows = await writeBackup(opened.database, head, write, progress(io));
  packed.end();
  await written;
  return rows;
}

/**
 * `weir restore FILE`: fills an empty database, whole or not at all; with `verify` it only reads the file.
 * @throws OperatorError if the file is damaged, or the database is in use
 */
export async function restore(io: Io, file: string, options: BackupOptions): Promise<void> {
  const reader = openBackup(file);
  if (options.verify === true) {
    const { head, rows } = await checkBackup(reader);
    say(io, `${file} is whole: ${describe(rows)}, as of ${head.at}, schema version ${head.schema}.`);
    return;
  }
  const config = readConfig(io, options);
  const log = openLog(io, config, "warn");
  const head = await reader.head();
  await using opened = await openForRestore(config.database, log, head.schema);
  const rows = await restoreBackup(opened.database, reader, head, progress(io));
  // Its rows are believed only with the key that they were signed with.
  if (head.signingKey !== null) await keepSigningKey(config.database.dataDir, head.signingKey);
  await migrate(opened.database, log);
  const { retention } = createStore(opened.database, { signer: fileSigner(config.database.dataDir) });
  const strange = await retention.countStrange();
  if (strange > 0) log.warn({ messages: strange }, "fingerprints_of_another_key: see weir doctor");
  say(
    io,
    `${describe(rows)} restored into ${opened.where}. Start Weir: it goes on where the backup was made.`,
  );
}

function openBackup(file: string): BackupReader {
  const bytes = createReadStream(file, { fd: openBackupFile(file) });
  const unpacked = createGunzip();
  // The reader tells of it.
  pipeline(bytes, unpacked).catch(() => undefined);
  return new BackupReader(unpacked, file);
}

/** @throws OperatorError if it cannot be read */
function openBackupFile(file: string): number {
  try {
    return openToRead(file);
  } catch (error) {
    if (!isMissingFile(error)) throw error;
    throw new OperatorError(`${file} is no backup, or damaged: there is no such file.`, { cause: error });
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
