import { closeSync, fstatSync, mkdirSync, renameSync, rmSync, statSync, writeSync } from "node:fs";
import path from "node:path";
import { openToAppend } from "../files/write-file.ts";

export interface LogFileOptions {
  readonly path: string;
  /** A line that would make it longer begins a new file. */
  readonly maxBytes: number;
  /** Files that are kept, that of now included: `weir.log`, `weir.log.1` (the one before it), …; 1: none is kept. */
  readonly maxFiles: number;
}

/** The files of a log that may be there, the oldest first. Pure. */
export function logFiles(file: string, maxFiles: number): string[] {
  return [...Array.from({ length: maxFiles - 1 }, (_, index) => `${file}.${maxFiles - 1 - index}`), file];
}

/**
 * A log in a file that is its owner's alone, and that makes room by itself. Written synchronously: what a dying process said last is
 * what one wants to read. A log that can't be written (its disk is full) is no reason to stop: nothing here throws.
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
    // Another process has made room already.
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
      // It is closed, or was never open.
    }
    this.#fd = null;
  }
}
