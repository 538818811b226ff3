import { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { APIError } from "openai";
import { TimeSlice } from "../../async/cooperative.ts";
import { abandon, drain, streamOf } from "../http/node-fetch.ts";

/** The last event of a stream, by convention. */
const DONE = "[DONE]";

/**
 * Limit, in characters, of one event and of one line. No server sends as much; an endless event would fill
 * the heap of all channels.
 */
const MAX_EVENT_LENGTH = 8_000_000;

/**
 * Limit of lines that are no part of an answer; {@link MAX_EVENT_LENGTH} limits their characters. An hour of
 * forty keep-alives a second passes. 30 MB of line ends, which took 6 s of processor time, do not.
 */
const MAX_EMPTY_LINES = 200_000;
/** Lines that an event costs beside its own, for it is parsed: 30,000 empty events may come. */
const EVENT_LINES = 4;
/** Lines that an event of the answer refunds beside its own: its name, its id, the keep-alives before it. */
const EARNED_LINES = 20;
const EARNED_LENGTH = 4000;

/**
 * Limits what a stream holds beside the answer. Counts amounts and not time: slow servers are not cut off.
 */
export class StreamBudget {
  #lines = 0;
  #length = 0;
  /** Of the latest event. */
  #last = { lines: 0, length: 0 };

  /** @throws SyntaxError if a limit is exceeded */
  spend(count: number, length: number): void {
    this.#lines += count;
    this.#length += length;
    if (this.#lines > MAX_EMPTY_LINES || this.#length > MAX_EVENT_LENGTH + EARNED_LENGTH)
      throw new SyntaxError(
        `the server sent ${this.#lines} lines, ${this.#length} characters, that are no part of an answer`,
      );
  }

  /** An event is complete; its reader may call {@link earn}. @throws SyntaxError as {@link spend} does */
  complete(count: number, length: number): void {
    this.#last = { lines: count + EVENT_LINES, length };
    this.spend(EVENT_LINES, 0);
  }

  /** The latest event is part of an answer. */
  earn(): void {
    this.#lines = Math.max(0, this.#lines - this.#last.lines - EARNED_LINES);
    this.#length = Math.max(0, this.#length - this.#last.length - EARNED_LENGTH);
    this.#last = { lines: 0, length: 0 };
  }
}

/**
 * The parsed events of a streamed answer, until its `[DONE]` or its end. The client's own reader is not used:
 * it goes over web streams and copies each event three times.
 * @param budget the caller calls its `earn` for each event that is part of an answer
 * @throws APIError if the server reports an error in mid-stream; SyntaxError if an event is not JSON or too
 * long, or if the budget is spent
 */
export async function* chatEvents(response: Response, budget = new StreamBudget()): AsyncGenerator {
  let isDone = false;
  try {
    for await (const { name, data } of serverSentEvents(streamOf(response), budget)) {
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
  return typeof inner === "object" && inner !== null ? { usage: usageIn(event), ...inner } : undefined;
}

function usageIn(event: object): unknown {
  return "usage" in event ? event.usage : undefined;
}

interface ServerSentEvent {
  /** "" if it has none. */
  readonly name: string;
  readonly data: string;
}

/**
 * Server-sent events (HTML standard, 9.2.6). The last event counts even without its empty line. An event
 * without data is dropped.
 * @throws SyntaxError if an event is longer than {@link MAX_EVENT_LENGTH}, or the budget is spent
 */
async function* serverSentEvents(
  bytes: AsyncIterable<Uint8Array>,
  budget: StreamBudget,
): AsyncGenerator<ServerSentEvent> {
  let name = "";
  let data: string[] = [];
  let length = 0;
  for await (const line of lines(bytes, budget)) {
    if (line === "") {
      if (data.some((piece) => piece !== "")) {
        budget.complete(data.length, length);
        yield { name, data: data.join("\n") };
      }
      name = "";
      data = [];
      length = 0;
    } else if (line.startsWith("data:")) {
      data.push(valueOf(line, 5));
      length += line.length;
      refuseEndless(length);
    } else if (line.startsWith("event:")) name = valueOf(line, 6);
  }
  if (data.some((piece) => piece !== "")) yield { name, data: data.join("\n") };
}

function refuseEndless(length: number): void {
  if (length > MAX_EVENT_LENGTH)
    throw new SyntaxError(`an event of the stream does not end within ${MAX_EVENT_LENGTH} characters`);
}

function valueOf(line: string, from: number): string {
  return line.slice(line[from] === " " ? from + 1 : from);
}

/** Lines as they come. Other work runs between slices of them, however fast they come. */
async function* lines(bytes: AsyncIterable<Uint8Array>, budget: StreamBudget): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  const slice = new TimeSlice();
  /** The unfinished line. Only new text is searched for its end: a line may come byte by byte. */
  let begun = "";
  let heldCr = "";
  let askedAt = performance.now();
  for await (const chunk of withoutDestroying(bytes)) {
    // Other work ran during a wait.
    if (performance.now() - askedAt > WAITED_MS) slice.beginAnew();
    const text = heldCr + decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    // A CR at the very end may be half of a line end: it waits for the next chunk.
    heldCr = text.endsWith("\r") ? "\r" : "";
    const [first = "", ...further] = text.slice(0, text.length - heldCr.length).split(LINE_END);
    begun += first;
    refuseEndless(begun.length);
    // A chunk counts as a line: a line may come byte by byte.
    budget.spend(1, 0);
    for (const line of further) {
      budget.spend(1, begun.length);
      yield begun;
      begun = line;
      if (slice.isOver) await slice.next();
    }
    if (slice.isOver) await slice.next();
    askedAt = performance.now();
  }
  yield* (begun + heldCr + decoder.end()).split(LINE_END);
}

/** Milliseconds; a longer wait was for the server. */
const WAITED_MS = 1;
const LINE_END = /\r\n?|\n/;

/** Leaving a loop over a Node stream would end its request; a finished connection can be kept. */
function withoutDestroying(bytes: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return bytes instanceof Readable ? bytes.iterator({ destroyOnReturn: false }) : bytes;
}
