import { randomUUID } from "node:crypto";
import type { BigIntStats } from "node:fs";
import { constants, type FileHandle, link, lstat, mkdir, open, readdir, rename, rm } from "node:fs/promises";
import { pause } from "../../async/clock.ts";
import { basename, dirname, join } from "node:path";
import { errorCode, isMissingFile } from "../../core/errors.ts";
import { readWhole, UnreadableFileError } from "../../files/read-file.ts";

/** Attempts at a change while another program changes the file, and the longest wait between them, ms. */
const MAX_ATTEMPTS = 20;
const REST_MS = 20;
/** Time for an editor with the open file to write into it, ms. */
const EDITOR_MS = 100;
/** Notes are never larger. */
const MAX_BYTES = 1_048_576;

/**
 * Changes a text file that a person may edit at the same time: a reader sees the old text or the new one, never a part,
 * and an editor's saved text stays. The one gap is an editor that replaces the file in the microseconds between the
 * last check and the rename.
 * @param change gets "" for a missing file; returns the same text for no change
 * @throws errors of the file system, also for a link; an Error if it is no file, no UTF-8, too long, or changes all the
 *   time
 */
export async function changeFile(path: string, change: (text: string) => string): Promise<void> {
  for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
    await using found = await openExisting(path);
    const isDone = found === null ? await create(path, change("")) : await replace(path, found, change);
    if (isDone) return;
    await pause(Math.ceil(Math.random() * REST_MS));
  }
  throw new Error("the file changes all the time");
}

async function openExisting(path: string): Promise<FileHandle | null> {
  try {
    // Links are not followed: their targets are not ours to replace. Opening a pipe without a writer would block
    // forever.
    return await open(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    if (isMissingFile(error)) return null;
    throw error;
  }
}

/** @returns false: another program has created the file */
async function create(path: string, text: string): Promise<boolean> {
  if (text === "") return true;
  await mkdir(dirname(path), { recursive: true, mode: 0o700 });
  const temporary = await writeBeside(path, text, OWN_MODE);
  try {
    // Unlike a rename, this does not replace a file.
    await link(temporary, path);
    return true;
  } catch (error) {
    if (errorCode(error) === "EEXIST") return false;
    throw error;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** @returns false: another program has changed the file, and its text must be changed instead */
async function replace(path: string, file: FileHandle, change: (text: string) => string): Promise<boolean> {
  const before = await file.stat({ bigint: true });
  if (!before.isFile()) throw new Error("it is no file");
  const text = textOf(path, file);
  const next = change(text);
  if (next === text) return true;
  const temporary = await writeBeside(path, next, Number(before.mode & 0o777n));
  try {
    if (!(await isSameFile(path, before))) return false;
    await rename(temporary, path);
  } finally {
    await rm(temporary, { force: true });
  }
  await rescue(path, file, { before, next, change });
  return true;
}

/** An editor may write into the replaced file, which is still open here: its text is carried over. */
async function rescue(
  path: string,
  file: FileHandle,
  parts: { readonly before: BigIntStats; readonly next: string; readonly change: (text: string) => string },
): Promise<void> {
  const { before, next, change } = parts;
  await pause(EDITOR_MS);
  const after = await file.stat({ bigint: true });
  if (after.mtimeNs === before.mtimeNs && after.size === before.size) return;
  const saved = change(textOf(path, file));
  await changeFile(path, (ours) => (ours === next ? saved : `${ours}${linesOnlyIn(saved, next)}`));
}

/** Lines that an editor's text has and ours lacks, after both have changed. */
function linesOnlyIn(saved: string, ours: string): string {
  const known = new Set(ours.split("\n"));
  return saved
    .split("\n")
    .filter((line) => !known.has(line))
    .map((line) => `${line}\n`)
    .join("");
}

async function isSameFile(path: string, before: BigIntStats): Promise<boolean> {
  await using file = await openExisting(path);
  if (file === null) return false;
  const now = await file.stat({ bigint: true });
  return now.ino === before.ino && now.mtimeNs === before.mtimeNs && now.size === before.size;
}

/** The error names no path, since a model reads it. */
function textOf(path: string, { fd }: FileHandle): string {
  let bytes: Buffer;
  try {
    bytes = readWhole(fd, path, MAX_BYTES);
  } catch (error) {
    if (!(error instanceof UnreadableFileError)) throw error;
    throw new Error(`the file is longer than ${MAX_BYTES} bytes`, { cause: error });
  }
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
}

/** Channel content is readable only by the account that runs Weir, unless the operator changes the mode. */
const OWN_MODE = 0o600;

/** The name of a text that is about to take its file's place. */
const DRAFT = /^\..+\.[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * Deletes what a killed process has left beside the files of a folder, at every depth: texts that never took their file's place.
 * @param before only those that were written before that moment: another process may still be writing
 * @throws errors of the file system
 */
export async function removeDrafts(folder: string, before: Date): Promise<void> {
  const found = await readdir(folder, { recursive: true, withFileTypes: true }).catch((error: unknown) => {
    if (isMissingFile(error)) return [];
    throw error;
  });
  for (const entry of found) {
    if (!entry.isFile() || !DRAFT.test(entry.name)) continue;
    const draft = join(entry.parentPath, entry.name);
    const state = await lstat(draft).catch(() => null);
    if (state !== null && state.mtime < before) await rm(draft, { force: true });
  }
}

async function writeBeside(path: string, text: string, mode: number): Promise<string> {
  const temporary = join(dirname(path), `.${basename(path)}.${randomUUID()}`);
  await using file = await open(temporary, "wx", mode);
  // The process' mask may have reduced the requested mode.
  await file.chmod(mode);
  await file.writeFile(text);
  await file.sync();
  return temporary;
}
