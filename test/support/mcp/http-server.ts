import { randomUUID } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text as readText } from "node:stream/consumers";
import { McpServer, WebStandardStreamableHTTPServerTransport } from "@modelcontextprotocol/server";
import { startListening } from "../listening.ts";
import { addTools } from "./good-tools.ts";

export interface HttpServer extends AsyncDisposable {
  readonly url: string;
  /** Calls, as the tools noted them. */
  readonly calls: Record<string, unknown>[];
  readonly headers: IncomingMessage["headers"][];
  /** Answers instead of the server. */
  instead: ((request: IncomingMessage, response: ServerResponse) => void) | null;
  /** Forgets all sessions, like a restarted server. */
  forget(): void;
}

/** The well-behaved server over Streamable HTTP, in the test's own process. */
export async function startHttpServer(): Promise<HttpServer> {
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const calls: Record<string, unknown>[] = [];
  const headers: IncomingMessage["headers"][] = [];
  const open = async (): Promise<WebStandardStreamableHTTPServerTransport> => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => {
        sessions.set(id, transport);
      },
    });
    const server = new McpServer({ name: "good", version: "1.0.0" });
    addTools(server, { note: (line) => calls.push(line), env: {} });
    await server.connect(transport);
    return transport;
  };
  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    headers.push(request.headers);
    if (made.instead !== null) return made.instead(request, response);
    const session = String(request.headers["mcp-session-id"] ?? "");
    const transport = session === "" ? await open() : sessions.get(session);
    if (transport === undefined) {
      response.writeHead(404).end("no such session");
      return;
    }
    const body = request.method === "POST" ? await readText(request) : undefined;
    const gone = new AbortController();
    response.on("close", () => gone.abort());
    const answer = await transport.handleRequest(
      new Request(`http://localhost${request.url ?? "/"}`, {
        method: request.method ?? "GET",
        headers: new Headers(Object.entries(request.headers).map(([key, value]) => [key, String(value)])),
        ...(body !== undefined && { body }),
        signal: gone.signal,
      }),
    );
    response.writeHead(answer.status, Object.fromEntries(answer.headers));
    response.flushHeaders();
    if (answer.body !== null) for await (const chunk of answer.body) response.write(chunk);
    response.end();
  };
  const server = createServer((request, response) => {
    serve(request, response).catch(() => response.destroy());
  });
  const listening = await startListening(server);
  const made: HttpServer = {
    url: `${listening.url}/mcp`,
    calls,
    headers,
    instead: null,
    forget: () => sessions.clear(),
    [Symbol.asyncDispose]: async () => listening[Symbol.asyncDispose](),
  };
  return made;
}
