import { closeSync, fstatSync, readSync, statSync } from "node:fs";
import { StringDecoder } from "node:string_decoder";
import { isMissingFile } from "../core/errors.ts";
import { openToRead } from "../files/read-file.ts";

const CHUNK_BYTES = 65_536;

/** Reads a log file from its beginning while it is written: it grows, and is replaced by another file. */
export class LogTail implements Disposable {
  readonly #file: string;
  readonly #buffer = Buffer.alloc(CHUNK_BYTES);
  #fd: number | null;
  #at = 0;
  #decoder = new StringDecoder();
  /** The beginning of an unfinished line. */
  #rest = "";

  constructor(file: string) {
    this.#file = file;
    this.#fd = opened(file);
  }

  get isOpen(): boolean {
    return this.#fd !== null;
  }

  /** Whether it is the present file of that name. */
  isOf(file: string): boolean {
    return this.#fd !== null && statSync(file, { throwIfNoEntry: false })?.ino === fstatSync(this.#fd).ino;
  }

  /** Reads the complete new lines; if another file has replaced this one, the rest of this one first. */
  read(take: (line: string) => void): void {
    this.#readOn(take);
    if (this.isOf(this.#file)) return;
    const next = opened(this.#file);
    if (next === null) return;
    // Lines written before the replacement.
    this.#readOn(take);
    this[Symbol.dispose]();
    this.#fd = next;
    this.#begin();
    this.#readOn(take);
  }

  [Symbol.dispose](): void {
    if (this.#fd !== null) closeSync(this.#fd);
    this.#fd = null;
  }

  #begin(): void {
    [this.#at, this.#decoder, this.#rest] = [0, new StringDecoder(), ""];
  }

  #readOn(take: (line: string) => void): void {
    if (this.#fd === null) return;
    if (fstatSync(this.#fd).size < this.#at) this.#begin();
    for (;;) {
      const bytes = readSync(this.#fd, this.#buffer, 0, CHUNK_BYTES, this.#at);
      if (bytes === 0) return;
      this.#at += bytes;
      const lines = (this.#rest + this.#decoder.write(this.#buffer.subarray(0, bytes))).split("\n");
      this.#rest = lines.pop() ?? "";
      lines.forEach(take);
    }
  }
}

/** @returns null: no such file */
function opened(file: string): number | null {
  try {
    return openToRead(file);
  } catch (error) {
    if (isMissingFile(error)) return null;
    throw error;
  }
}
