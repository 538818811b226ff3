import { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { APIError } from "openai";
import { abandon, drain, streamOf } from "./node-fetch.ts";

/** The last event of a stream, by convention. */
const DONE = "[DONE]";

/**
 * Characters that one event may have, and one line. No server sends as much; without an end, one would fill the heap
 * of all channels.
 */
const MAX_EVENT_LENGTH = 8_000_000;

/**
 * The events of a streamed answer, parsed, until its `[DONE]` or its end. Read here and not by the client: its own
 * reader goes over web streams and copies each event three times.
 * @throws APIError where the server reports an error in mid-stream; SyntaxError where an event is not JSON, or has no end
 */
export async function* chatEvents(response: Response): AsyncGenerator {
  let isDone = false;
  try {
    for await (const { name, data } of serverSentEvents(streamOf(response))) {
      if (data === DONE) {
        isDone = true;
        return;
      }
      const event = parse(data);
      const error = errorIn(event, name);
      if (error !== undefined) throw new APIError(undefined, error, undefined, response.headers);
      yield event;
    }
    isDone = true;
  } finally {
    if (isDone) drain(response);
    else abandon(response);
  }
}

function parse(data: string): unknown {
  try {
    return JSON.parse(data);
  } catch {
    throw new SyntaxError("malformed JSON in the event stream");
  }
}

function errorIn(event: unknown, name: string): object | undefined {
  if (typeof event !== "object" || event === null) return undefined;
  const inner = "error" in event ? event.error : undefined;
  if (name === "error") return typeof inner === "object" && inner !== null ? inner : event;
  if (typeof inner === "string" && inner !== "") return { message: inner };
  return typeof inner === "object" && inner !== null ? inner : undefined;
}

interface ServerSentEvent {
  /** "" where it has none. */
  readonly name: string;
  readonly data: string;
}

/**
 * Server-sent events (HTML standard, 9.2.6), the last one also where the empty line after it is missing.
 * @throws SyntaxError where one is longer than {@link MAX_EVENT_LENGTH}
 */
async function* serverSentEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let name = "";
  let data: string[] = [];
  let length = 0;
  for await (const line of lines(bytes)) {
    if (line === "") {
      if (data.length > 0) yield { name, data: data.join("\n") };
      name = "";
      data = [];
      length = 0;
    } else if (line.startsWith("data:")) {
      data.push(valueOf(line, 5));
      length += line.length;
      refuseEndless(length);
    } else if (line.startsWith("event:")) name = valueOf(line, 6);
  }
  if (data.length > 0) yield { name, data: data.join("\n") };
}

function refuseEndless(length: number): void {
  if (length > MAX_EVENT_LENGTH)
    throw new SyntaxError(`an event of the stream does not end within ${MAX_EVENT_LENGTH} characters`);
}

function valueOf(line: string, from: number): string {
  return line.slice(line[from] === " " ? from + 1 : from);
}

async function* lines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  /** The line that has begun. Only what has come since is searched for its end: one may come byte by byte. */
  let begun = "";
  let heldCr = "";
  for await (const chunk of withoutDestroying(bytes)) {
    const text = heldCr + decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    // A CR at the very end may be half of a line end: it waits for what follows.
    heldCr = text.endsWith("\r") ? "\r" : "";
    const [first = "", ...further] = text.slice(0, text.length - heldCr.length).split(LINE_END);
    begun += first;
    refuseEndless(begun.length);
    for (const line of further) {
      yield begun;
      begun = line;
    }
  }
  yield* (begun + heldCr + decoder.end()).split(LINE_END);
}

const LINE_END = /\r\n?|\n/;

/** Node's streams end their request when a loop over them is left; a connection that is done with can be kept. */
function withoutDestroying(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return bytes instanceof Readable ? bytes.iterator({ destroyOnReturn: false }) : bytes;
}
