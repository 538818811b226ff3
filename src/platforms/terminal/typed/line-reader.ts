import { StringDecoder } from "node:string_decoder";
import type { Readable } from "node:stream";

/** In UTF-16 units. Longer lines are refused: a stream without line ends must not fill the memory. */
export const MAX_LINE_LENGTH = 64 * 1024 * 1024;

export type InputLine =
  | { readonly type: "line"; readonly number: number; readonly text: string }
  | { readonly type: "too_long"; readonly number: number };

const readers = new WeakMap<Readable, LineReader>();

/**
 * Reads the lines of a stream one at a time. Without a request, the stream is paused once a chunk's lines are waiting, so its
 * writer is held back. Unlike node:readline it is fast on lines of many megabytes, and unlike `for await` over the stream it
 * can stop without destroying it.
 */
export class LineReader {
  readonly #input: Readable;
  readonly #maxLength: number;
  readonly #decoder = new StringDecoder("utf8");
  readonly #lines: InputLine[] = [];
  #pieces: string[] = [];
  #length = 0;
  #number = 0;
  #ended = false;
  #isClosed = true;
  #wake: (() => void) | null = null;

  constructor(input: Readable, maxLength: number = MAX_LINE_LENGTH) {
    this.#input = input;
    this.#maxLength = maxLength;
    input.on("error", this.#onEnd);
    this.#open();
  }

  /** The reader of a stream. After it is closed, the next call continues where it has stopped. */
  static of(input: Readable): LineReader {
    const reader = readers.get(input) ?? new LineReader(input);
    readers.set(input, reader);
    reader.#open();
    return reader;
  }

  #open(): void {
    if (!this.#isClosed) return;
    this.#isClosed = false;
    const input = this.#input;
    input.pause();
    input.on("data", this.#onData);
    input.on("end", this.#onEnd);
    input.on("close", this.#onEnd);
    if (input.readableEnded || input.destroyed) this.#onEnd();
  }

  /** The next line without its line end; null at the end of the input and after `close`. One caller at a time. */
  async next(): Promise<InputLine | null> {
    while (this.#lines.length === 0 && !this.#ended && !this.#isClosed) {
      const woken = new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#input.resume();
      await woken;
    }
    return this.#isClosed ? null : (this.#lines.shift() ?? null);
  }

  /** Reads no further; the stream stays open. */
  close(): void {
    this.#input.off("data", this.#onData);
    this.#input.off("end", this.#onEnd);
    this.#input.off("close", this.#onEnd);
    this.#input.pause();
    this.#isClosed = true;
    this.#wake?.();
  }

  readonly #onData = (chunk: Buffer | string): void => {
    const text = typeof chunk === "string" ? chunk : this.#decoder.write(chunk);
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      this.#take(text.slice(start, end));
      this.#endLine();
      start = end + 1;
    }
    this.#take(text.slice(start));
    if (this.#lines.length > 0) {
      this.#input.pause();
      this.#wake?.();
    }
  };

  readonly #onEnd = (): void => {
    if (this.#ended) return;
    this.#take(this.#decoder.end());
    if (this.#length > 0) this.#endLine();
    this.#ended = true;
    this.#wake?.();
  };

  #take(piece: string): void {
    this.#length += piece.length;
    if (this.#length > this.#maxLength) this.#pieces = [];
    else if (piece.length > 0) this.#pieces.push(piece);
  }

  #endLine(): void {
    this.#number += 1;
    const number = this.#number;
    if (this.#length > this.#maxLength) this.#lines.push({ type: "too_long", number });
    else this.#lines.push({ type: "line", number, text: this.#cleanLine(this.#pieces.join("")) });
    this.#pieces = [];
    this.#length = 0;
  }

  #cleanLine(text: string): string {
    const withoutReturn = text.endsWith("\r") ? text.slice(0, -1) : text;
    const hasByteOrderMark = this.#number === 1 && withoutReturn.startsWith("\uFEFF");
    return hasByteOrderMark ? withoutReturn.slice(1) : withoutReturn;
  }
}
