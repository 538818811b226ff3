import { jsonOf } from "../../../core/json.ts";
import type { Socket } from "node:net";
import type { z } from "zod";
import { LineReader } from "../../terminal/typed/line-reader.ts";

/** Longest wait for the other side to read the last output before the end, ms. */
const END_MS = 2000;

/** JSON values over a socket, one a line. A written value need not have arrived. */
export class JsonLines implements Disposable {
  readonly #socket: Socket;
  readonly #reader: LineReader;
  readonly #maxUnread: number;
  /** Resolves when the connection is closed by either side; never rejects. */
  readonly closed: Promise<void>;

  /** @param maxUnread most UTF-8 bytes that the other side may leave unread; with more it is cut off. Default: no limit */
  constructor(socket: Socket, maxUnread = Number.POSITIVE_INFINITY) {
    this.#socket = socket;
    this.#maxUnread = maxUnread;
    this.#reader = new LineReader(socket);
    const { promise, resolve } = Promise.withResolvers<void>();
    this.closed = promise;
    socket.on("close", () => resolve());
    // The error itself is of no interest: the close follows.
    socket.on("error", () => undefined);
  }

  /** @returns undefined: the next line is no JSON of this schema, or too long; null: the connection is over */
  async next<Schema extends z.ZodType>(schema: Schema): Promise<z.output<Schema> | undefined | null> {
    const line = await this.#reader.next();
    if (line === null) return null;
    if (line.type === "too_long") return undefined;
    return schema.safeParse(jsonOf(line.text)).data;
  }

  /** @returns false: the connection is over, or the other side has stopped reading, and is cut off */
  send(value: object): boolean {
    if (!this.#socket.writable) return false;
    // Counts only earlier output: one long text does not prove that the other side has stopped reading.
    if (this.#socket.writableLength > this.#maxUnread) {
      this[Symbol.dispose]();
      return false;
    }
    this.#socket.write(`${JSON.stringify(value)}\n`);
    return true;
  }

  /** Closes the connection after the pending output, and soon in any case: a suspended process (Ctrl-Z) reads nothing. */
  end(): void {
    this.#reader.close();
    this.#socket.end();
    // Reading stopped above; without this the other side's end would not be noticed.
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
