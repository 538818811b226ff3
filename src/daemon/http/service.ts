import {
  createServer,
  type IncomingMessage,
  type Server,
  type ServerOptions,
  type ServerResponse,
} from "node:http";
import { getRequestListener } from "@hono/node-server";
import type { Logger } from "pino";
import type { Config, HttpConfig } from "../../config/config.ts";
import { pause } from "../../async/clock.ts";
import { errorCode, errorMessage, OperatorError } from "../../core/errors.ts";
import type { KnownSecrets } from "../../admin/secrets.ts";
import type { Daemon } from "../daemon.ts";
import { hostHeader, nameInUrl } from "../../platforms/local/local-only.ts";
import { isLoopback } from "../../text/host-and-port.ts";
import { allowedHosts, createApp, type Listening } from "./app.ts";
import { ChannelReports } from "./channels.ts";
import type { Monitor } from "../metrics/metrics.ts";
import { keepAddress, newPageName, type PageAddress } from "./page/address.ts";
import { createPage, isPageTarget } from "./page/page.ts";
import { Sessions } from "./page/sessions.ts";
import { openPageKey, openToken, SHOW_TOKEN } from "./token.ts";

/** Health, metrics and channels of a daemon over HTTP, for monitoring and scripts. It outlives the daemon, to report its end. */
export interface HttpService extends AsyncDisposable {
  readonly url: string;
  /** Of the page for browsers of this machine; null: there is none. */
  readonly page: PageAddress | null;
  /** A newly created token and its file; null: it is not new. */
  readonly newToken: { readonly text: string; readonly file: string } | null;
  /** Sets the daemon whose channels it reports on. */
  watch(daemon: Daemon): void;
}

export interface HttpServiceOptions {
  readonly config: Pick<Config, "database">;
  readonly http: HttpConfig;
  readonly version: string;
  readonly monitor: Monitor;
  readonly log: Logger;
  /** As of `PageChatsParts`. Default: this daemon takes no chats. */
  readonly findSocket?: () => Promise<string | null>;
  /** Its token is added. */
  readonly secrets: KnownSecrets;
  /** For the page's codes and sessions, ms; default: the wall clock. */
  readonly now?: () => number;
  /** Between two signs of life of the page's streams, ms; default: 5 s. */
  readonly beatMs?: number;
}

/** Limit for a request's path and headers, bytes. */
const MAX_HEADER_BYTES = 8192;
/** Limits for receiving a request and for an idle socket, ms; later clients are disconnected. */
const HEADERS_MS = 5000;
const REQUEST_MS = 10_000;
const CHECK_EVERY_MS = 1000;
const LIMITS: ServerOptions = {
  maxHeaderSize: MAX_HEADER_BYTES,
  headersTimeout: HEADERS_MS,
  requestTimeout: REQUEST_MS,
  keepAliveTimeout: HEADERS_MS,
  connectionsCheckingInterval: CHECK_EVERY_MS,
};
/** Most concurrent connections; further clients are disconnected. */
const MAX_CONNECTIONS = 1024;

/** @throws OperatorError if it cannot listen there, or there is no token */
export async function startHttpService(options: HttpServiceOptions): Promise<HttpService> {
  const { config, http, version, monitor, log, secrets, findSocket = null, now = Date.now, beatMs } = options;
  const { dataDir } = config.database;
  await using stack = new AsyncDisposableStack();
  const { servers, listening, hasPage: mayHavePage, takenBeside } = await openServers(http);
  for (const server of servers) {
    // Without a listener, a process that has no file descriptor left for one more client would end.
    server.on("error", (error) => log.warn({ why: error.message }, "http_client_not_taken"));
    stack.defer(async () => close(server));
  }
  // After listening: a new token is shown only once, and a failed start shows none.
  const token = await openToken(http.token, dataDir);
  const channels = new ChannelReports();
  const key = mayHavePage ? await keyOf(dataDir, log) : null;
  secrets.add(key === null ? [token.text] : [token.text, key]);
  const { port } = listening;
  const shared = { ...monitor, channels, mask: secrets.masked, log };
  const hosts = allowedHosts(listening, http.hosts);
  const app = createApp({ ...shared, token: token.text, hosts, version });
  const closing = new AbortController();
  stack.defer(() => closing.abort());
  const name = newPageName();
  const ofPage = { host: hostHeader(name, port), port, sessions: new Sessions(now), now };
  const live = { maskSoFar: secrets.maskedSoFar, findSocket, beatMs, closing: closing.signal };
  const page = key === null ? null : createPage({ ...shared, ...ofPage, ...live, key });
  // Other parts of the process use the global objects.
  const untouched = { overrideGlobalObjects: false };
  const toApp = getRequestListener(app.fetch, untouched);
  const toPage = page === null ? null : getRequestListener(page.fetch, untouched);
  const hasPage = toPage !== null;
  const answer = (request: IncomingMessage, response: ServerResponse): void => {
    void (toPage !== null && isPageTarget(request.url ?? "") ? toPage : toApp)(request, response);
  };
  for (const server of servers) server.on("request", answer);
  const url = `http://${nameInUrl(listening.host)}:${port}`;
  log.info({ where: url }, "http_listens");
  if (!isLoopback(listening.host))
    log.warn({ where: url }, "http_open_to_the_network: the token crosses it unencrypted");
  if (takenBeside !== null)
    log.warn({ where: `${nameInUrl(takenBeside)}:${port}` }, "page_off: another program listens there");
  const ownHost = isLoopback(listening.host) ? nameInUrl(listening.host) : "127.0.0.1";
  const address = hasPage ? { where: `${ownHost}:${port}`, name } : null;
  const onUnwritten = (error: unknown): void =>
    log.warn({ why: errorMessage(error) }, "page_address_not_written");
  const kept = stack.move();
  return {
    url,
    page: address,
    newToken: token.newIn === null ? null : { text: token.text, file: token.newIn },
    watch(daemon) {
      channels.watch(daemon);
      // Not before: until then another daemon may have the data folder.
      if (address !== null) kept.defer(keepAddress(dataDir, address, onUnwritten));
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

/** @returns null: it cannot be kept, so there is no page */
async function keyOf(dataDir: string, log: Logger): Promise<string | null> {
  try {
    return await openPageKey(dataDir);
  } catch (error) {
    log.warn({ why: errorMessage(error) }, "page_off: its key cannot be kept in the data folder");
    return null;
  }
}

interface Opened {
  readonly servers: readonly Server[];
  readonly listening: Listening;
  /** Browsers of this machine reach these servers and no other program. */
  readonly hasPage: boolean;
  /** Where another program listens, so that there is no page; null: nowhere. */
  readonly takenBeside: string | null;
}

/** Ports from the built-in one on that are tried before any free one. */
const TRIED_PORTS = 20;

/** @throws OperatorError if it cannot listen there */
async function openServers({ host, port: first, mayMove }: HttpConfig): Promise<Opened> {
  if (!mayMove) return openAt({ host, port: first });
  for (let port = first; port < first + TRIED_PORTS; port++) {
    try {
      const opened = await openAt({ host, port });
      if (opened.hasPage) return opened;
      await Promise.all(opened.servers.map(close));
    } catch (error) {
      if (!isTaken(error)) throw error;
    }
  }
  return openAt({ host, port: 0 });
}

/** Browsers take the page's name for this machine, by `::1` first and then by 127.0.0.1. */
const BESIDE: Readonly<Record<string, string>> = { "127.0.0.1": "::1", "0.0.0.0": "::1", "::1": "127.0.0.1" };

/** Listens at an address, and at the other one where browsers look for the page: no other program may have either. */
async function openAt({ host, port: wanted }: Listening): Promise<Opened> {
  const server = createLimitedServer();
  const listening = { host, port: await listen(server, { host, port: wanted }) };
  const bound = server.address();
  const address = typeof bound === "object" && bound !== null ? bound.address : host;
  const opened = { servers: [server], listening, takenBeside: null };
  if (address === "::") return { ...opened, hasPage: true };
  const other = BESIDE[address];
  if (other === undefined) return { ...opened, hasPage: false };
  const beside = createLimitedServer();
  try {
    await listen(beside, { host: other, port: listening.port });
    return { ...opened, servers: [server, beside], hasPage: true };
  } catch (error) {
    if (isTaken(error)) return { ...opened, hasPage: false, takenBeside: other };
    // Without IPv6 browsers use 127.0.0.1 alone.
    const isMissing =
      error instanceof Error && /^(?:EADDRNOTAVAIL|EAFNOSUPPORT)$/.test(errorCode(error.cause));
    return { ...opened, hasPage: isMissing && other === "::1" };
  }
}

function createLimitedServer(): Server {
  const server = createServer(LIMITS);
  server.maxConnections = MAX_CONNECTIONS;
  // Ends idle sockets: their clients do not read the response.
  server.setTimeout(REQUEST_MS);
  return server;
}

/** Resolves when no client is connected. */
async function close(server: Server): Promise<void> {
  await new Promise<void>((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

/** @returns the port: the configured one may be 0, for any free one @throws OperatorError if it cannot listen there */
async function listen(server: Server, { host, port }: Listening): Promise<number> {
  await new Promise<void>((resolve, reject) => {
    const onError = (error: Error): void => reject(cannotListen(error, `${nameInUrl(host)}:${port}`));
    server.once("error", onError);
    server.listen(port, host, () => {
      server.off("error", onError);
      resolve();
    });
  });
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : port;
}

/** Listens for a moment to check the port. @throws OperatorError if it cannot listen there */
export async function tryListen(http: HttpConfig): Promise<void> {
  const server = createServer();
  await listen(server, http);
  await close(server);
}

/** Interval between attempts at a port that another Weir uses, ms. */
const PORT_LOOK_MS = 500;
const ASKED_MS = 5000;

/**
 * Starts the service once no other Weir listens there.
 * @param until ends the wait
 * @throws OperatorError if it cannot listen there, or the wait is ended
 */
export async function startHttpServiceOnceFree(
  options: HttpServiceOptions,
  until: AbortSignal,
): Promise<HttpService> {
  const { host, port } = options.http;
  let isTold = false;
  let isForeign = false;
  for (;;) {
    try {
      return await startHttpService(options);
    } catch (error) {
      // A listener without an answer may just have ended: tries once more.
      if (until.aborted || isForeign || !isTaken(error)) throw error;
      isForeign = !(await answersAsWeir(host, port));
      if (isForeign) continue;
      const where = `${nameInUrl(host)}:${port}`;
      if (!isTold) options.log.warn({ where }, "port_waited_for: another Weir listens there");
      isTold = true;
      await pause(PORT_LOOK_MS, until);
      if (until.aborted) throw error;
    }
  }
}

/** Whether it is the error of a port at which another program listens. */
export function isTaken(error: unknown): boolean {
  return error instanceof Error && errorCode(error.cause) === "EADDRINUSE";
}

/** Whether a Weir listens there: its refusal without a token has a unique wording. */
export async function answersAsWeir(host: string, port: number): Promise<boolean> {
  try {
    const answer = await fetch(`http://${nameInUrl(host)}:${port}/channels`, {
      signal: AbortSignal.timeout(ASKED_MS),
      redirect: "error",
    });
    return answer.status === 401 && (await answer.text()).includes(SHOW_TOKEN);
  } catch {
    return false;
  }
}

const REASONS: Readonly<Record<string, string>> = {
  EADDRINUSE:
    "another program listens there already, perhaps another Weir: end it, or choose another port under [http] in config.toml",
  EADDRNOTAVAIL:
    "this machine has no such address: choose one that it has, such as 127.0.0.1, under [http] in config.toml",
  EACCES: "this account may not: choose a port from 1024 on, under [http] in config.toml",
  ENOTFOUND: "nobody knows this name: write an address under [http] in config.toml",
};

function cannotListen(error: Error, address: string): OperatorError {
  const why = REASONS[errorCode(error)] ?? errorMessage(error);
  return new OperatorError(`http.listen: Weir cannot listen on ${address}: ${why}.`, { cause: error });
}
