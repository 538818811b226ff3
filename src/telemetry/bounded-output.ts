import type { Writable } from "node:stream";

/** Most bytes that wait for a reader; further lines are dropped. */
export const MOST_WAITING = 1_048_576;

type Stream = Pick<Writable, "write" | "writableLength" | "destroyed" | "once">;

/**
 * Writes lines to a stream without waiting for its reader. Lines beyond the bound are dropped and counted; once the
 * stream drains, a line reports their number. The stream must not block (see `neverBlock`).
 */
export class BoundedOutput {
  readonly #stream: Stream;
  readonly #wordOf: (dropped: number) => string;
  #dropped = 0;

  /** @param wordOf the line with the number of dropped lines, with its line break */
  constructor(stream: Stream, wordOf: (dropped: number) => string) {
    this.#stream = stream;
    this.#wordOf = wordOf;
  }

  /** @param line with its line break */
  write(line: string): void {
    if (this.#stream.destroyed) return;
    if (this.#dropped > 0 || this.#stream.writableLength > MOST_WAITING) {
      // A full stream drains if its reader continues.
      if (this.#dropped === 0) this.#stream.once("drain", () => this.#sayDropped());
      this.#dropped++;
      return;
    }
    this.#stream.write(line);
  }

  #sayDropped(): void {
    const dropped = this.#dropped;
    this.#dropped = 0;
    this.write(this.#wordOf(dropped));
  }
}

/**
 * Makes a terminal's stream queue unread output. Node's terminal streams block, so a held terminal (Ctrl-S, a suspended
 * window) would stop the process. Pipes and sockets queue by themselves, and files are written at once.
 */
export function neverBlock(stream: NodeJS.WriteStream): void {
  if (!stream.isTTY) return;
  const handle: unknown = Reflect.get(stream, "_handle");
  // Node has no public API for it.
  if (hasSetBlocking(handle)) handle.setBlocking(false);
}

function hasSetBlocking(handle: unknown): handle is { setBlocking(isBlocking: boolean): void } {
  return (
    typeof handle === "object" &&
    handle !== null &&
    "setBlocking" in handle &&
    typeof handle.setBlocking === "function"
  );
}
