import type { ServerResponse } from "node:http";

/** UTF-16 units that one reader may leave unread. Beyond them its stream is cut; it resumes where it was. */
const MOST_UNREAD = 1_000_000;
/** Units unread beyond which news that will be outdated soon is left out. */
const BEHIND = 64_000;

/** An open answer of events. Nobody waits for its reader: what is written is sent, or the stream is cut. */
export class EventStream {
  readonly #outgoing: ServerResponse;

  /** Sends the head of the answer. */
  constructor(outgoing: ServerResponse, headers: Readonly<Record<string, string>>) {
    this.#outgoing = outgoing;
    outgoing.writeHead(200, {
      ...headers,
      "content-type": "text/event-stream; charset=utf-8",
      "cache-control": "no-store",
    });
    outgoing.flushHeaders();
    // Its end is told by `close`; without a listener an error would end the process.
    outgoing.on("error", () => undefined);
  }

  /** @param onClosed called once, however it ends */
  onClosed(listener: () => void): void {
    if (this.#outgoing.destroyed) listener();
    else this.#outgoing.once("close", listener);
  }

  /** @param json one line @param id the position with which a cut stream resumes; default: as before */
  send(event: string, json: string, id?: string): void {
    this.#write(`${id === undefined ? "" : `id: ${id}\n`}event: ${event}\ndata: ${json}\n\n`);
  }

  /** Keeps the connection from counting as idle. */
  beat(): void {
    this.#write(":\n\n");
  }

  /** The reader takes less than it is sent. */
  get isBehind(): boolean {
    return this.#outgoing.writableLength > BEHIND;
  }

  #write(text: string): void {
    if (this.#outgoing.destroyed || this.#outgoing.writableEnded) return;
    this.#outgoing.write(text);
    if (this.#outgoing.writableLength > MOST_UNREAD) this.#outgoing.destroy();
  }

  /** Ends it in order. Nothing is sent any more. */
  close(): void {
    this.#outgoing.end();
  }
}
