import { jsonOf } from "../../core/json.ts";
import { Readable } from "node:stream";
import { StringDecoder } from "node:string_decoder";
import { APIError } from "openai/error";
import { TimeSlice } from "../../async/cooperative.ts";
import { abandon, drain, packingOf, streamOf } from "../http/node-fetch.ts";
import { unpacked } from "../http/unpacked.ts";

/** The conventional last event of a stream. */
const DONE = /^[\s"]*\[DONE\][\s"]*$/i;

/**
 * Limit of one event and of one line, in characters. No server sends that much; an endless event would fill the heap of
 * the whole daemon.
 */
const MAX_EVENT_LENGTH = 8_000_000;

/**
 * Limit of lines outside an answer; {@link MAX_EVENT_LENGTH} limits their characters. Forty keep-alives a second for an
 * hour pass. 30 MB of line ends, which took 6 s of processor time, do not.
 */
const MAX_EMPTY_LINES = 200_000;
/** Extra lines that an event counts as, since it is parsed: 30,000 empty events may come. */
const EVENT_LINES = 4;
/** Extra lines that an event of the answer refunds: its name, its id, the keep-alives before it. */
const EARNED_LINES = 20;
const EARNED_LENGTH = 4000;

/** Limits the content of a stream outside the answer. It counts amounts, not time: slow servers are not cut off. */
export class StreamBudget {
  #lines = 0;
  #length = 0;
  /** The latest event's. */
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
 * The parsed events of an answer, until `[DONE]` or the end of the body: an event stream, JSON lines, or one unstreamed
 * body, whatever its content type. The client's own reader is not used: it uses web streams and copies each event three
 * times.
 * @param budget the caller calls its `earn` for each event of the answer
 * @param onDone called at `[DONE]`
 * @throws APIError if the server reports an error in mid-stream; SyntaxError if an event is not JSON or too long, or if
 *   the budget is spent
 */
export async function* chatEvents(
  response: Response,
  budget = new StreamBudget(),
  onDone: () => void = () => undefined,
): AsyncGenerator {
  let isDone = false;
  try {
    const stream = streamOf(response);
    // Leaving a loop over a Node stream destroys its request; a finished connection can be reused.
    const bytes = stream instanceof Readable ? stream.iterator({ destroyOnReturn: false }) : stream;
    const plain = await unpacked(bytes, packingOf(response));
    for await (const { name, data } of serverSentEvents(plain, budget)) {
      if (DONE.test(data)) {
        isDone = true;
        onDone();
        return;
      }
      for (const event of parse(data)) {
        const error = errorIn(event, name);
        if (error !== undefined) throw new APIError(undefined, error, undefined, response.headers);
        yield event;
      }
    }
    isDone = true;
  } finally {
    if (isDone) drain(response);
    else abandon(response);
  }
}

/**
 * Parses an event. Gemini's own streams are one list of events. Text that is not JSON, which some servers send as a
 * keep-alive, is ignored.
 */
function parse(data: string): readonly unknown[] {
  const event = jsonOf(data);
  if (event !== undefined) return Array.isArray(event) ? event : [event];
  if (JSON_BEGINS.test(data)) throw new SyntaxError("malformed JSON in the event stream");
  return [];
}

function errorIn(event: unknown, name: string): object | undefined {
  if (typeof event !== "object" || event === null) return undefined;
  const inner = "error" in event ? event.error : undefined;
  // vLLM's error in a stream has no `error` field.
  if (name === "error" || ("object" in event && event.object === "error"))
    return typeof inner === "object" && inner !== null ? inner : event;
  if (typeof inner === "string" && inner !== "") return { message: inner };
  return typeof inner === "object" && inner !== null
    ? { usage: "usage" in event ? event.usage : undefined, ...inner }
    : undefined;
}

interface ServerSentEvent {
  /** "": none. */
  readonly name: string;
  readonly data: string;
  /** Lines of its data. */
  readonly lines: number;
  readonly length: number;
}

/**
 * Server-sent events (HTML standard, 9.2.6), and JSON without their frame. The last event counts even without its empty
 * line. An event without data is dropped.
 * @throws SyntaxError if an event is longer than {@link MAX_EVENT_LENGTH}, or the budget is spent
 */
async function* serverSentEvents(
  bytes: AsyncIterable<Uint8Array>,
  budget: StreamBudget,
): AsyncGenerator<ServerSentEvent> {
  const events = new EventLines();
  for await (const line of lines(bytes, budget)) {
    const event = events.push(line);
    if (event === undefined) continue;
    budget.complete(event.lines, event.length);
    yield event;
  }
  const last = events.take();
  if (last !== undefined) yield last;
}

const JSON_BEGINS = /^\s*[[{]/;

class EventLines {
  #name = "";
  #data: string[] = [];
  #length = 0;
  /** Whether the body begins with JSON, whose lines belong together until they are complete. Undefined: no line yet. */
  #isBare: boolean | undefined;

  /** @returns the event that this line completes */
  push(line: string): ServerSentEvent | undefined {
    if (line === "") return this.#isBare === true ? undefined : this.take();
    if (!line.startsWith(":")) this.#isBare ??= JSON_BEGINS.test(line);
    if (line.startsWith("data:")) {
      // Some servers send no empty line between two events.
      const [only] = this.#data;
      const before = this.#data.length === 1 && isWhole(only) ? this.take() : undefined;
      this.#add(line, 5);
      return before;
    }
    if (line.startsWith("event:")) this.#name = valueOf(line, 6);
    // A server that breaks off may send its error as a line without `data:`.
    else if (this.#data.length === 0 && JSON_BEGINS.test(line) && isWhole(line)) {
      this.#add(line);
      return this.take();
    } else if (this.#isBare === true) this.#add(line);
    return undefined;
  }

  /** @returns the event so far, if it has data */
  take(): ServerSentEvent | undefined {
    const data = this.#data.join("\n");
    const event = { name: this.#name, data, lines: this.#data.length, length: this.#length };
    this.#name = "";
    this.#data = [];
    this.#length = 0;
    return data.trim() === "" ? undefined : event;
  }

  #add(line: string, from = 0): void {
    this.#data.push(from === 0 ? line : valueOf(line, from));
    this.#length += line.length;
    refuseEndless(this.#length);
  }
}

function isWhole(data: string | undefined): boolean {
  return data !== undefined && (DONE.test(data) || jsonOf(data) !== undefined);
}

function refuseEndless(length: number): void {
  if (length > MAX_EVENT_LENGTH)
    throw new SyntaxError(`an event of the stream does not end within ${MAX_EVENT_LENGTH} characters`);
}

function valueOf(line: string, from: number): string {
  return line.slice(line[from] === " " ? from + 1 : from);
}

/** Lines as they arrive, in time slices, so that other work can run between them. */
async function* lines(bytes: AsyncIterable<Uint8Array>, budget: StreamBudget): AsyncGenerator<string> {
  const decoder = new StringDecoder("utf8");
  const slice = new TimeSlice();
  /** The unfinished line. Only new text is searched for its end, since a line may arrive byte by byte. */
  let begun = "";
  /** The last character so far; "" at the beginning. */
  let lastLetter = "";
  let askedAt = performance.now();
  for await (const chunk of bytes) {
    // Other work ran during a longer wait.
    if (performance.now() - askedAt > WAITED_MS) slice.beginAnew();
    const text = decoder.write(Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength));
    // A line ends with its CR: an LF after it is no second end.
    const isSkipped = text !== "" && SKIPPED_BEHIND.get(lastLetter) === text[0];
    const [first = "", ...further] = text.slice(isSkipped ? 1 : 0).split(LINE_END);
    lastLetter = text.at(-1) ?? lastLetter;
    begun += first;
    refuseEndless(begun.length);
    // A chunk counts as a line, since a line may arrive byte by byte.
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
  yield* (begun + decoder.end()).split(LINE_END);
}

/**
 * Characters to skip, by the character before them, with "" for the beginning: a byte order mark, and the second half
 * of a line end.
 */
const SKIPPED_BEHIND: ReadonlyMap<string, string> = new Map([
  ["", "\uFEFF"],
  ["\r", "\n"],
]);
/** Milliseconds; a longer wait was for the server. */
const WAITED_MS = 1;
const LINE_END = /\r\n?|\n/;
