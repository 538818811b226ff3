import type { Context, MiddlewareHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { hostsOf, pageOf } from "../../platforms/loopback/local-only.ts";

export interface Listening {
  readonly host: string;
  readonly port: number;
}

/**
 * What `Host` may be: this machine's own names with the port, and the operator's names with that port, without one, or with the one
 * that is written there.
 */
export function allowedHosts({ host, port }: Listening, names: readonly string[]): ReadonlySet<string> {
  const named = names.flatMap((name) => (/:\d+$/.test(name) ? [name] : [name, `${name}:${port}`]));
  return new Set([...hostsOf(host, port), ...named]);
}

/**
 * Refuses web pages: the browsers of this machine and its network reach the service. A page whose name points here (DNS rebinding)
 * is told by the `Host` of its requests; it learns no name that would do.
 */
export function fromNoPage(hosts: ReadonlySet<string>): MiddlewareHandler {
  return async (c, next) => {
    const page = pageOf(c);
    if (page !== null) return refuse(c, 403, `no requests of web pages are taken (${page})`);
    if (!hosts.has((c.req.header("host") ?? "").toLowerCase()))
      return refuse(c, 403, "this Host is not known here: name it in hosts, under [http] in config.toml");
    await next();
    return undefined;
  };
}

/** Refuses whatever does more than to ask: there is nothing to change here, and a body would only have to be read. */
export function onlyAsking(): MiddlewareHandler {
  return async (c, next) => {
    if (c.req.method !== "GET" && c.req.method !== "HEAD") {
      c.header("allow", "GET, HEAD");
      return refuse(c, 405, "only GET and HEAD are taken");
    }
    const length = c.req.header("content-length") ?? "0";
    if (length !== "0" || c.req.header("transfer-encoding") !== undefined)
      return refuse(c, 413, "a request has no body here");
    await next();
    return undefined;
  };
}

/** An error; the connection ends with it, for nothing else that comes over it is worth reading. */
export function refuse(c: Context, status: ContentfulStatusCode, error: string): Response {
  c.header("connection", "close");
  return c.json({ error }, status);
}
