import { closeSync, fstatSync, mkdirSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import path from "node:path";
import { openToAppend } from "../files/write-file.ts";

export interface LogFileOptions {
  readonly path: string;
  /** A line that would exceed this size begins a new file. */
  readonly maxBytes: number;
  /** Kept files, with the current one: `weir.log`, `weir.log.1` (the one before it), …; 1: no older one. */
  readonly maxFiles: number;
}

/** The possible files of a log, the oldest first. Pure. */
export function logFiles(file: string, maxFiles: number): string[] {
  return [...Array.from({ length: maxFiles - 1 }, (_, index) => `${file}.${maxFiles - 1 - index}`), file];
}

/**
 * A log in a file that only its owner can read, with a bounded size. Written synchronously, so that the last lines of a
 * dying process are in it. A failure to write (a full disk) must not stop the daemon: nothing here throws.
 */
export class LogFile {
  readonly #options: LogFileOptions;
  #fd: number | null = null;
  #bytes = 0;

  constructor(options: LogFileOptions) {
    this.#options = options;
  }

  /** @param line with its line break */
  write(line: string): void {
    try {
      const bytes = Buffer.from(line);
      this.#makeRoomFor(bytes.length);
      this.#fd ??= this.#open();
      this.#bytes += bytes.length;
      for (let at = 0; at < bytes.length;) at += writeSync(this.#fd, bytes, at);
    } catch {
      this.#close();
    }
  }

  #makeRoomFor(bytes: number): void {
    this.#fd ??= this.#open();
    if (this.#bytes === 0 || this.#bytes + bytes <= this.#options.maxBytes) return;
    const isOurs = this.#isStillThere();
    this.#close();
    // Another process has rotated it already.
    if (!isOurs) return;
    const files = logFiles(this.#options.path, this.#options.maxFiles);
    rmSync(files[0] ?? "", { force: true });
    for (const [index, file] of files.entries()) {
      const older = files[index - 1];
      if (older !== undefined && statSync(file, { throwIfNoEntry: false }) !== undefined)
        renameSync(file, older);
    }
  }

  #isStillThere(): boolean {
    if (this.#fd === null) return false;
    return fstatSync(this.#fd).ino === statSync(this.#options.path, { throwIfNoEntry: false })?.ino;
  }

  #open(): number {
    mkdirSync(path.dirname(this.#options.path), { recursive: true });
    const fd = openToAppend(this.#options.path, { isLinkMeant: true });
    this.#bytes = fstatSync(fd).size;
    return fd;
  }

  #close(): void {
    try {
      if (this.#fd !== null) closeSync(this.#fd);
    } catch {
      // Closed, or never opened.
    }
    this.#fd = null;
  }
}
