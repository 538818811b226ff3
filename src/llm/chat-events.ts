import { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { APIError } from "openai";
import { abandon, drain, streamOf } from "./node-fetch.ts";

/** The last event of a stream, by convention. */
const DONE = "[DONE]";

/**
 * The events of a streamed answer, parsed, until its `[DONE]` or its end. Read here and not by the client: its own
 * reader goes over web streams and copies each event three times.
 * @throws APIError where the server reports an error in mid-stream; SyntaxError where an event is not JSON
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

/** Server-sent events (HTML standard, 9.2.6), the last one also where the empty line after it is missing. */
async function* serverSentEvents(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<ServerSentEvent> {
  let name = "";
  let data: string[] = [];
  for await (const line of lines(bytes)) {
    if (line === "") {
      if (data.length > 0) yield { name, data: data.join("\n") };
      name = "";
      data = [];
    } else if (line.startsWith("data:")) data.push(valueOf(line, 5));
    else if (line.startsWith("event:")) name = valueOf(line, 6);
  }
  if (data.length > 0) yield { name, data: data.join("\n") };
}

function valueOf(line: string, from: number): string {
  return line.slice(line[from] === " " ? from + 1 : from);
}

async function* lines(bytes: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  let rest = "";
  for await (const chunk of withoutDestroying(bytes)) {
    const complete = (
      rest + decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength))
    ).split(LINE_END);
    // The last one may go on; a CR at its very end may be half of a line end.
    rest = complete.pop() ?? "";
    yield* complete;
  }
  const last = (rest + decoder.end()).split(/\r\n?|\n/);
  yield* last;
}

/** A CR counts where something follows: at the end of a chunk, the LF that belongs to it may still come. */
const LINE_END = /\r\n|\n|\r(?!$)/;

/** Node's streams end their request when a loop over them is left; a connection that is done with can be kept. */
function withoutDestroying(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return bytes instanceof Readable ? bytes.iterator({ destroyOnReturn: false }) : bytes;
}
