import { realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { readText, SHORT } from "../files/read-file.ts";

/** What git is doing in a repository. */
export interface GitWork {
  /** In words: "a merge". */
  readonly what: string;
  /** The file or folder of git that shows it. */
  readonly mark: string;
}

export interface GitState {
  /** Null: nothing. */
  readonly work: GitWork | null;
  /** The path of a lock that is too old to be held; null: there is none. */
  readonly staleLock: string | null;
}

const LOCK = "index.lock";
/** Each stays until the person who began it ends it. */
const MARKS: readonly (readonly [mark: string, what: string])[] = [
  ["MERGE_HEAD", "a merge"],
  ["rebase-merge", "a rebase"],
  ["rebase-apply", "a rebase"],
  ["CHERRY_PICK_HEAD", "a cherry-pick"],
  ["REVERT_HEAD", "a revert"],
];
/** Git holds the lock for the time of one command; a git that was killed leaves it. */
const LOCK_MS = 60_000;

/** Looks at the repository that holds a file. Must not throw. */
export function readGitState(file: string, now: number): GitState {
  const folder = gitFolderOf(realFolder(file));
  if (folder === null) return { work: null, staleLock: null };
  const lock = join(folder, LOCK);
  const lockedAt = changedAt(lock);
  // A clock that was set back must not make a lock young for ever.
  const isStale = lockedAt !== null && Math.abs(now - lockedAt) > LOCK_MS;
  const marks = MARKS.map(([name, what]) => ({ mark: join(folder, name), what }));
  const locked = lockedAt !== null && !isStale ? { mark: lock, what: "a command" } : undefined;
  const work = marks.find(({ mark }) => changedAt(mark) !== null) ?? locked ?? null;
  return { work, staleLock: isStale ? lock : null };
}

function realFolder(file: string): string {
  try {
    return dirname(realpathSync(file));
  } catch {
    return dirname(file);
  }
}

/** @returns where git keeps its state of the work tree around a folder; null: it is in none */
function gitFolderOf(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    const found = join(at, ".git");
    try {
      if (statSync(found).isDirectory()) return found;
      const named = /^gitdir: (.+)/.exec(readText(found, SHORT))?.[1];
      if (named !== undefined) return resolve(at, named.trim());
    } catch {
      // The folder above may have it.
    }
    if (dirname(at) === at) return null;
  }
}

/** @returns null: it is not there */
function changedAt(path: string): number | null {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return null;
  }
}
