/** An event stream of the daemon's page, read as a browser does. */
import assert from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import { text as readText } from "node:stream/consumers";
import { Patience, until } from "./patience.ts";

export interface StreamEvent {
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
  /** Of this or the newest event before; "": none had one. */
  readonly id: string;
}

export interface TestStream extends Disposable {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** Of an answer that is no stream. */
  readonly body: string;
  readonly events: readonly StreamEvent[];
  /** Resolves with the first event of a type, past or future, that meets the condition. */
  readonly next: (type: string, condition?: (data: StreamEvent["data"]) => boolean) => Promise<StreamEvent>;
  /** Resolves when the stream has ended, however. */
  readonly ended: Promise<void>;
}

/** @param isRead false: everything that is sent stays unread */
export async function openStream(
  url: string,
  headers: Readonly<Record<string, string>>,
  isRead = true,
): Promise<TestStream> {
  const sent = request(url, { headers, agent: false });
  sent.end();
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  sent.once("response", resolve).on("error", reject);
  const response = await promise;
  const events: StreamEvent[] = [];
  const isStream = response.headers["content-type"]?.startsWith("text/event-stream") === true;
  const ended = Promise.withResolvers<void>();
  response.once("close", () => ended.resolve()).on("error", () => undefined);
  if (isStream && isRead) {
    const parser = new Parser(events);
    response.setEncoding("utf8").on("data", (piece: string) => parser.take(piece));
  }
  return {
    status: response.statusCode ?? 0,
    headers: response.headers,
    body: isStream ? "" : await readText(response),
    events,
    async next(type, condition = () => true) {
      const find = (): StreamEvent | undefined =>
        events.find(({ event, data }) => event === type && condition(data));
      await until(
        `such event "${type}" in the stream`,
        () => find() !== undefined,
        new Patience(() => events.length),
      );
      const found = find();
      assert.ok(found !== undefined);
      return found;
    },
    ended: ended.promise,
    [Symbol.dispose]: () => void response.destroy(),
  };
}

class Parser {
  readonly #events: StreamEvent[];
  #rest = "";
  #id = "";

  constructor(events: StreamEvent[]) {
    this.#events = events;
  }

  take(piece: string): void {
    const blocks = (this.#rest + piece).split("\n\n");
    this.#rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const fields = Object.fromEntries(
        block.split("\n").map((line) => {
          const at = line.indexOf(":");
          return [line.slice(0, at), line.slice(at + 1).trimStart()];
        }),
      );
      this.#id = fields["id"] ?? this.#id;
      const { event, data } = fields;
      if (event !== undefined && data !== undefined)
        this.#events.push({ event, data: JSON.parse(data), id: this.#id });
    }
  }
}
