/**
 * An OpenAI-compatible model server on loopback for tests: real HTTP, scripted behaviour, a journal of requests. It
 * runs inside the test's process.
 *
 *     await using server = await startModelServer();
 *     server.reply(text("hello"), rateLimited(1), cutStream("half of"));
 *     // … the code under test talks to server.url …
 *     server.requests[0].body.messages
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { buffer as readBuffer } from "node:stream/consumers";

import { z } from "zod";

/** A message with pictures as text, each as `<image>`. */
const contentParts = z
  .array(
    z.discriminatedUnion("type", [
      z.object({ type: z.literal("text"), text: z.string() }),
      z.object({
        type: z.literal("image_url"),
        image_url: z.object({ url: z.string().startsWith("data:image/") }),
      }),
    ]),
  )
  .transform((parts) => parts.map((part) => (part.type === "text" ? part.text : "<image>")).join(""));

/** The body of `POST /chat/completions`, reduced to what tests read; another shape is the client's error. */
const chatRequest = z.looseObject({
  model: z.string(),
  messages: z.array(
    z.looseObject({
      role: z.enum(["system", "developer", "user", "assistant", "tool"]),
      content: z.union([z.string(), contentParts]).nullish(),
      tool_call_id: z.string().optional(),
      tool_calls: z
        .array(
          z.looseObject({ id: z.string(), function: z.object({ name: z.string(), arguments: z.string() }) }),
        )
        .optional(),
    }),
  ),
  tools: z.array(z.looseObject({ function: z.looseObject({ name: z.string() }) })).optional(),
  tool_choice: z.string().optional(),
  stream: z.boolean().optional(),
  stream_options: z.object({ include_usage: z.boolean() }).optional(),
  temperature: z.number().optional(),
  max_tokens: z.number().optional(),
  max_completion_tokens: z.number().optional(),
  prompt_cache_key: z.string().optional(),
  reasoning_effort: z.string().optional(),
});

export type ChatRequest = z.infer<typeof chatRequest>;

/** The body of `POST /embeddings`. */
const embeddingRequest = z.looseObject({
  model: z.string(),
  input: z.array(z.string()).min(1),
  encoding_format: z.literal("float"),
  dimensions: z.number().optional(),
});

export type EmbeddingRequest = z.infer<typeof embeddingRequest>;

/** The answer to `POST /embeddings`: vectors, or a status that refuses. */
export type EmbeddingAnswer =
  | readonly (readonly number[])[]
  | { readonly status: number; readonly message: string };

/** The form of `POST /audio/transcriptions`. */
export interface TranscriptionRequest {
  readonly model: string;
  readonly format: string;
  readonly file: { readonly name: string; readonly type: string; readonly bytes: number };
}

/** The answer to `POST /audio/transcriptions`: its body, or a status that refuses. */
export type TranscriptionAnswer =
  | { readonly text: unknown; readonly usage?: unknown }
  | { readonly status: number; readonly message: string };

export type Outcome = "open" | "answered" | "aborted" | "reset";

/** One journal entry of `server.requests`. */
export interface RecordedRequest {
  readonly body: ChatRequest;
  /** The bytes of the body. */
  readonly raw: string;
  readonly headers: IncomingMessage["headers"];
  /** `performance.now()` when the whole body had arrived. */
  readonly at: number;
  /** `aborted`: the client closed the connection before the answer was complete. */
  outcome: Outcome;
  /** Resolves when the outcome is known: no longer `open`. */
  readonly done: Promise<Outcome>;
}

export interface Exchange {
  readonly request: RecordedRequest;
  readonly body: ChatRequest;
  readonly response: ServerResponse;
  /** Aborted when the client disconnects or the server stops, which ends every wait. */
  readonly signal: AbortSignal;
}

/** The server's reaction to one request. It may end without ending the response: a stall. */
export type Behaviour = (exchange: Exchange) => Promise<void> | void;

/** One row of `GET /models`: an id, and any other fields. */
export interface ListedModel {
  readonly id: string;
  readonly [field: string]: unknown;
}

export interface ModelServer extends AsyncDisposable {
  /** The base URL for the client: `http://127.0.0.1:PORT/v1`. */
  readonly url: string;
  /** The same without `/v1`, as for Ollama's own API. */
  readonly origin: string;
  readonly port: number;
  /** Every `POST /chat/completions`, oldest first. */
  readonly requests: readonly RecordedRequest[];
  /** Every other request, such as `GET /v1/models`. */
  readonly otherRequests: readonly string[];
  /** The rows of `GET /models`; empty or undefined: 404. */
  models: readonly ListedModel[] | undefined;
  /** JSON by method and path for all other requests: `{ "GET /api/tags": { models: [] } }`. */
  readonly routes: Record<string, unknown>;
  /** Every `POST /embeddings`, oldest first. */
  readonly embedded: readonly EmbeddingRequest[];
  /** Answers `POST /embeddings`; undefined: 404. */
  embed: ((request: EmbeddingRequest) => EmbeddingAnswer | Promise<EmbeddingAnswer>) | undefined;
  /** Every `POST /audio/transcriptions`, oldest first. */
  readonly transcribed: readonly TranscriptionRequest[];
  /** Answers `POST /audio/transcriptions`; undefined: 404. */
  transcribe:
    | ((request: TranscriptionRequest) => TranscriptionAnswer | Promise<TranscriptionAnswer>)
    | undefined;
  /** Reported tokens of each text; undefined: none. */
  tokensOfText: unknown;
  /** Queues behaviours: each serves one request. */
  reply(...behaviours: readonly Behaviour[]): void;
  /** Answers every request without a queued behaviour. */
  respond(handler: (request: ChatRequest, index: number) => Behaviour): void;
  /** Resolves when `count` requests have arrived. */
  received(count: number): Promise<void>;
  /** Empties `requests`, which would grow over hours. */
  forget(): void;
  /** Stops listening, and ends its connections: new ones are refused. */
  leave(): Promise<void>;
  /** Listens again, at the same address. */
  comeBack(): Promise<void>;
}

/** Starts the server on a free port of 127.0.0.1. Without a script it answers 400, so that nothing retries. */
export async function startModelServer(options: { port?: number } = {}): Promise<ModelServer> {
  const state = new ServerState();
  const server = createServer((request, response) => {
    void state.serve(request, response);
  });
  server.listen(options.port ?? 0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  assert(typeof address === "object" && address !== null);
  const { port } = address;
  const origin = `http://127.0.0.1:${port}`;
  const leave = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = once(server, "close");
    server.close();
    server.closeAllConnections();
    await closed;
  };
  return Object.assign(state, {
    url: `${origin}/v1`,
    origin,
    port,
    leave,
    async comeBack() {
      if (server.listening) return;
      server.listen(port, "127.0.0.1");
      await once(server, "listening");
    },
    async [Symbol.asyncDispose]() {
      state.stopping.abort();
      await leave();
    },
  });
}

class ServerState {
  readonly requests: RecordedRequest[] = [];
  readonly otherRequests: string[] = [];
  readonly routes: Record<string, unknown> = {};
  readonly embedded: EmbeddingRequest[] = [];
  embed: ModelServer["embed"];
  transcribe: ModelServer["transcribe"];
  readonly transcribed: TranscriptionRequest[] = [];
  tokensOfText: unknown = 7;
  readonly stopping = new AbortController();
  models: readonly ListedModel[] | undefined = [{ id: "test-model" }];
  readonly #queue: Behaviour[] = [];
  readonly #waiting = new Set<() => void>();
  #handler: ((request: ChatRequest, index: number) => Behaviour) | undefined;

  reply(...behaviours: readonly Behaviour[]): void {
    this.#queue.push(...behaviours);
  }

  respond(handler: (request: ChatRequest, index: number) => Behaviour): void {
    this.#handler = handler;
  }

  forget(): void {
    this.requests.length = 0;
  }

  async received(count: number): Promise<void> {
    while (this.requests.length < count) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#waiting.add(resolve);
      await promise;
    }
  }

  async serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A client that resets its socket while we write is part of the tests, never a failure of the server.
    response.on("error", () => undefined);
    const bytes = await readBuffer(request).catch(() => undefined);
    if (bytes === undefined) return;
    if (this.transcribe !== undefined && request.url?.endsWith("/audio/transcriptions") === true) {
      await this.#serveWords(request, bytes, response);
      return;
    }
    const body = bytes.toString();
    if (this.embed !== undefined && request.url?.endsWith("/embeddings") === true) {
      await this.#serveVectors(body, response);
      return;
    }
    if (request.method !== "POST" || request.url?.endsWith("/chat/completions") !== true) {
      this.#serveOther(request, response);
      return;
    }
    const parsed = chatRequest.safeParse(JSON.parse(body));
    if (!parsed.success) {
      refuse(response, `Not a chat request: ${z.prettifyError(parsed.error)}`);
      return;
    }
    const gone = new AbortController();
    const recorded = this.#record(parsed.data, body, request, response, gone);
    const signal = AbortSignal.any([gone.signal, this.stopping.signal]);
    const behave =
      this.#queue.shift() ?? this.#handler?.(recorded.body, this.requests.length - 1) ?? unscripted;
    try {
      await behave({ request: recorded, body: recorded.body, response, signal });
    } catch (error) {
      if (signal.aborted) return;
      response.destroy();
      throw error;
    }
  }

  #record(
    body: ChatRequest,
    raw: string,
    request: IncomingMessage,
    response: ServerResponse,
    gone: AbortController,
  ): RecordedRequest {
    const done = Promise.withResolvers<Outcome>();
    const recorded: RecordedRequest = {
      body,
      raw,
      headers: request.headers,
      at: performance.now(),
      outcome: "open",
      done: done.promise,
    };
    response.on("close", () => {
      // A behaviour that resets the socket itself has set the outcome before.
      if (recorded.outcome === "open") recorded.outcome = response.writableFinished ? "answered" : "aborted";
      done.resolve(recorded.outcome);
      gone.abort();
    });
    this.requests.push(recorded);
    for (const wake of this.#waiting) wake();
    this.#waiting.clear();
    return recorded;
  }

  async #serveVectors(body: string, response: ServerResponse): Promise<void> {
    const parsed = embeddingRequest.safeParse(JSON.parse(body));
    if (!parsed.success || this.embed === undefined) {
      refuse(response, "Not a request for embeddings.");
      return;
    }
    this.embedded.push(parsed.data);
    const answer = await this.embed(parsed.data);
    const isRefusal = "status" in answer;
    response.writeHead(isRefusal ? answer.status : 200, { "content-type": "application/json" });
    const told = isRefusal
      ? { error: { message: answer.message } }
      : {
          object: "list",
          data: answer.map((embedding, index) => ({ index, embedding })),
          ...this.#usageOf(answer.length),
        };
    response.end(JSON.stringify(told));
  }

  async #serveWords(request: IncomingMessage, bytes: Buffer, response: ServerResponse): Promise<void> {
    const type = request.headers["content-type"] ?? "";
    const form = await new Response(new Uint8Array(bytes), { headers: { "content-type": type } }).formData();
    const file = form.get("file");
    const [model, format] = [form.get("model"), form.get("response_format")];
    if (!(file instanceof File) || typeof model !== "string" || typeof format !== "string") {
      refuse(response, "Not a request for a transcription.");
      return;
    }
    const asked = { model, format, file: { name: file.name, type: file.type, bytes: file.size } };
    this.transcribed.push(asked);
    const answer = await this.transcribe?.(asked);
    const isRefusal = answer !== undefined && "status" in answer;
    response.writeHead(isRefusal ? answer.status : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(isRefusal ? { error: { message: answer.message } } : answer));
  }

  #usageOf(texts: number): object {
    const each = this.tokensOfText;
    const tokens = typeof each === "number" ? texts * each : each;
    return tokens === undefined ? {} : { usage: { prompt_tokens: tokens, total_tokens: tokens } };
  }

  #serveOther(request: IncomingMessage, response: ServerResponse): void {
    const line = `${request.method} ${request.url}`;
    this.otherRequests.push(line);
    const listing = line === "GET /v1/models" && this.models !== undefined;
    const body = listing ? { object: "list", data: this.models } : this.routes[line];
    response.writeHead(body === undefined ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify(body ?? { error: { message: `no route ${line}` } }));
  }
}

/** A 400 is not retried: a test without a scripted answer fails at once and reports that. */
const unscripted: Behaviour = ({ response }) => {
  refuse(response, "The test scripted no reply for this request.");
};

function refuse(response: ServerResponse, message: string): void {
  response.writeHead(400, { "content-type": "application/json" });
  response.end(JSON.stringify({ error: { message } }));
}
