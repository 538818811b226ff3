import { type IncomingMessage, request as httpRequest } from "node:http";
import { request as httpsRequest } from "node:https";

/** What a response without a body of its own reads from. */
const streams = new WeakMap<Response, IncomingMessage>();

/**
 * `fetch` of a text over Node's own client: undici's took half a millisecond of processor time more for each request,
 * most of it for its web streams. What it cannot do (redirects, other bodies) the global one does.
 * @returns a response whose body is read with {@link streamOf}
 */
export const nodeFetch: typeof fetch = async (input, init) => {
  const url = URL.parse(input instanceof Request ? input.url : String(input));
  const isPlain = url !== null && !(input instanceof Request) && typeof init?.body === "string";
  if (!isPlain) return fetch(input, init);
  const incoming = await send(url, init);
  const status = incoming.statusCode ?? 0;
  if (status >= 300 && status < 400) {
    incoming.destroy();
    return fetch(input, init);
  }
  const headers = new Headers();
  for (let index = 0; index + 1 < incoming.rawHeaders.length; index += 2) {
    headers.append(incoming.rawHeaders[index] ?? "", incoming.rawHeaders[index + 1] ?? "");
  }
  const response = new Response(null, { status, headers });
  streams.set(response, incoming);
  return response;
};

/** The bytes of a response, whoever fetched it. Whoever stops reading early ends the request. */
export function streamOf(response: Response): AsyncIterable<Uint8Array> {
  return streams.get(response) ?? response.body ?? noBytes();
}

/** How long a server may take to close a stream of which nothing is wanted any more, ms. */
const DRAIN_WITHIN_MS = 2000;

/** Lets a stream come to its end, so that its connection can be used again. */
export function drain(response: Response): void {
  const incoming = streams.get(response);
  if (incoming === undefined || incoming.closed) return;
  const tooLong = setTimeout(() => incoming.destroy(), DRAIN_WITHIN_MS).unref();
  incoming.once("close", () => clearTimeout(tooLong));
  incoming.resume();
}

/** Ends a request of which nothing is wanted any more. */
export function abandon(response: Response): void {
  streams.get(response)?.destroy();
}

async function send(url: URL, init: RequestInit): Promise<IncomingMessage> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const request = (url.protocol === "https:" ? httpsRequest : httpRequest)(url, {
    method: init.method ?? "GET",
    headers: Object.fromEntries(init.headers instanceof Headers ? init.headers : new Headers(init.headers)),
  });
  let response: IncomingMessage | undefined;
  request.on("response", (incoming) => {
    response = incoming;
    // Whoever reads is told by the read. The signal may end a request that nobody reads any more.
    incoming.on("error", () => undefined);
    resolve(incoming);
  });
  // Also where an idle connection was closed just when it was taken: what the server has seen of it, nobody knows.
  request.on("error", reject);
  // Not as an option of the request: behind a whole response, Node would fail a connection to which nobody listens any more.
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
  // There are none.
}
