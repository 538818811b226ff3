/* oxlint-disable unicorn/prefer-add-event-listener -- the SDK has no other way to listen */
import { AsyncLocalStorage } from "node:async_hooks";
import type { Client } from "@modelcontextprotocol/client";
import type { Logger } from "pino";
import type { McpServerConfig } from "../config/config.ts";
import { redirectIn } from "../text/redirect.ts";

/** One connection of the protocol's client. */
export interface Wire {
  readonly client: Client;
  /** Ends it in any state: a program is asked, then signalled, then killed. Never throws. */
  close(): Promise<void>;
}

export interface WireParts {
  readonly log: Logger;
  readonly mask: (text: string) => string;
  /** The connection has ended by itself. */
  readonly onClosed: () => void;
  readonly onListChanged: () => void;
  /** Lines that the program writes outside the protocol, for an operator. */
  readonly onSaid: (line: string) => void;
  readonly signal: AbortSignal;
  /** Of the handshake, ms. */
  readonly timeout: number;
  /** See `ProgramParts`. */
  readonly lineMs: number;
}

/** Longest message of a server, in bytes: it is held in memory, and parsed in one go. */
const LONGEST_MESSAGE = 4 * 1024 * 1024;
/** Longest line of a program's standard error that is kept and logged, in UTF-16 units. */
const LONGEST_LINE = 2000;
const LONGEST_HELD = 20_000;

/**
 * Opens a connection, with its handshake. The SDK is loaded only here, so that daemons without servers do not pay for
 * it.
 * @throws Error if the server cannot be reached, or does not speak MCP, until the signal
 */
export async function openWire(
  { name, reach }: Pick<McpServerConfig, "name" | "reach">,
  parts: WireParts,
): Promise<Wire> {
  const { signal, timeout, lineMs } = parts;
  const { Client, StreamableHTTPClientTransport } = await import("@modelcontextprotocol/client");
  const { ProgramTransport } = await import("./program.ts");
  const transport =
    reach.kind === "command"
      ? new ProgramTransport({
          reach,
          longest: LONGEST_MESSAGE,
          lineMs,
          onStderr: (stream) =>
            readLines(stream, (line) => {
              const masked = parts.mask(line).slice(0, LONGEST_LINE);
              parts.onSaid(masked);
              parts.log.debug({ server: name, line: masked }, "mcp_server_says");
            }),
        })
      : new StreamableHTTPClientTransport(new URL(reach.url), {
          requestInit: { headers: { ...reach.headers } },
          fetch: boundedFetch,
        });
  const client = new Client({ name: "weir", version: "1" }, { capabilities: {} });
  const close = async (): Promise<void> => {
    client.onclose = () => undefined;
    await transport
      .close()
      .catch((error: unknown) =>
        parts.log.debug({ server: name, why: reasonOf(error, parts.mask) }, "mcp_close_failed"),
      );
  };
  client.onerror = (error) =>
    parts.log.debug({ server: name, why: reasonOf(error, parts.mask) }, "mcp_error");
  client.onclose = () => parts.onClosed();
  client.setNotificationHandler("notifications/tools/list_changed", () => parts.onListChanged());
  try {
    await client.connect(transport, { signal, timeout });
  } catch (error) {
    await close();
    throw error;
  }
  return { client, close };
}

/**
 * A reason for the log: the SDK's errors repeat whole messages, and `fetch failed` has a more telling cause. Masked
 * before it is cut, since half of a secret is one, too.
 */
export function reasonOf(error: unknown, mask: (text: string) => string): string {
  if (!(error instanceof Error)) return mask(String(error)).slice(0, LONGEST_REASON);
  const { cause } = error;
  const more = cause instanceof Error && cause.message !== "" ? `: ${cause.message}` : "";
  return mask(`${error.message}${more}`).slice(0, LONGEST_REASON);
}
const LONGEST_REASON = 500;

/** Reads a stream line by line. A line that is too long, or never ends, is cut. */
function readLines(stream: NodeJS.EventEmitter, onLine: (line: string) => void): void {
  let begun = "";
  stream.on("data", (chunk: unknown) => {
    const [first = "", ...others] = String(chunk).split("\n");
    begun = `${begun}${first}`.slice(0, LONGEST_HELD);
    for (const other of others) {
      if (begun.trim() !== "") onLine(begun.trim());
      begun = other.slice(0, LONGEST_HELD);
    }
  });
  stream.on("end", () => {
    if (begun.trim() !== "") onLine(begun.trim());
  });
}

/** Time in which a server may end its answer after the call is over, ms. */
const LINGER_MS = 500;

const ofCall = new AsyncLocalStorage<AbortSignal>();

/** Makes a call; what its answer still streams when it is over is cut, as the SDK would read on for ever. */
export async function cutWhenOver<Result>(call: () => Promise<Result>): Promise<Result> {
  const over = new AbortController();
  try {
    return await ofCall.run(over.signal, call);
  } finally {
    setTimeout(() => over.abort(), LINGER_MS).unref();
  }
}

/**
 * A `fetch` that fails on answers that are too long, which the SDK reads whole, and on redirects, at which the SDK
 * would repeat a call within the same origin.
 */
async function boundedFetch(url: string | URL, init?: RequestInit): Promise<Response> {
  const signals = [init?.signal, ofCall.getStore()].filter((one) => one instanceof AbortSignal);
  const response = await fetch(url, { ...init, signal: AbortSignal.any(signals), redirect: "manual" });
  const redirect = redirectIn(String(url), response, "url");
  if (redirect !== undefined) {
    await response.body?.cancel();
    throw new Error(redirect);
  }
  if (response.body === null) return response;
  let bytes = 0;
  const bounded = response.body.pipeThrough(
    new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        bytes += chunk.byteLength;
        if (bytes > LONGEST_MESSAGE)
          controller.error(new Error(`an answer of over ${LONGEST_MESSAGE} bytes`));
        else controller.enqueue(chunk);
      },
    }),
  );
  const { status, statusText, headers } = response;
  const copy = new Response(bounded, { status, statusText, headers });
  // The SDK compares the answer's address with the request's.
  Object.defineProperties(copy, { url: { value: response.url }, redirected: { value: response.redirected } });
  return copy;
}
