import type { Context, MiddlewareHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { hostsOf, pageOf } from "../../platforms/local/local-only.ts";

export interface Listening {
  readonly host: string;
  readonly port: number;
}

/**
 * Allowed values of `Host`: this machine's own names with the port, and the operator's names with that port, without a port, or with
 * the configured one.
 */
export function allowedHosts({ host, port }: Listening, names: readonly string[]): ReadonlySet<string> {
  const named = names.flatMap((name) => (/:\d+$/.test(name) ? [name] : [name, `${name}:${port}`]));
  return new Set([...hostsOf(host, port), ...named]);
}

/**
 * Refuses web pages: browsers on this machine and its network can reach the service. The `Host` of its requests reveals a page whose
 * name points here (DNS rebinding); the refusal names no allowed host.
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

/** Refuses all but reading requests: nothing can be changed here, and bodies need not be read. */
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

/** An error response that also closes the connection: the rest of its data is not worth reading. */
export function refuse(c: Context, status: ContentfulStatusCode, error: string): Response {
  c.header("connection", "close");
  return c.json({ error }, status);
}
