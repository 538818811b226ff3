/**
 * The page on which operators see channels being kept: server-rendered, read-only, for browsers. It reads what commands read, by the
 * same functions, and has its own guard: a session, a strict policy, and forms of its own origin alone.
 */

import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { html } from "hono/html";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Logger } from "pino";
import { errorMessage } from "../../../core/errors.ts";
import { weirCommand } from "../../../files/installation.ts";
import { isSameSecret } from "../../../network/same-secret.ts";
import type { Readiness } from "../../metrics/readiness.ts";
import type { ChannelReports } from "../channels.ts";
import { LIVE_ASSET, SCRIPT_ASSET, STYLE_ASSET } from "./assets.ts";
import { PROOF_PATH } from "./address.ts";
import { proofOf, readCode } from "./codes.ts";
import { EVENTS_PATH } from "./channel/live-line.ts";
import { LiveStreams } from "./live/live-streams.ts";
import type { Session, Sessions } from "./sessions.ts";
import { type Link, type Markup, signInPage, wholePage } from "./markup.ts";
import type { Asked } from "./place.ts";
import { DOWNLOADS, PLACES } from "./places/places.ts";
import { TuneRuns } from "./what-if/tune-process.ts";

export interface PageParts {
  readonly readiness: Readiness;
  readonly channels: ChannelReports;
  readonly sessions: Sessions;
  /** The HTTP service's: who may read it may sign in. */
  readonly token: string;
  readonly mask: (text: string) => string;
  /** The same for a text that is still being written. */
  readonly maskSoFar: (text: string) => string;
  /** The only `Host` that is answered. */
  readonly host: string;
  readonly port: number;
  readonly log: Logger;
  /** Ends what the page has begun. */
  readonly closing: AbortSignal;
  /** ms */
  readonly now: () => number;
  /** Of open streams, ms; default: 5 s. */
  readonly beatMs?: number | undefined;
}

type Env = { Bindings: HttpBindings; Variables: { session: Session; secret: string } };

const COOKIE = "weir_page";
/** Wrong codes within a minute, of everybody together. */
const MOST_FAILURES = 10;
const FAILURES_MS = 60_000;
const MAX_FORM_BYTES = 4096;

const LINKS: readonly Link[] = PLACES.flatMap(({ path, name }) => (name === null ? [] : [{ path, name }]));

const HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy":
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src data:; connect-src 'self'; form-action 'self'; base-uri 'none'; " +
    "frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
  // With `no-referrer` a browser hides the origin of the page's own forms, too.
  "referrer-policy": "same-origin",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
  "x-content-type-options": "nosniff",
};

/** Whether the page answers a request target; all others are the API's. */
export function isPageTarget(target: string): boolean {
  return /^\/(?:$|[?#]|page\/)/.test(target);
}

export function createPage(parts: PageParts): Hono<Env> {
  const { readiness, channels: reports, mask, host, log, sessions } = parts;
  const page = new Hono<Env>();
  const show: Show = async (c, markup, status = 200) =>
    // Also a secret that became one only when control characters were removed.
    c.html(mask(String(await markup)), status);
  const tuneRuns = new TuneRuns(parts.closing);
  const askedBy = (c: Context<Env>): Asked => {
    const query = (name: string): string => c.req.query(name) ?? "";
    return { reports, readiness, mask, query, signal: c.req.raw.signal, tuneRuns };
  };
  page.use(async (c, next) => {
    await next();
    for (const [name, value] of Object.entries(HEADERS)) c.header(name, value);
    if (!c.res.headers.has("cache-control")) c.header("cache-control", "no-store");
  });
  page.onError(async (error, c) => {
    if (error instanceof HTTPException)
      return show(c, sentencePage("Error", error.message, null), error.status);
    log.warn({ path: c.req.path, why: errorMessage(error) }, "page_request_failed");
    return show(c, sentencePage("Error", "This failed: the log says why.", null), 503);
  });
  // Before the name: who asks for a proof must not send it to whatever listens there.
  page.get(PROOF_PATH, (c) =>
    c.text(proofOf(parts.token, parts.port, (c.req.query("of") ?? "").slice(0, 100))),
  );
  page.use("*", fromOwnName(host), onlyForms(host));
  for (const { path, type, text } of [STYLE_ASSET, SCRIPT_ASSET, LIVE_ASSET])
    page.get(path, (c) =>
      c.body(text, 200, { "content-type": type, "cache-control": "public, max-age=31536000, immutable" }),
    );
  const failures = new Failures(parts.now);
  const live = new LiveStreams({ ...parts, reports });
  page.post("/page/sign-in", async (c) => {
    const why = await signIn(c, parts, failures);
    // It has ended the session before.
    if (why === null) live.end(getCookie(c, COOKIE) ?? "");
    log.info(why === null ? "page_signed_in" : "page_code_refused");
    return why === null ? c.redirect("/", 303) : show(c, signInPage(why), 403);
  });
  page.use("*", async (c, next) => {
    const secret = getCookie(c, COOKIE);
    const session = secret === undefined ? undefined : sessions.of(secret);
    // Whatever is asked for: without a session nobody learns what there is.
    if (session === undefined) return show(c, signInPage(null), 401);
    c.set("session", session);
    c.set("secret", secret ?? "");
    await next();
    return undefined;
  });
  page.post("/page/sign-out", async (c) => {
    const answer = await signOut(c, sessions);
    live.end(c.var.secret);
    log.info("page_signed_out");
    return answer;
  });
  page.get(EVENTS_PATH, async (c) => {
    if (c.req.raw.method !== "GET") throw new HTTPException(405, { message: "Only GET is taken." });
    const from = c.req.header("last-event-id") ?? c.req.query("from") ?? "";
    const { outgoing } = c.env;
    const { secret } = c.var;
    await live.open({ channel: c.req.query("id") ?? "", from, secret, outgoing, headers: HEADERS });
    return RESPONSE_ALREADY_SENT;
  });
  servePlaces(page, askedBy, show);
  return page;
}

type Show = (c: Context, markup: Markup, status?: ContentfulStatusCode) => Promise<Response>;

/** Everything that is shown to whoever is signed in. */
function servePlaces(page: Hono<Env>, askedBy: (c: Context<Env>) => Asked, show: Show): void {
  for (const place of PLACES)
    page.get(place.path, async (c) => {
      const { title, body, againSeconds } = await place.show(askedBy(c));
      if (againSeconds !== undefined) c.header("refresh", String(againSeconds));
      return show(c, wholePage(title, c.var.session, LINKS, body));
    });
  for (const download of DOWNLOADS)
    page.get(download.path, async (c) => {
      const asked = askedBy(c);
      const { name, type, text } = await download.read(asked);
      const disposition = `attachment; filename="${name}"`;
      return c.body(asked.mask(text), 200, { "content-type": type, "content-disposition": disposition });
    });
  page.notFound(async (c) =>
    show(c, sentencePage("Not found", "There is nothing here.", c.var.session), 404),
  );
}

/** A page that says one sentence. @param session null: nobody is signed in */
function sentencePage(title: string, sentence: string, session: Session | null): Markup {
  const body = html`<h1>${title}</h1>
    <p>${sentence}</p>
    <p><a href="/">Overview</a></p>`;
  return wholePage(title, session, LINKS, body);
}

/** Other names are refused: a cookie of 127.0.0.1 goes to every program on this machine. */
function fromOwnName(host: string): MiddlewareHandler {
  return async (c, next) => {
    if ((c.req.header("host") ?? "").toLowerCase() !== host)
      throw new HTTPException(403, {
        message: `The page is at another address: run ${weirCommand("open")}.`,
      });
    await next();
  };
}

/** Takes nothing but reading requests, and small forms of the page itself. */
function onlyForms(host: string): MiddlewareHandler {
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
    if (c.req.header("origin") !== `http://${host}` || c.req.header("sec-fetch-site") !== "same-origin")
      throw new HTTPException(403, { message: "A form must come from this page itself." });
    return small(c, next);
  };
}

/** Wrong codes of the last minute. A right code is taken however many there are. */
class Failures {
  readonly #now: () => number;
  #at: number[] = [];

  constructor(now: () => number) {
    this.#now = now;
  }

  /** @throws HTTPException if there are too many */
  add(): void {
    this.#at = this.#at.filter((at) => this.#now() - at < FAILURES_MS).slice(-MOST_FAILURES);
    if (this.#at.length >= MOST_FAILURES)
      throw new HTTPException(429, { message: "Too many wrong codes: wait a minute." });
    this.#at.push(this.#now());
  }
}

/** @returns a sentence about the refused code; null: the code was right */
async function signIn(
  c: Context,
  { token, sessions, now }: PageParts,
  failures: Failures,
): Promise<string | null> {
  const { code } = await c.req.parseBody();
  const read = typeof code === "string" ? readCode(token, code.trim(), now()) : null;
  const secret = read === null ? null : sessions.signIn(read);
  if (secret === null) {
    failures.add();
    return "This code is not valid: it was used, is older than a minute or than the daemon, or is of another one.";
  }
  sessions.signOut(getCookie(c, COOKIE) ?? "");
  setCookie(c, COOKIE, secret, { httpOnly: true, sameSite: "Strict", path: "/" });
  return null;
}

async function signOut(c: Context<Env>, sessions: Sessions): Promise<Response> {
  const { token } = await c.req.parseBody();
  if (typeof token !== "string" || !isSameSecret(token, c.var.session.formToken))
    throw new HTTPException(403, { message: "A form must come from this page itself." });
  sessions.signOut(getCookie(c, COOKIE) ?? "");
  deleteCookie(c, COOKIE, { path: "/" });
  return c.redirect("/", 303);
}
