import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { traceparent } from "../../telemetry/trace-scope.ts";
import { http } from "../../network/node-http.ts";
import { agentFor, ProxyError, throughProxy } from "../../network/use-proxies.ts";

/** Options of a request with a listener for the end of its sending. */
interface SentInit extends RequestInit {
  readonly onSent?: () => void;
}

/** Options that report when the whole request was handed to its connection. */
export function whenSent(onSent: () => void): object {
  return { onSent } satisfies SentInit;
}

/** Streams by response; these responses have no body of their own. */
const streams = new WeakMap<Response, IncomingMessage>();

/**
 * `fetch` of a text over Node's own client: undici took half a millisecond more of processor time for each request,
 * mostly for its web streams. Other bodies use the global `fetch`. Neither follows a redirect.
 * @returns a response whose body is read with {@link streamOf}
 */
export const nodeFetch: typeof fetch = async (input, init) => {
  const url = URL.parse(input instanceof Request ? input.url : String(input));
  const isPlain = url !== null && !(input instanceof Request) && typeof init?.body === "string";
  if (!isPlain) return fetch(input, { ...init, redirect: "manual" });
  const incoming = await send(url, init);
  const headers = new Headers();
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2) {
    headers.append(incoming.rawHeaders[index] ?? "", incoming.rawHeaders[index + 1] ?? "");
  }
  const response = new Response(null, { status: incoming.statusCode ?? 0, headers });
  streams.set(response, incoming);
  return response;
};

/** The bytes of a response from either `fetch`. A reader that stops early ends the request. */
export function streamOf(response: Response): AsyncIterable<Uint8Array> {
  return streams.get(response) ?? response.body ?? noBytes();
}

/**
 * The compression of the bytes of {@link streamOf}, by the server's header; "": none. The global `fetch` has
 * decompressed its own.
 */
export function packingOf(response: Response): string {
  return streams.has(response) ? (response.headers.get("content-encoding") ?? "") : "";
}

/** Time for a server to close a stream that is no longer needed, ms. */
const DRAIN_WITHIN_MS = 2000;

/** Reads a stream to its end, so that its connection can be reused. */
export function drain(response: Response): void {
  const incoming = streams.get(response);
  if (incoming === undefined || incoming.closed) return;
  const tooLong = setTimeout(() => incoming.destroy(), DRAIN_WITHIN_MS).unref();
  incoming.once("close", () => clearTimeout(tooLong));
  incoming.resume();
}

/** Ends a request that is no longer needed. */
export function abandon(response: Response): void {
  streams.get(response)?.destroy();
  void response.body?.cancel().catch(() => undefined);
}

async function send(url: URL, init: SentInit): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const trace = traceparent();
  const request = (url.protocol === "https:" ? httpsRequest : http.request)(url, {
    agent: agentFor(url),
    method: init.method ?? "GET",
    headers: {
      ...Object.fromEntries(new Headers(init.headers)),
      ...(trace !== undefined && { traceparent: trace }),
    },
  });
  request.once("finish", () => init.onSent?.());
  let response: IncomingMessage | undefined;
  request.on("response", (incoming) => {
    response = incoming;
    // Over plain HTTP a proxy answers in the server's place.
    if (url.protocol === "http:" && incoming.statusCode === 407) {
      const refusal = throughProxy(new Error("Proxy Authentication Required (407)"), url);
      if (refusal instanceof ProxyError) {
        reject(refusal);
        request.destroy();
        return;
      }
    }
    // A reader gets the error from its read. The signal may end a request without a reader.
    incoming.on("error", () => undefined);
    resolve(incoming);
  });
  // Also if a reused idle connection closes: how much the server has received is unknown.
  request.on("error", (error) => reject(throughProxy(error, url)));
  // Not an option of the request: after a whole response, Node would fail a connection without listeners.
  const onAbort = (): void => {
    if (response?.complete !== true) request.destroy(new Error("the request was ended"));
  };
  init.signal?.addEventListener("abort", onAbort, { once: true });
  request.once("close", () => init.signal?.removeEventListener("abort", onAbort));
  if (init.signal?.aborted === true) onAbort();
  request.end(init.body);
  return promise;
}

async function* noBytes(): AsyncGenerator<Uint8Array> {
  // Empty.
}
