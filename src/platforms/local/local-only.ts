import type { Context, MiddlewareHandler } from "hono";

/** Names of the machine itself. */
const OWN_NAMES = ["127.0.0.1", "[::1]", "localhost"];
const HTTP_PORT = 80;

/** The accepted values of `Host` for a service that listens on `host`, an address or a name, and `port`. */
export function hostsOf(host: string, port: number): string[] {
  const names = [...new Set([...OWN_NAMES, nameInUrl(host).toLowerCase()])];
  return names.flatMap((name) => [...new Set([`${name}:${port}`, hostHeader(name, port)])]);
}

/** The `Host` that a browser sends to a name and a port. */
export function hostHeader(name: string, port: number): string {
  return port === HTTP_PORT ? name : `${name}:${port}`;
}

/** As a URL has it: an IPv6 address stands in brackets. */
export function nameInUrl(host: string): string {
  return host.includes(":") ? `[${host}]` : host;
}

/**
 * Refuses requests of web pages: browsers of this machine reach the service, and everybody is an owner here. A page whose name
 * points at this machine (DNS rebinding) is recognised by the `Host` of its requests.
 * @param hosts small letters
 */
export function localOnly(hosts: () => readonly string[]): MiddlewareHandler {
  return async (c, next) => {
    const page = pageOf(c);
    if (page !== null) return c.json({ error: `this service takes no requests of web pages (${page})` }, 403);
    const host = c.req.header("host") ?? "";
    if (!hosts().includes(host.toLowerCase())) {
      const error = `Host must be one of ${hosts().join(", ")}, and is ${JSON.stringify(host)}`;
      return c.json({ error }, 403);
    }
    await next();
    return undefined;
  };
}

/** The header that shows that a request comes from a web page; null: there is none. */
export function pageOf({ req }: Context): string | null {
  const origin = req.header("origin");
  if (origin !== undefined) return `Origin: ${origin}`;
  // Images and links of a page have no Origin.
  const site = req.header("sec-fetch-site");
  return site === "cross-site" || site === "same-site" ? `Sec-Fetch-Site: ${site}` : null;
}
