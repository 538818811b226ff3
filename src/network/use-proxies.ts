import type { Agent, ClientRequest } from "node:http";
import https from "node:https";
import { createRequire } from "node:module";
import type * as Undici from "undici";
import { errorCode } from "../core/errors.ts";
import { isSecure, type Proxies, proxyFor, shownProxy } from "./proxies.ts";
import { http } from "./node-http.ts";

/**
 * Sends what the process asks of others through the proxies of its environment. Each part uses one of two clients:
 *
 *   fetch, discord.js (REST), Slack's Web API and socket, MCP → undici's global dispatcher
 *   the model's server, embeddings, Discord's gateway         → an agent of Node's `http` and `https`
 *
 * Node's own switch (`NODE_USE_ENV_PROXY`) is not used: its undici connects again and again, without a pause and also after the request
 * was ended, to a proxy that closes a CONNECT; it has other rules for `NO_PROXY` in either client; and it sends this machine's own
 * addresses to the proxy. The package of undici has mended the first.
 */

/** A proxy did not connect. The message names the origin of the proxy alone, and repeats nothing of its answer. */
export class ProxyError extends Error {
  readonly code = "ERR_PROXY";
  override readonly name = "ProxyError";
}

interface InUse {
  readonly proxies: Proxies;
  readonly dispatcher: Undici.Dispatcher;
  readonly agents: Map<string, Agent>;
}

let inUse: InUse | null = null;

/**
 * For the whole process, until the next call.
 * @param proxies null: none, and nothing is loaded or changed
 * @returns ends their use
 */
export function useProxies(proxies: Proxies | null): Disposable {
  if (proxies === null) return { [Symbol.dispose]: () => undefined };
  // Loaded here and not above: without a proxy it costs nothing.
  const undici: typeof Undici = createRequire(import.meta.url)("undici");
  const before = undici.getGlobalDispatcher();
  const dispatcher = dispatcherFor(proxies, undici);
  const agents = new Map<string, Agent>();
  inUse = { proxies, dispatcher, agents };
  undici.setGlobalDispatcher(dispatcher);
  giveSocketsAgents();
  return {
    [Symbol.dispose]() {
      undici.setGlobalDispatcher(before);
      for (const agent of agents.values()) agent.destroy();
      void dispatcher.destroy();
      inUse = null;
    },
  };
}

/** For a client of undici that does not use the global one; undefined: no proxies are in use. */
export function proxyDispatcher(): Undici.Dispatcher | undefined {
  return inUse?.dispatcher;
}

/** For a request of `node:http` or `node:https`; undefined: no proxies are in use, and the global agent does. */
export function agentFor(url: URL): Agent | undefined {
  if (inUse === null) return undefined;
  const { proxies, agents } = inUse;
  const proxy = proxyFor(proxies, url);
  const key = `${isSecure(url) ? "https" : "http"} ${proxy ?? ""}`;
  const known = agents.get(key);
  if (known !== undefined) return known;
  // As Node's global agents, which may have proxies of their own (NODE_USE_ENV_PROXY).
  const options = { keepAlive: true, scheduling: "lifo", timeout: 5000 } as const;
  const proxyEnv = proxy === null ? {} : { HTTP_PROXY: proxy, HTTPS_PROXY: proxy };
  const agent = isSecure(url)
    ? new https.Agent({ ...options, proxyEnv })
    : new http.Agent({ ...options, proxyEnv });
  agents.set(key, agent);
  return agent;
}

/** A client's error, and what has caused it. Slack's client names its cause `original`. */
export function* causesOf(error: unknown): Generator<Error> {
  for (let one: unknown = error; one instanceof Error; one = "original" in one ? one.original : one.cause)
    yield one;
}

/** A proxy's failure in an error or in what has caused it; null: there is none. */
export function proxyErrorIn(error: unknown): ProxyError | null {
  return causesOf(error).find((one) => one instanceof ProxyError) ?? null;
}

/** Describes a failure of the proxy without its secrets; returns any other error unchanged. */
export function throughProxy(error: unknown, url: URL): unknown {
  const proxy = inUse === null ? null : proxyFor(inUse.proxies, url);
  const why = proxy === null ? null : whyNot(error);
  if (proxy === null || why === null) return error;
  return new ProxyError(`the proxy ${shownProxy(proxy)} ${why}`);
}

const REFUSED = /^Proxy response \((?<status>\d+)\)|^(?<login>Proxy Authentication Required)/;

/** @returns null: it is not the proxy's fault. Pure. */
function whyNot(error: unknown): string | null {
  if (!(error instanceof Error)) return null;
  const code = errorCode(error);
  const { status, login } = REFUSED.exec(error.message)?.groups ?? {};
  const isTunnel = code === "ERR_PROXY_TUNNEL";
  const answered = isTunnel && "statusCode" in error ? Number(error.statusCode) : Number(status);
  if (login !== undefined || answered === 407) return "wants a name and a password, or others (407)";
  if (answered > 0) return `refuses the connection (${answered})`;
  if (isTunnel || code === "UND_ERR_PRX_CONN")
    return "closed the connection, or answered with something unexpected";
  if (error.name === "HTTPParserError") return "answered with something that is no HTTP";
  const isUnreached = "syscall" in error && /^(?:connect|getaddrinfo)/.test(String(error.syscall));
  return isUnreached || code === "UND_ERR_CONNECT_TIMEOUT" ? `cannot be reached (${code})` : null;
}

function dispatcherFor(
  proxies: Proxies,
  { Agent, ProxyAgent }: Pick<typeof Undici, "Agent" | "ProxyAgent">,
): Undici.Dispatcher {
  // HTTP/1.1 as everywhere without a proxy: Slack's socket needs a connection of its own.
  const plain = { allowH2: false } as const;
  const addresses = [proxies.https, proxies.http].filter((address) => address !== null);
  const agents = new Map(
    addresses.map((uri) => [uri, new ProxyAgent({ uri, ...plain, requestTls: plain, proxyTls: plain })]),
  );
  return new Agent(plain).compose((dispatch) => (options, handler) => {
    const url = URL.parse(String(options.origin));
    const agent = url === null ? undefined : agents.get(proxyFor(proxies, url) ?? "");
    if (url === null || agent === undefined) return dispatch(options, handler);
    const tell = handler.onResponseError?.bind(handler);
    handler.onResponseError = (controller, error) => {
      const shown = throughProxy(error, url);
      tell?.(controller, shown instanceof Error ? shown : error);
    };
    return agent.dispatch(options, handler);
  });
}

let areSocketsGiven = false;

/**
 * `@discordjs/ws` has no option for an agent, and without one `ws` makes a connection by itself. So `ws` gets its agent here: nothing else
 * asks `https` with a connection of its own and no agent.
 */
function giveSocketsAgents(): void {
  if (areSocketsGiven) return;
  areSocketsGiven = true;
  const own = https.request;
  const request = (
    options: string | URL | https.RequestOptions,
    ...rest: readonly unknown[]
  ): ClientRequest => {
    const agent = typeof options === "string" || options instanceof URL ? undefined : socketAgent(options);
    const asked =
      agent === undefined ? options : Object.assign(options, { agent, createConnection: undefined });
    return Reflect.apply(own, https, [asked, ...rest]);
  };
  Object.assign(https, { request });
}

function socketAgent({ agent, createConnection, host, port }: https.RequestOptions): Agent | undefined {
  if (inUse === null || agent !== undefined || createConnection === undefined) return undefined;
  const url = URL.parse(`https://${host?.includes(":") === true ? `[${host}]` : host}:${port ?? 443}`);
  return url === null || proxyFor(inUse.proxies, url) === null ? undefined : agentFor(url);
}
