import { realpathSync, statSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { readText, SHORT } from "../files/read-file.ts";

/** An operation that git is in the middle of. */
export interface GitWork {
  /** In words: "a merge". */
  readonly what: string;
  /** Git's file or folder that shows it. */
  readonly mark: string;
}

const LOCK = "index.lock";
/** Each lasts until the person who began the operation ends it. */
const MARKS: readonly (readonly [mark: string, what: string])[] = [
  ["MERGE_HEAD", "a merge"],
  ["rebase-merge", "a rebase"],
  ["rebase-apply", "a rebase"],
  ["CHERRY_PICK_HEAD", "a cherry-pick"],
  ["REVERT_HEAD", "a revert"],
];
/** Age of Git's lock, ms, from which on it counts as left by a killed git: a running command holds it for less. */
const LOCK_MS = 60_000;

/** Finds the conflict marks that git leaves in a text. Pure. @returns the line of the first mark, from 1; null: none */
export function conflictLine(text: string): number | null {
  const index = text.split("\n").findIndex((line) => /^(?:<{7}|>{7})(?:\s|$)/.test(line));
  return index < 0 ? null : index + 1;
}

/**
 * Reads the state of the repository that holds a file. Must not throw.
 * @returns null for no operation; `staleLock`: the path of a lock that is too old to be held, or null
 */
export function readGitState(
  file: string,
  now: number,
): { readonly work: GitWork | null; readonly staleLock: string | null } {
  const folder = gitFolderOf(realFolder(file));
  if (folder === null) return { work: null, staleLock: null };
  const lock = join(folder, LOCK);
  const lockedAt = changedAt(lock);
  // A clock that was set back must not keep a lock young forever.
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

/** @returns git's folder for the work tree around a folder; null: there is no work tree */
function gitFolderOf(folder: string): string | null {
  for (let at = folder; ; at = dirname(at)) {
    const found = join(at, ".git");
    try {
      if (statSync(found).isDirectory()) return found;
      const named = /^gitdir: (.+)/.exec(readText(found, SHORT))?.[1];
      if (named !== undefined) return resolve(at, named.trim());
    } catch {
      // A parent folder may have it.
    }
    if (dirname(at) === at) return null;
  }
}

function changedAt(path: string): number | null {
  try {
    return statSync(path).mtimeMs;
  } catch {
    return null;
  }
}
