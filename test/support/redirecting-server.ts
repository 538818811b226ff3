/** A server that redirects each request, and its target, which must receive nothing. */
import { createServer } from "node:http";
import { startListening } from "./listening.ts";

/** Statuses that `fetch` follows, and others. */
export const REDIRECTS = [300, 301, 302, 303, 305, 307, 308] as const;

export interface RedirectingServer extends AsyncDisposable {
  readonly origin: string;
  /** The target. */
  readonly elsewhere: string;
  /** Requests to this server, such as `POST /v1/embeddings`. */
  readonly asked: readonly string[];
  /** Requests to the target. */
  readonly followed: readonly string[];
  status: number;
  /** The header `location`; null: none. Default: the requested path at the target. */
  location: string | null | undefined;
}

export async function startRedirectingServer(): Promise<RedirectingServer> {
  const asked: string[] = [];
  const followed: string[] = [];
  const other = await startListening(
    createServer((request, response) => {
      followed.push(`${request.method} ${request.url}`);
      response.end("{}");
    }),
  );
  const server = await startListening(
    createServer((request, response) => {
      asked.push(`${request.method} ${request.url}`);
      const there = `${other.url}${request.url}?key=secret-in-query`;
      const location = face.location === undefined ? there : face.location;
      request.resume().once("end", () => {
        response.writeHead(face.status, location === null ? {} : { location });
        response.end("secret-in-body");
      });
    }),
  );
  const face = {
    origin: server.url,
    elsewhere: other.url,
    asked,
    followed,
    status: 307,
    location: undefined as string | null | undefined,
    async [Symbol.asyncDispose]() {
      await Promise.all([server[Symbol.asyncDispose](), other[Symbol.asyncDispose]()]);
    },
  };
  return face;
}
