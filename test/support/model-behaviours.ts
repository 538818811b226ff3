/** Behaviours of a scripted model server: see {@link startModelServer}. */
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";

import type { Behaviour, Exchange } from "./model-server.ts";

export interface Usage {
  readonly prompt?: number;
  readonly cached?: number;
  readonly completion?: number;
}

export interface StreamOptions {
  /** Waits this long before the first byte. */
  readonly firstDelayMs?: number;
  /** Waits this long before each further piece. */
  readonly delayMs?: number;
  /** Sent at the end if the client asked for usage. `none`: never. Default: a count from the lengths. */
  readonly usage?: Usage | "none";
  readonly finish?: string | null;
  /** Sent as `reasoning_content` before the text. */
  readonly reasoning?: string;
}

/** Streams a text: piece by piece if it is an array, else in words. */
export function text(answer: string | readonly string[], options: StreamOptions = {}): Behaviour {
  return async (exchange) => {
    const pieces = typeof answer === "string" ? (answer.match(/\s*\S+\s*$|\s*\S+|\s+$/g) ?? []) : answer;
    await openStream(exchange, options.firstDelayMs);
    if (options.reasoning !== undefined) sendDelta(exchange, { reasoning_content: options.reasoning });
    for (const piece of pieces) {
      if (options.delayMs !== undefined) await delay(options.delayMs, undefined, { signal: exchange.signal });
      sendDelta(exchange, { content: piece });
    }
    endStream(
      exchange,
      options.finish === undefined ? "stop" : options.finish,
      options.usage,
      pieces.join(""),
    );
  };
}

/** Streams the beginning of a text, and the rest once `gate` resolves. @param end of the stream; default: at once */
export function heldText(
  beginning: string,
  gate: Promise<unknown>,
  rest: string,
  end?: Promise<unknown>,
): Behaviour {
  return async (exchange) => {
    await openStream(exchange);
    sendDelta(exchange, { content: beginning });
    await gate;
    sendDelta(exchange, { content: rest });
    await end;
    endStream(exchange, "stop", undefined, beginning + rest);
  };
}

export interface ScriptedCall {
  readonly name: string;
  readonly arguments: unknown;
  /** Left out: a made-up id. Null: the server sends none. */
  readonly id?: string | null;
}

/**
 * Streams tool calls. `indexed`: like OpenAI, arguments split over chunks and interleaved. `no_index`: without `index`,
 * each call in one chunk. `shared_index`: every call has index 0, only the ids differ. `shared_no_id`: index 0 and no
 * ids, a new name starts a new call.
 */
export function toolCalls(
  calls: readonly ScriptedCall[],
  options: StreamOptions & {
    readonly dialect?: "indexed" | "no_index" | "shared_index" | "shared_no_id";
    readonly text?: string;
  } = {},
): Behaviour {
  return async (exchange) => {
    await openStream(exchange, options.firstDelayMs);
    if (options.text !== undefined) sendDelta(exchange, { content: options.text });
    const dialect = options.dialect ?? "indexed";
    const pieces = calls.map((call, position) => scriptedCall(call, position));
    if (dialect === "indexed") sendInterleaved(exchange, pieces);
    else for (const piece of pieces) sendDelta(exchange, { tool_calls: [inDialect(piece, dialect)] });
    endStream(exchange, options.finish === undefined ? "tool_calls" : options.finish, options.usage, "call");
  };
}

interface CallPiece {
  readonly position: number;
  readonly id: string | null;
  readonly name: string;
  readonly json: string;
}

function scriptedCall(call: ScriptedCall, position: number): CallPiece {
  const json = typeof call.arguments === "string" ? call.arguments : JSON.stringify(call.arguments);
  return { position, id: call.id === undefined ? `call_${position}` : call.id, name: call.name, json };
}

function inDialect(piece: CallPiece, dialect: "no_index" | "shared_index" | "shared_no_id"): object {
  const withId = piece.id === null || dialect === "shared_no_id" ? {} : { id: piece.id };
  const index = dialect === "no_index" ? {} : { index: 0 };
  return { ...index, ...withId, type: "function", function: { name: piece.name, arguments: piece.json } };
}

function sendInterleaved(exchange: Exchange, pieces: readonly CallPiece[]): void {
  for (const { position, id, name } of pieces) {
    const head = { index: position, ...(id === null ? {} : { id }), type: "function" };
    sendDelta(exchange, { tool_calls: [{ ...head, function: { name, arguments: "" } }] });
  }
  const longest = Math.max(0, ...pieces.map(({ json }) => json.length));
  for (let from = 0; from < longest; from += 5) {
    for (const { position, json } of pieces) {
      const part = json.slice(from, from + 5);
      if (part !== "")
        sendDelta(exchange, { tool_calls: [{ index: position, function: { arguments: part } }] });
    }
  }
}

/** Answers with a status and a JSON (or text) body. */
export function status(code: number, body: unknown = {}, headers: Record<string, string> = {}): Behaviour {
  return ({ response }) => {
    const isText = typeof body === "string";
    response.writeHead(code, { "content-type": isText ? "text/html" : "application/json", ...headers });
    response.end(isText ? body : JSON.stringify(body));
  };
}

/** A 429. @param retryAfter the header's value: seconds or an HTTP date; `{ ms }` sends `retry-after-ms` */
export function rateLimited(retryAfter?: number | string | { readonly ms: number }): Behaviour {
  const header: Record<string, string> = {};
  if (typeof retryAfter === "object") header["retry-after-ms"] = String(retryAfter.ms);
  else if (retryAfter !== undefined) header["retry-after"] = String(retryAfter);
  return status(
    429,
    { error: { message: "Rate limit reached", type: "requests", code: "rate_limit_exceeded" } },
    header,
  );
}

/** Streams a text and ends cleanly, without `finish_reason` and without `[DONE]`. */
export function cutStream(answer: string): Behaviour {
  return async (exchange) => {
    await openStream(exchange);
    sendDelta(exchange, { content: answer });
    exchange.response.end();
  };
}

/** Streams a text (without one, not even the headers), then stalls with the connection open. */
export function stalledStream(answer?: string): Behaviour {
  return async (exchange) => {
    if (answer === undefined) return;
    await openStream(exchange);
    if (answer !== "") sendDelta(exchange, { content: answer });
  };
}

/** Destroys the socket before any byte of the answer. */
export function resetBefore(): Behaviour {
  return ({ request, response }) => {
    request.outcome = "reset";
    response.socket?.resetAndDestroy();
  };
}

/** Streams a text, then destroys the socket. */
export function resetMidStream(answer: string): Behaviour {
  return async (exchange) => {
    await openStream(exchange);
    sendDelta(exchange, { content: answer });
    await delay(20, undefined, { signal: exchange.signal });
    exchange.request.outcome = "reset";
    exchange.response.socket?.resetAndDestroy();
  };
}

/** Streams text around bytes that are not UTF-8. */
export function invalidUtf8(before: string, after: string): Behaviour {
  return async (exchange) => {
    await openStream(exchange);
    const [head, tail] = chunkLine(exchange, { content: `${before}\0${after}` }).split("\\u0000");
    exchange.response.write(
      Buffer.concat([Buffer.from(head ?? ""), Buffer.of(0xff, 0xc3, 0x28), Buffer.from(tail ?? "")]),
    );
    endStream(exchange, "stop", undefined, before + after);
  };
}

/** Repeats a piece until the client disconnects, or until the signal: then the answer ends. */
export function endlessRepetition(piece: string, delayMs = 0, over?: AbortSignal): Behaviour {
  return async (exchange) => {
    await openStream(exchange);
    while (!exchange.signal.aborted) {
      sendDelta(exchange, { content: piece });
      if (over?.aborted === true) return endStream(exchange, "stop", undefined, piece);
      await delay(delayMs, undefined, { signal: exchange.signal });
    }
  };
}

/** Sends the same raw bytes of an event stream at full speed, up to a number of times or until the client disconnects. */
export function flood(piece: string, times: number): Behaviour {
  return async (exchange) => {
    await openStream(exchange);
    const bytes = Buffer.from(piece);
    for (let sent = 0; sent < times && !exchange.signal.aborted; sent++) {
      if (!exchange.response.write(bytes))
        await once(exchange.response, "drain", { signal: exchange.signal });
    }
    exchange.response.end();
  };
}

/** Streams a text, then an error object inside the stream (like OpenRouter and vLLM). */
export function streamError(error: unknown, answer = ""): Behaviour {
  return async (exchange) => {
    await openStream(exchange);
    if (answer !== "") sendDelta(exchange, { content: answer });
    exchange.response.end(`data: ${JSON.stringify({ error })}\n\n`);
  };
}

/** Sends raw event-stream bytes, then ends. */
export function rawStream(...parts: readonly (string | Buffer)[]): Behaviour {
  return async (exchange) => {
    await openStream(exchange);
    for (const part of parts) exchange.response.write(part);
    exchange.response.end();
  };
}

async function openStream({ response, signal }: Exchange, firstDelayMs?: number): Promise<void> {
  if (firstDelayMs !== undefined) await delay(firstDelayMs, undefined, { signal });
  response.writeHead(200, { "content-type": "text/event-stream", "cache-control": "no-cache" });
  response.flushHeaders();
}

function chunkLine({ body }: Exchange, delta: object, finish: string | null = null): string {
  const choice = { index: 0, delta, finish_reason: finish };
  const chunk = {
    id: "chatcmpl-test",
    object: "chat.completion.chunk",
    model: body.model,
    choices: [choice],
  };
  return `data: ${JSON.stringify(chunk)}\n\n`;
}

function sendDelta(exchange: Exchange, delta: object): void {
  exchange.response.write(chunkLine(exchange, delta));
}

function endStream(
  exchange: Exchange,
  finish: string | null,
  usage: Usage | "none" | undefined,
  answer: string,
): void {
  const { body, response } = exchange;
  if (finish !== null) response.write(chunkLine(exchange, {}, finish));
  if (usage !== "none" && body.stream_options?.include_usage === true) {
    const prompt = usage?.prompt ?? Math.ceil(JSON.stringify(body.messages).length / 4);
    const completion = usage?.completion ?? Math.ceil(answer.length / 4);
    const counted = {
      prompt_tokens: prompt,
      completion_tokens: completion,
      total_tokens: prompt + completion,
      prompt_tokens_details: { cached_tokens: usage?.cached ?? 0 },
    };
    response.write(
      `data: ${JSON.stringify({ object: "chat.completion.chunk", choices: [], usage: counted })}\n\n`,
    );
  }
  response.end("data: [DONE]\n\n");
}
