/**
 * A model server on loopback that speaks several APIs by scripts: each request is recorded, and answered by its path's
 * script.
 *
 *     await using server = await startWireServer({ "/v1/responses": () => events(...) });
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import { z } from "zod";

/** A request's body, reduced to what tests read. */
const bodySchema = z.record(z.string(), z.unknown());

export interface WireRequest {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: Readonly<Record<string, unknown>>;
}

export type Answering = (response: ServerResponse, request: WireRequest) => void | Promise<void>;

export interface WireServer extends AsyncDisposable {
  readonly origin: string;
  readonly requests: readonly WireRequest[];
}

/** @param routes the answer by path, given the number of its requests so far; other paths are 404 */
export async function startWireServer(
  routes: Readonly<Record<string, (request: WireRequest, index: number) => Answering>>,
): Promise<WireServer> {
  const requests: WireRequest[] = [];
  const serve = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const text = await readText(incoming);
    const path = (incoming.url ?? "").split("?", 1)[0] ?? "";
    const body = bodySchema.parse(text === "" ? {} : JSON.parse(text));
    const request = { path, headers: incoming.headers, body };
    const index = requests.filter((one) => one.path === path).length;
    requests.push(request);
    const answering = routes[path]?.(request, index) ?? refusal(404, { message: `no route ${path}` });
    await answering(response, request);
  };
  const server = createServer((incoming, response) => {
    response.on("error", () => undefined);
    void serve(incoming, response);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  return {
    origin: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      const closed = once(server, "close");
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

type NamedEvent = Readonly<Record<string, unknown>> & { readonly type: string };

/** Server-sent events, each with its name, as in Responses and Messages. */
export function events(...all: readonly NamedEvent[]): Answering {
  return (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of all) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    response.end();
  };
}

/** The same, with a connection that breaks after the last event. */
export function brokenOff(...all: readonly NamedEvent[]): Answering {
  return async (response) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    for (const event of all) response.write(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`);
    await new Promise((resolve) => void setImmediate(resolve));
    response.destroy();
  };
}

/** One JSON object, not streamed. */
export function notStreamed(body: unknown): Answering {
  return (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.end(JSON.stringify(body));
  };
}

/** A refusal in the common form of all providers. */
export function refusal(status: number, error: Readonly<Record<string, unknown>>): Answering {
  return (response) => {
    response.writeHead(status, { "content-type": "application/json" });
    response.end(JSON.stringify({ type: "error", error }));
  };
}
