import { randomBytes } from "node:crypto";
import {
  chmodSync,
  chownSync,
  closeSync,
  constants,
  fstatSync,
  openSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { type FileHandle, link, lstat, open, rename, rm } from "node:fs/promises";
import { errorCode, errorMessage, OperatorError, WeirError } from "../core/errors.ts";
import { assertRegular } from "./read-file.ts";

/** Writes files with people's words or secrets: readable by their owner alone, and never into a file of somebody else. */

const PRIVATE = 0o600;

/**
 * Puts a text in the place of a file, or where there is none: whole or not at all. A link in its place is replaced, and
 * not followed.
 * @param options.mode default: its owner's alone
 * @param options.owner default: the account of this process
 */
export function replaceFile(
  path: string,
  text: string | Buffer,
  options: { readonly mode?: number; readonly owner?: { readonly uid: number; readonly gid: number } } = {},
): void {
  const draft = `${path}.${randomBytes(6).toString("hex")}`;
  const { mode = PRIVATE, owner } = options;
  try {
    writeFileSync(draft, text, { mode: PRIVATE, flag: "wx" });
    if (owner !== undefined) chownSync(draft, owner.uid, owner.gid);
    // The process' mask takes from what is asked for.
    chmodSync(draft, mode);
    renameSync(draft, path);
  } catch (error) {
    rmSync(draft, { force: true });
    throw error;
  }
}

/**
 * Opens a file to be added to, and makes it where there is none. A pipe is not waited for.
 * @param isLinkMeant whether to follow a symbolic link; false: it is refused
 * @throws an error of the system, or UnreadableFileError where it is no regular file
 */
export function openToAppend(path: string, { isLinkMeant }: { readonly isLinkMeant: boolean }): number {
  const flags = constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NONBLOCK;
  const fd = openSync(path, isLinkMeant ? flags : flags | constants.O_NOFOLLOW, PRIVATE);
  try {
    assertRegular(fstatSync(fd), path);
    return fd;
  } catch (error) {
    closeSync(fd);
    throw error;
  }
}

/** The end of the name of a file that {@link writeNewFile} still writes, or left when it was killed. */
export const UNFINISHED = ".unfinished";

/**
 * Writes a new file of its owner's alone, whole or not at all: under another name beside it first. It never replaces a file, and follows
 * no link.
 * @param work writes to the file, and leaves it open
 * @throws OperatorError if there is such a file already, or it cannot be written; any WeirError of `work`
 */
export async function writeNewFile<Result>(
  file: string,
  work: (handle: FileHandle, unfinished: string) => Promise<Result>,
): Promise<Result> {
  if ((await lstat(file).catch(() => null)) !== null) throw isThere(file);
  const unfinished = `${file}.${randomBytes(6).toString("hex")}${UNFINISHED}`;
  try {
    const handle = await open(unfinished, "wx", PRIVATE);
    let result: Result;
    try {
      result = await work(handle, unfinished);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await link(unfinished, file).catch(async (error: unknown) => {
      if (errorCode(error) === "EEXIST") throw isThere(file);
      // A disk without hard links.
      await rename(unfinished, file);
    });
    return result;
  } catch (error) {
    if (error instanceof WeirError) throw error;
    throw new OperatorError(`${file} cannot be written: ${errorMessage(error)}.`, { cause: error });
  } finally {
    await rm(unfinished, { force: true });
  }
}

function isThere(file: string): OperatorError {
  return new OperatorError(`${file} is there already: name another file.`);
}
