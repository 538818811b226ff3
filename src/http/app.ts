import { Hono } from "hono";
import type { Context, MiddlewareHandler } from "hono";
import type { Logger } from "pino";
import { withoutSecrets } from "../admin/secrets.ts";
import { errorMessage } from "../core/errors.ts";
import { fromNoPage, onlyAsking, refuse } from "./guard.ts";
import type { Metrics } from "./metrics.ts";
import type { Readiness } from "./readiness.ts";
import { judgeToken } from "./token.ts";

export interface AppParts {
  readonly readiness: Readiness;
  readonly metrics: Metrics;
  readonly version: string;
  readonly token: string;
  /** What no response may hold. */
  readonly secrets: readonly string[];
  /** What `Host` may be, small letters. */
  readonly hosts: () => ReadonlySet<string>;
  readonly log: Logger;
}

type Env = { Variables: { hasToken: boolean } };

/** Paths that say a word without a token, and the rest with it. */
const OPEN: ReadonlySet<string> = new Set(["/healthz", "/readyz"]);

/** The routes of the HTTP service, behind what is asked of every request. */
export function createApp(parts: AppParts): Hono<Env> {
  const { readiness, metrics, version, log } = parts;
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
    log.warn({ path: c.req.path, why: errorMessage(error) }, "http_request_failed");
    // Why is the log's: what went wrong may hold what somebody has said.
    return refuse(c, 503, "this failed: the log says why");
  });
  const say = (c: Context, value: object, status: 200 | 503 = 200): Response =>
    c.body(maskedJson(value, parts.secrets), status, { "content-type": "application/json" });

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
  return app;
}

function withToken(token: string): MiddlewareHandler<Env> {
  return async (c, next) => {
    const judged = judgeToken(c.req.header("authorization"), token);
    if (judged === "wrong" || (judged === "none" && !OPEN.has(c.req.path))) {
      c.header("www-authenticate", "Bearer");
      return refuse(c, 401, "show the token: Authorization: Bearer TOKEN");
    }
    c.set("hasToken", judged === "right");
    await next();
    return undefined;
  };
}

/** JSON in whose texts no secret stands. */
function maskedJson(value: object, secrets: readonly string[]): string {
  const mask = (_: string, inner: unknown): unknown =>
    typeof inner === "string" ? withoutSecrets(inner, secrets) : inner;
  return `${JSON.stringify(value, mask, 2)}\n`;
}
