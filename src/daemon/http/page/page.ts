/**
 * The page on which operators see channels being kept: server-rendered, read-only, for browsers. It reads what the JSON API
 * reads, by the same functions, and has its own guard: a session, a strict policy, and forms of its own origin alone.
 */

import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Logger } from "pino";
import { errorMessage } from "../../../core/errors.ts";
import { NoKeyError, type Signer } from "../../../store/database/signing-key.ts";
import { weirCommand } from "../../../files/installation.ts";
import type { Readiness } from "../../metrics/readiness.ts";
import type { ChannelReports } from "../channels.ts";
import { SCRIPT_ASSET, STYLE_ASSET } from "./assets.ts";
import { CODE_PURPOSE, readCode } from "./codes.ts";
import { isToken, type Session, type Sessions } from "./sessions.ts";
import { channelPage, type Markup, overviewPage, sentencePage, signInPage } from "./views.ts";

export interface PageParts {
  readonly readiness: Readiness;
  readonly channels: ChannelReports;
  readonly sessions: Sessions;
  readonly signer: Pick<Signer, "derive">;
  readonly mask: (text: string) => string;
  /** Allowed values of `Host`, in lower case. */
  readonly hosts: ReadonlySet<string>;
  readonly log: Logger;
  /** ms */
  readonly now: () => number;
}

type Env = { Variables: { session: Session } };

const COOKIE = "weir_page";
/** Tries to sign in within a minute, of everybody together. */
const MOST_TRIES = 10;
const TRIES_MS = 60_000;
const MAX_FORM_BYTES = 4096;
const CHANNELS_ON_PAGE = 50;
const COMPACTIONS_ON_PAGE = 20;

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; form-action 'self'; " +
    "base-uri 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
  // With `no-referrer` a browser hides the origin of the page's own forms, too.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

/** Whether the page answers a path; all others are the API's. */
export function isPagePath(path: string): boolean {
  return path === "/" || path.startsWith("/page/");
}

export function createPage(parts: PageParts): Hono<Env> {
  const { readiness, channels, mask, hosts, log } = parts;
  const page = new Hono<Env>();
  page.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) c.header(name, value);
    if (!c.res.headers.has("cache-control")) c.header("cache-control", "no-store");
  });
  page.use(fromKnownHost(hosts));
  page.onError((error, c) => {
    if (error instanceof HTTPException)
      return show(c, sentencePage("Error", error.message, null), error.status);
    log.warn({ path: c.req.path, why: errorMessage(error) }, "page_request_failed");
    return show(c, sentencePage("Error", "This failed: the log says why.", null), 503);
  });
  page.use("*", onlyForms());
  for (const { path, type, text } of [STYLE_ASSET, SCRIPT_ASSET])
    page.get(path, (c) =>
      c.body(text, 200, { "content-type": type, "cache-control": "public, max-age=31536000, immutable" }),
    );
  page.post("/page/sign-in", limited(parts), async (c) => signIn(c, parts));
  page.use("*", signedIn(parts.sessions));
  page.post("/page/sign-out", async (c) => signOut(c, parts.sessions));
  page.get("/", async (c) => {
    const before = Number(c.req.query("before"));
    const listed = await channels.list(
      CHANNELS_ON_PAGE,
      Number.isSafeInteger(before) && before > 0 ? before : undefined,
    );
    const { checks } = await readiness.report();
    return show(c, overviewPage(c.var.session, masked({ checks, ...listed }, mask)));
  });
  page.get("/page/channel", async (c) => {
    const { isPrivate, ...view } = await channels.view(c.req.query("id") ?? "", COMPACTIONS_ON_PAGE);
    const isHidden = isPrivate && c.var.session.role !== "operator";
    return show(c, channelPage(c.var.session, masked({ ...view, isHidden }, mask)));
  });
  page.notFound((c) =>
    show(c, sentencePage("Not found", "There is nothing here.", c.var.session ?? null), 404),
  );
  return page;
}

async function show(c: Context, markup: Markup, status: ContentfulStatusCode = 200): Promise<Response> {
  return c.html(await markup, status);
}

function fromKnownHost(hosts: ReadonlySet<string>): MiddlewareHandler {
  return async (c, next) => {
    if (!hosts.has(hostOf(c)))
      throw new HTTPException(403, {
        message: "This name is not known here: name it in hosts, under [http] in config.toml.",
      });
    await next();
  };
}

function hostOf(c: Context): string {
  return (c.req.header("host") ?? "").toLowerCase();
}

/** Takes nothing but reading requests, and small forms of this origin's own pages. */
function onlyForms(): MiddlewareHandler {
  const small = bodyLimit({
    maxSize: MAX_FORM_BYTES,
    onError: () => {
      throw new HTTPException(413, { message: "The form is too long." });
    },
  });
  return async (c, next) => {
    const { method } = c.req;
    if (method === "GET" || method === "HEAD") return next();
    if (method !== "POST") throw new HTTPException(405, { message: "Only GET and POST are taken." });
    const origin = c.req.header("origin");
    const isOwn = origin === `http://${hostOf(c)}` || origin === `https://${hostOf(c)}`;
    if (!isOwn || c.req.header("sec-fetch-site") !== "same-origin")
      throw new HTTPException(403, { message: "A form must come from this page itself." });
    return small(c, next);
  };
}

/** One limit for everybody: whoever tries codes cannot get around it by another address. */
function limited({ now }: Pick<PageParts, "now">): MiddlewareHandler {
  let tries: number[] = [];
  return async (_c, next) => {
    tries = tries.filter((at) => now() - at < TRIES_MS);
    if (tries.length >= MOST_TRIES)
      throw new HTTPException(429, { message: "Too many tries: wait a minute." });
    tries.push(now());
    await next();
  };
}

/** Shows the form to sign in to everybody without a session, whatever they ask for. */
function signedIn(sessions: Sessions): MiddlewareHandler<Env> {
  return async (c, next) => {
    const secret = getCookie(c, COOKIE);
    const session = secret === undefined ? undefined : sessions.of(secret);
    if (session === undefined) return show(c, signInForm(c, null), 401);
    c.set("session", session);
    await next();
    return undefined;
  };
}

function signInForm(c: Context, why: string | null): Markup {
  return signInPage(why, /^(?:127\.|localhost|\[::1\])/.test(hostOf(c)), weirCommand("open"));
}

async function signIn(c: Context, { signer, sessions, now }: PageParts): Promise<Response> {
  const { code } = await c.req.parseBody();
  const read = typeof code === "string" ? readCode(await keyOf(signer), code.trim(), now()) : null;
  const secret = read === null ? null : sessions.signIn(read);
  if (secret === null) {
    const why = "This code is not valid: it was used, is older than a minute, or is of another data folder.";
    return show(c, signInForm(c, why), 403);
  }
  setCookie(c, COOKIE, secret, { httpOnly: true, sameSite: "Strict", path: "/" });
  return c.redirect("/", 303);
}

/** Without a key no code is valid: nobody has made one. */
async function keyOf(signer: PageParts["signer"]): Promise<Buffer> {
  try {
    return (await signer.derive(CODE_PURPOSE, "makes none")).bytes;
  } catch (error) {
    if (error instanceof NoKeyError)
      throw new HTTPException(403, { message: "This code is not valid: no code was made here." });
    throw error;
  }
}

async function signOut(c: Context<Env>, sessions: Sessions): Promise<Response> {
  const { token } = await c.req.parseBody();
  if (typeof token !== "string" || !isToken(c.var.session, token))
    throw new HTTPException(403, { message: "A form must come from this page itself." });
  sessions.signOut(getCookie(c, COOKIE) ?? "");
  deleteCookie(c, COOKIE, { path: "/" });
  return c.redirect("/", 303);
}

/** The same value with all secrets masked in its texts. */
function masked<Value>(value: Value, mask: (text: string) => string): Value {
  const inner = (one: unknown): unknown => {
    if (typeof one === "string") return mask(one);
    if (Array.isArray(one)) return one.map(inner);
    if (one === null || typeof one !== "object" || one instanceof Date) return one;
    return Object.fromEntries(Object.entries(one).map(([key, part]) => [key, inner(part)]));
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- it has the value's own form
  return inner(value) as Value;
}
