import { closeSync, constants, fstatSync, openSync, readSync, type Stats, statSync } from "node:fs";
import { errorCode, isMissingFile, OperatorError } from "../core/errors.ts";

/**
 * Reads files that other people name or write: regular files alone, also by a link. A pipe, a socket or a device may
 * never answer, and may never end.
 */

/** Most bytes of a file that holds a word: a key, a token, a number. */
export const SHORT = 4096;
/** Most bytes of a file of lines that a program reads whole. */
export const LONG = 256 * 1024 * 1024;

/** Not to wait for the writer of a pipe that took the file's place since the look at it. */
const READ = constants.O_RDONLY | constants.O_NONBLOCK;
const CHUNK_BYTES = 65_536;

/** A file is there, and cannot be read. */
export class UnreadableFileError extends OperatorError {
  /** Without its path: "is a pipe, not a file". */
  readonly why: string;

  constructor(path: string, why: string, options?: ErrorOptions) {
    super(`${path} ${why}.`, options);
    this.why = why;
  }
}

/**
 * Reads a file whole.
 * @param most its longest, in bytes
 * @throws UnreadableFileError; an error of the system if there is no such file (`isMissingFile`)
 */
export function readBytes(path: string, most: number): Buffer {
  const fd = openToRead(path);
  try {
    return readWhole(fd, path, most);
  } catch (error) {
    throw unreadable(path, error);
  } finally {
    closeSync(fd);
  }
}

/** The same as UTF-8. */
export function readText(path: string, most: number): string {
  return readBytes(path, most).toString("utf8");
}

/**
 * Opens a file to be read piece by piece. Checks the path before opening, since merely opening some devices has an
 * effect, and the open file after it, since the path may point elsewhere by then.
 * @throws UnreadableFileError; an error of the system if there is no such file
 */
export function openToRead(path: string): number {
  try {
    assertRegular(statSync(path), path);
    const fd = openSync(path, READ);
    try {
      assertRegular(fstatSync(fd), path);
      return fd;
    } catch (error) {
      closeSync(fd);
      throw error;
    }
  } catch (error) {
    throw unreadable(path, error);
  }
}

/** @throws UnreadableFileError if it is not a regular file */
export function assertRegular(
  found: Pick<Stats, "isFile" | "isDirectory" | "isFIFO" | "isSocket">,
  path: string,
): void {
  if (!found.isFile()) throw new UnreadableFileError(path, `is a ${kindOf(found)}, not a file`);
}

function kindOf(found: Pick<Stats, "isDirectory" | "isFIFO" | "isSocket">): string {
  if (found.isDirectory()) return "folder";
  if (found.isFIFO()) return "pipe";
  return found.isSocket() ? "socket" : "device";
}

/**
 * Reads to the end, and not to the size: a file may grow, and those of /proc have none.
 * @throws UnreadableFileError if it is longer than `most`; errors of the file system
 */
export function readWhole(fd: number, path: string, most: number): Buffer {
  const { size } = fstatSync(fd);
  if (size > most) throw new UnreadableFileError(path, `is ${size} bytes long; at most ${most} are read`);
  let bytes = Buffer.allocUnsafe(Math.min(Math.max(size, CHUNK_BYTES), most) + 1);
  let length = 0;
  for (;;) {
    const read = readSync(fd, bytes, length, bytes.length - length, length);
    if (read === 0) return bytes.subarray(0, length);
    length += read;
    if (length > most) throw new UnreadableFileError(path, `is longer than ${most} bytes; no more are read`);
    if (length < bytes.length) continue;
    const larger = Buffer.allocUnsafe(Math.min(bytes.length * 2, most + 1));
    bytes.copy(larger);
    bytes = larger;
  }
}

function unreadable(path: string, error: unknown): unknown {
  if (error instanceof UnreadableFileError || isMissingFile(error)) return error;
  const code = errorCode(error);
  const isForbidden = code === "EACCES" || code === "EPERM";
  const why = isForbidden ? ": permission denied" : ` (${code || "unknown reason"})`;
  return new UnreadableFileError(path, `cannot be read${why}`, { cause: error });
}
