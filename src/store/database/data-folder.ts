import { randomBytes } from "node:crypto";
import { chmod, link, lstat, mkdir, readdir, realpath, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { errorCode, errorMessage, OperatorError } from "../../core/errors.ts";

/** The key that rows are signed with. */
export const SIGNING_KEY = "signing.key";

/** What clients of the HTTP service have to show, where the operator sets no token. */
export const HTTP_TOKEN = "http.token";

/** What codes for the page are made with. */
export const PAGE_KEY = "page.key";

/** Where the page of the daemon is. */
export const PAGE_ADDRESS = "page.address";

/** Which daemon has come last. */
export const NEXT_DAEMON = "daemon.next";

/** The folder of the socket by which chats attach. */
export const CHAT_FOLDER = "chat";

/** What was typed at this machine's terminals; `history.new` may be a draft that was left. */
export const TYPED_HISTORY = "history";

/** What Weir puts into its data folder; `lost+found` is in the root of every disk. */
const FOLDERS: ReadonlySet<string> = new Set([
  "postgres",
  "postgres.unfinished",
  "socket",
  CHAT_FOLDER,
  "lost+found",
]);
const FILES: ReadonlySet<string> = new Set([
  "lock",
  "daemon.pid",
  NEXT_DAEMON,
  "weir.log",
  "postgres.log",
  "postgres.log.old",
  SIGNING_KEY,
  HTTP_TOKEN,
  PAGE_KEY,
  PAGE_ADDRESS,
  TYPED_HISTORY,
  `${TYPED_HISTORY}.new`,
]);

/** Older parts of the log. */
const OLD_LOG = /^weir\.log\.\d{1,2}$/;
/** How the name of a file ends while it is written. */
const DRAFT = /\.[0-9a-f]{12}$/;

const OTHERS = 0o077;
const PRIVATE_FOLDER = 0o700;
export const PRIVATE_FILE = 0o600;

function isOwnFile(name: string): boolean {
  return FILES.has(name.replace(DRAFT, "")) || OLD_LOG.test(name);
}

/** Makes a folder that is closed to other accounts, where there is none. The folders above it are made as usual. */
export async function makePrivateFolder(folder: string): Promise<void> {
  await mkdir(path.dirname(folder), { recursive: true });
  await mkdir(folder, { mode: PRIVATE_FOLDER }).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== "EEXIST") throw error;
  });
}

/** Writes a file of its owner's alone, whole or not at all, and its folder where there is none. One that is there stays. */
export async function putPrivateFile(file: string, text: string): Promise<void> {
  await makePrivateFolder(path.dirname(file));
  const unfinished = `${file}.${randomBytes(6).toString("hex")}`;
  try {
    // Flushed: after a loss of power a key that is there has all its digits.
    await writeFile(unfinished, text, { mode: PRIVATE_FILE, flag: "wx", flush: true });
    await link(unfinished, file).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
  } finally {
    await rm(unfinished, { force: true });
  }
}

/**
 * Makes the data folder where there is none, and closes one that is open to other accounts: they could read the log, and
 * hold the lock. A folder with other things than Weir's in it (a home, /tmp) is left as it is but for Weir's own files.
 * @returns why it is still open, in words; null: it is closed
 * @throws OperatorError if it cannot be used
 */
export async function closeDataFolder(dataDir: string): Promise<string | null> {
  try {
    await makePrivateFolder(dataDir);
    return await close(await realpath(dataDir));
  } catch (cause) {
    throw unusable(dataDir, cause);
  }
}

async function close(folder: string): Promise<string | null> {
  const foreign = await findForeign(folder);
  const why = foreign === null ? await narrow(folder, PRIVATE_FOLDER) : await openness(folder, foreign);
  for (const name of await readdir(folder))
    if (isOwnFile(name)) await narrow(path.join(folder, name), PRIVATE_FILE);
  return why;
}

/**
 * @returns the name of something in a data folder that Weir has not put there: the folder serves others, too; null: there is none
 */
export async function findForeign(folder: string): Promise<string | null> {
  const names = await readdir(folder);
  return names.find((name) => !FOLDERS.has(name) && !isOwnFile(name)) ?? null;
}

export function unusable(dataDir: string, cause: unknown): OperatorError {
  if (/^(?:ENOSPC|EDQUOT)$/.test(errorCode(cause)))
    return new OperatorError(
      `The disk of the data folder ${dataDir} is full: make room, and start again, or set data_dir under [database] to a folder on ` +
        "another disk.",
      { cause },
    );
  return new OperatorError(
    `The data folder ${dataDir} cannot be used (${errorMessage(cause)}). Check its owner, or set data_dir under ` +
      "[database] in config.toml.",
    { cause },
  );
}

async function openness(folder: string, foreign: string): Promise<string | null> {
  const { mode } = await lstat(folder);
  if ((mode & OTHERS) === 0) return null;
  return `it is not Weir's alone (${foreign} is in it)`;
}

/** @returns why it could not be done; null: it is private. What is linked to from elsewhere is not ours to change. */
async function narrow(file: string, mode: number): Promise<string | null> {
  // Another Weir may have ended meanwhile, and its files with it.
  const found = await lstat(file).catch(() => null);
  const isOurs = found !== null && (found.isDirectory() || (found.isFile() && found.nlink === 1));
  if (!isOurs || (found.mode & OTHERS) === 0) return null;
  try {
    await chmod(file, mode);
    return null;
  } catch (error) {
    return errorMessage(error);
  }
}
