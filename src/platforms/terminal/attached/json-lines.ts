import type { Socket } from "node:net";
import { LineReader } from "../typed/line-reader.ts";

/** Longest line, in UTF-16 units. */
export const MAX_LINE_LENGTH = 64 * 1024 * 1024;
/** How long the other side may take to read what was handed over before the end, ms. */
const END_MS = 2000;

/** JSON values over a socket, one a line. A value that was handed over need not have arrived. */
export class JsonLines implements Disposable {
  readonly #socket: Socket;
  readonly #reader: LineReader;
  readonly #maxUnread: number;
  /** Resolves when the connection is over, whoever ended it; never rejects. */
  readonly closed: Promise<void>;

  /** @param maxUnread so many UTF-8 bytes may wait that the other side does not read: with more it is cut off. Default: any number */
  constructor(socket: Socket, maxUnread = Number.POSITIVE_INFINITY) {
    this.#socket = socket;
    this.#maxUnread = maxUnread;
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
    // By what waits already: one long text is no sign that nobody reads.
    if (this.#socket.writableLength > this.#maxUnread) {
      this[Symbol.dispose]();
      return false;
    }
    this.#socket.write(`${JSON.stringify(value)}\n`);
    return true;
  }

  /** Ends the connection behind what was handed over, and in a moment in any case: a process that was stopped (Ctrl-Z) reads nothing. */
  end(): void {
    this.#reader.close();
    this.#socket.end();
    // It reads no more, and would not see the other side's end.
    this.#socket.resume();
    const late = setTimeout(() => this.#socket.destroy(), END_MS).unref();
    void this.closed.then(() => clearTimeout(late));
  }

  /** Ends the connection at once. */
  [Symbol.dispose](): void {
    this.#reader.close();
    this.#socket.destroy();
  }
}
