import { closeSync, readSync } from "node:fs";
import { lstat, readdir, readFile, realpath, stat } from "node:fs/promises";
import path from "node:path";
import type { Config } from "../../config/config.ts";
import { openToRead } from "../../files/read-file.ts";
import { UNFINISHED } from "../../files/write-file.ts";
import { parseMemoryLine } from "../../memory/memory-file.ts";
import { openBackup } from "../backup.ts";
import { findChatSocket } from "../chat/chat-socket.ts";
import type { FoundBackup } from "./backups.ts";
import type { FileFacts } from "./modes.ts";

/** Reads what an audit judges of files. It changes nothing. */

const MOST_FILES = 5000;
/** Largest text that is searched for secrets, bytes. */
const MOST_TEXT = 1_048_576;
const TEXTS = /\.(?:md|j2|txt|toml|json|ya?ml|sh)$/i;
const HEAD_BYTES = 65_536;
const GZIP = [0x1f, 0x8b] as const;

type Shown = (file: string) => string;

/** The files that operators write for agents, with the folders that have them. */
export interface Written {
  readonly roots: readonly string[];
  /** Files and folders in the roots, at every depth. */
  readonly below: readonly string[];
}

export async function listWritten({
  agentsDir,
  prompts,
}: Pick<Config, "agentsDir" | "prompts">): Promise<Written> {
  const roots = [agentsDir, ...(prompts.dir === null ? [] : [prompts.dir])];
  return { roots, below: (await Promise.all(roots.map(async (root) => filesBelow(root)))).flat() };
}

/** The files and folders whose modes matter, as they are. Missing ones are left out. */
export async function readFacts(
  config: Pick<Config, "file" | "home" | "database">,
  { roots, below }: Written,
  backups: readonly string[],
  shown: Shown,
): Promise<FileFacts[]> {
  const { dataDir } = config.database;
  const socket = await findChatSocket(dataDir).catch(() => null);
  const data = await stat(dataDir).catch(() => null);
  // Nobody reaches what is in a closed folder.
  const isOpen = data !== null && (data.mode & 0o077) !== 0;
  const own = isOpen ? await filesBelow(dataDir, 1) : [];
  const unchanged = [config.home, ...(config.file === null ? [] : [config.file]), ...roots, ...below];
  const closed = [path.join(config.home, ".env"), dataDir, ...own, ...backups];
  const sockets = socket === null ? [] : [path.dirname(socket)];
  const facts = await Promise.all([
    ...unchanged.map(async (file) => factsOf(file, "unchanged", shown)),
    ...[...closed, ...sockets].map(async (file) => factsOf(file, "private", shown)),
  ]);
  return facts.filter((one) => one !== null);
}

async function factsOf(file: string, demand: FileFacts["demand"], shown: Shown): Promise<FileFacts | null> {
  const [found, itself] = await Promise.all([stat(file), lstat(file)]).catch(() => [null, null] as const);
  if (found === null) return null;
  const kind = found.isDirectory() ? "folder" : found.isSocket() ? "socket" : "file";
  const isLinked = itself.isSymbolicLink() || (kind === "file" && found.nlink > 1);
  return {
    path: file,
    shownAs: shown(file),
    kind,
    mode: found.mode & 0o1777,
    uid: found.uid,
    isLinked,
    demand,
  };
}

/** @param depth folders that are entered; default: all. Links are not followed */
async function filesBelow(root: string, depth = Number.POSITIVE_INFINITY): Promise<string[]> {
  const entries = await readdir(root, { recursive: depth > 1, withFileTypes: true }).catch(() => []);
  return entries
    .filter((entry) => entry.isFile() || entry.isDirectory())
    .slice(0, MOST_FILES)
    .map(({ parentPath, name }) => path.join(parentPath, name));
}

/** The texts that operators write, for models and for Weir: those that may hold secrets by mistake. */
export async function readTexts(
  config: Pick<Config, "file">,
  { below }: Written,
  shown: Shown,
): Promise<{ readonly file: string; readonly text: string }[]> {
  const files = [...(config.file === null ? [] : [config.file]), ...below.filter((file) => TEXTS.test(file))];
  const texts = await Promise.all(
    files.map(async (file) => {
      const found = await stat(file).catch(() => null);
      if (found === null || !found.isFile() || found.size > MOST_TEXT) return null;
      const text = await readFile(file, "utf8").catch(() => null);
      return text === null ? null : { file: shown(file), text };
    }),
  );
  return texts.filter((one) => one !== null);
}

/** Files that hold what was in the database. */
export interface Copies {
  readonly backups: readonly FoundBackup[];
  readonly exports: readonly string[];
  /** Backups and exports that are being written, or whose command was killed. */
  readonly unfinished: readonly string[];
}

export async function findCopies(folder: string): Promise<Copies> {
  const place = await realpath(folder).catch(() => folder);
  const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
  const backups: FoundBackup[] = [];
  const exports: string[] = [];
  const unfinished: string[] = [];
  for (const entry of entries.filter((one) => one.isFile()).slice(0, MOST_FILES)) {
    const file = path.join(place, entry.name);
    if (entry.name.endsWith(UNFINISHED)) {
      unfinished.push(file);
      continue;
    }
    const head = headOf(file);
    const at = head[0] === GZIP[0] && head[1] === GZIP[1] ? await timeOfBackup(file) : null;
    if (at !== null) backups.push({ file, at });
    else if (head[0] === 0x7b && isExport(head)) exports.push(file);
  }
  return { backups, exports, unfinished };
}

function headOf(file: string): Buffer {
  try {
    const fd = openToRead(file);
    try {
      const head = Buffer.alloc(HEAD_BYTES);
      return head.subarray(0, readSync(fd, head, 0, HEAD_BYTES, 0));
    } finally {
      closeSync(fd);
    }
  } catch {
    return Buffer.alloc(0);
  }
}

function isExport(head: Buffer): boolean {
  const [line = ""] = head.toString("utf8").split("\n", 1);
  return typeof parseMemoryLine(line) !== "string";
}

/** @returns null: it is no backup of this version or an older one */
async function timeOfBackup(file: string): Promise<Date | null> {
  const ending = new AbortController();
  try {
    const { at } = await openBackup(file, ending.signal).head();
    return new Date(at);
  } catch {
    return null;
  } finally {
    ending.abort();
  }
}
