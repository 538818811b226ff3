import type { Socket } from "node:net";
import { LineReader } from "../line-reader.ts";

/** Texts that the other side does not read, UTF-8 bytes: a chat that was stopped (Ctrl-Z) for so long is cut off, and attaches again. */
const MAX_UNREAD = 32 * 1024 * 1024;
/** Longest line, in UTF-16 units. */
export const MAX_LINE_LENGTH = 64 * 1024 * 1024;

/** JSON values over a socket, one a line. A value that was handed over need not have arrived. */
export class JsonLines implements Disposable {
  readonly #socket: Socket;
  readonly #reader: LineReader;
  /** Resolves when the connection is over, whoever ended it; never rejects. */
  readonly closed: Promise<void>;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.#reader = new LineReader(socket, MAX_LINE_LENGTH);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.on("close", () => resolve());
    // What was wrong with it is nobody's matter: the close follows.
    socket.on("error", () => undefined);
  }

  /** @returns `broken`: the next line is no JSON, or too long; null: the connection is over */
  async next(): Promise<{ readonly value: unknown } | "broken" | null> {
    const line = await this.#reader.next();
    if (line === null) return null;
    if (line.type === "too_long") return "broken";
    try {
      return { value: JSON.parse(line.text) };
    } catch {
      return "broken";
    }
  }

  /** @returns false: the connection is over, or the other side has not read for long, and is cut off */
  send(value: object): boolean {
    if (!this.#socket.writable) return false;
    this.#socket.write(`${JSON.stringify(value)}\n`);
    if (this.#socket.writableLength <= MAX_UNREAD) return true;
    this[Symbol.dispose]();
    return false;
  }

  /** Ends the connection behind what was handed over. */
  end(): void {
    this.#reader.close();
    this.#socket.end();
    // It reads no more, and would not see the other side's end.
    this.#socket.resume();
  }

  /** Ends the connection at once. */
  [Symbol.dispose](): void {
    this.#reader.close();
    this.#socket.destroy();
  }
}
