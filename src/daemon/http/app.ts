import { type Context, Hono, type MiddlewareHandler } from "hono";
import { HTTPException } from "hono/http-exception";
import type { Logger } from "pino";
import type { z } from "zod";
import { errorMessage } from "../../core/errors.ts";
import { displayableJson } from "../../text/displayable.ts";
import type { ChannelReports } from "./channels.ts";
import type { Metrics } from "../metrics/metrics.ts";
import { channelsQuery, compactionsQuery, openApi } from "./openapi.ts";
import type { Readiness } from "../metrics/readiness.ts";
import { judgeToken, SHOW_TOKEN } from "./token.ts";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { hostsOf, pageOf } from "../../platforms/local/local-only.ts";

export interface AppParts {
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly channels: ChannelReports;
  readonly version: string;
  readonly token: string;
  readonly mask: (text: string) => string;
  /** Allowed values of `Host`, in lower case. */
  readonly hosts: ReadonlySet<string>;
  readonly log: Logger;
}

type Env = { Variables: { hasToken: boolean } };

/** Paths that give a short answer without a token, and the full one with it. */
const OPEN: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/** The routes of the HTTP service, after the checks for every request. */
export function createApp(parts: AppParts): Hono<Env> {
  const { readiness, metrics, channels, version, mask, log } = parts;
  const app = new Hono<Env>();
  app.use(async (c, next) => {
    await next();
    c.header("cache-control", "no-store");
    c.header("x-content-type-options", "nosniff");
  });
  app.use(fromNoPage(parts.hosts));
  app.use(onlyAsking());
  app.use(withToken(parts.token));
  app.notFound((c) => refuse(c, 404, "there is nothing here: /openapi.json lists what there is"));
  app.onError((error, c) => {
    if (error instanceof HTTPException) return refuse(c, error.status, error.message);
    log.warn({ path: c.req.path, why: errorMessage(error) }, "http_request_failed");
    // The reason is only logged: it may contain people's messages.
    return refuse(c, 503, "this failed: the log says why");
  });
  const say = (c: Context, value: object, status: 200 | 503 = 200): Response =>
    c.body(maskedJson(value, mask), status, { "content-type": "application/json" });

  app.get("/healthz", (c) =>
    say(c, { status: "ok", ...(c.var.hasToken && { version, uptimeMs: readiness.uptimeMs }) }),
  );
  app.get("/readyz", async (c) => {
    const { state, checks } = await readiness.report();
    const isReady = state !== "not ready";
    if (!c.var.hasToken) return say(c, { status: isReady ? "ok" : "not ok" }, isReady ? 200 : 503);
    return say(c, { status: state, checks }, isReady ? 200 : 503);
  });
  app.get("/metrics", async (c) =>
    c.body(await metrics.render(), 200, { "content-type": metrics.contentType }),
  );
  app.get("/channels", async (c) => {
    const { limit, before } = queryOf(c, channelsQuery);
    return say(c, await channels.list(limit, before));
  });
  app.get("/channels/:id/context", async (c) => say(c, await channels.context(c.req.param("id"))));
  app.get("/channels/:id/compactions", async (c) => {
    const { limit } = queryOf(c, compactionsQuery);
    return say(c, await channels.compactions(c.req.param("id"), limit));
  });
  const description = openApi(version);
  app.get("/openapi.json", (c) => say(c, description));
  return app;
}

function withToken(token: string): MiddlewareHandler<Env> {
  return async (c, next) => {
    const judged = judgeToken(c.req.header("authorization"), token);
    if (judged === "wrong" || (judged === "none" && !OPEN.has(c.req.path))) {
      c.header("www-authenticate", "Bearer");
      return refuse(c, 401, SHOW_TOKEN);
    }
    c.set("hasToken", judged === "right");
    await next();
    return undefined;
  };
}

/** @throws HTTPException (400) that describes the error */
function queryOf<Schema extends z.ZodType>(c: Context, schema: Schema): z.output<Schema> {
  const result = schema.safeParse(c.req.query());
  if (result.success) return result.data;
  const why = result.error.issues.map((issue) => `${issue.path.join(".")}: ${issue.message}`).join("; ");
  throw new HTTPException(400, { message: why });
}

function maskedJson(value: object, mask: (text: string) => string): string {
  return `${displayableJson(value, 2, mask)}\n`;
}

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
function fromNoPage(hosts: ReadonlySet<string>): MiddlewareHandler {
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
function onlyAsking(): MiddlewareHandler {
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
function refuse(c: Context, status: ContentfulStatusCode, error: string): Response {
  c.header("connection", "close");
  return c.json({ error }, status);
}
