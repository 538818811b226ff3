/**
 * The page on which operators see channels being kept, and act on them: server-rendered, for browsers. It reads what commands
 * read, and acts as they do, by the same functions. Its own guard: a session with a role, a strict policy, and forms of its
 * own origin with the session's token alone.
 */

import type { HttpBindings } from "@hono/node-server";
import { RESPONSE_ALREADY_SENT } from "@hono/node-server/utils/response";
import { type Context, type Handler, Hono, type MiddlewareHandler } from "hono";
import { bodyLimit } from "hono/body-limit";
import { deleteCookie, getCookie, setCookie } from "hono/cookie";
import { html } from "hono/html";
import { HTTPException } from "hono/http-exception";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Logger } from "pino";
import { withDeadline } from "../../../async/deadline.ts";
import { errorMessage } from "../../../core/errors.ts";
import { formatAddress } from "../../../core/ids.ts";
import { weirCommand } from "../../../files/installation.ts";
import { isSameSecret } from "../../../network/same-secret.ts";
import { PLATFORM_NAME } from "../../../platforms/terminal/intake.ts";
import type { Readiness } from "../../metrics/readiness.ts";
import type { ChannelReports } from "../channels.ts";
import { LIVE_ASSET, REPLAY_ASSET, SCRIPT_ASSET, STYLE_ASSET } from "./assets.ts";
import { PROOF_PATH } from "./address.ts";
import { ACTS, DOWNLOADS, linksOf, PLACES, refusalOf, SIGN_OUT_PATH } from "./places/places.ts";
import { proofOf, readCode } from "./codes.ts";
import { PageChats } from "./chat/page-chats.ts";
import { EVENTS_PATH } from "./channel/live-line.ts";
import { LiveStreams } from "./live/live-streams.ts";
import type { Session, Sessions } from "./sessions.ts";
import { type Markup, signInPage, wholePage, withOutcome } from "./markup.ts";
import { type Act, ACT_MS, type Asked, type Done, type Form, type InTime, type Shown } from "./place.ts";
import { ReadingRights } from "./reading-rights.ts";
import { TuneRuns } from "./what-if/tune-process.ts";
import { randomBytes } from "node:crypto";
import { BoundedMap } from "../../../async/bounded-map.ts";

export interface PageParts {
  readonly readiness: Readiness;
  readonly channels: ChannelReports;
  readonly sessions: Sessions;
  /** Of the data folder: who may read it may sign in. */
  readonly key: string;
  readonly mask: (text: string) => string;
  /** The same for a text that is still being written. */
  readonly maskSoFar: (text: string) => string;
  /** The only `Host` that is answered. */
  readonly host: string;
  readonly port: number;
  readonly log: Logger;
  /** As of `PageChatsParts`; null: this daemon takes no chats. */
  readonly findSocket: (() => Promise<string | null>) | null;
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
  const live = new LiveStreams({ ...parts, reports });
  const isWatched = (name: string): boolean =>
    live.isWatched(formatAddress({ platform: PLATFORM_NAME, name }));
  const { findSocket, closing } = parts;
  const chats = findSocket && new PageChats({ findSocket, closing, isWatched });
  const askedBy = (c: Context<Env>): Asked => {
    const query = (name: string): string => c.req.query(name) ?? "";
    const { formToken, role } = c.var.session;
    const { signal } = c.req.raw;
    const rights = new ReadingRights(role);
    const ofRole = { rights, chats: rights.isAll ? chats : null };
    return { reports, readiness, mask, query, signal, tuneRuns, formToken, ...ofRole };
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
    c.text(proofOf(parts.key, parts.port, (c.req.query("of") ?? "").slice(0, 100))),
  );
  page.use("*", fromOwnName(host), onlyForms(host));
  for (const { path, type, text } of [STYLE_ASSET, SCRIPT_ASSET, LIVE_ASSET, REPLAY_ASSET])
    page.get(path, (c) =>
      c.body(text, 200, { "content-type": type, "cache-control": "public, max-age=31536000, immutable" }),
    );
  const failures = new Failures(parts.now);
  page.post("/page/sign-in", async (c) => {
    const signedIn = await signIn(c, parts, failures);
    if ("why" in signedIn) {
      log.info("page_code_refused");
      return show(c, signInPage(signedIn.why), 403);
    }
    // It has ended the session before.
    live.end(getCookie(c, COOKIE) ?? "");
    log.info({ role: signedIn.role }, "page_signed_in");
    return c.redirect("/", 303);
  });
  page.use("*", forSessions(sessions, show));
  page.post("*", async (c, next) => {
    const form = await formOf(c);
    if (!isSameSecret(form("token"), c.var.session.formToken)) throw new HTTPException(403, NOT_OWN);
    await next();
  });
  page.post(SIGN_OUT_PATH, (c) => {
    sessions.signOut(c.var.secret);
    deleteCookie(c, COOKIE, { path: "/" });
    live.end(c.var.secret);
    log.info("page_signed_out");
    return c.redirect("/", 303);
  });
  page.get(EVENTS_PATH, openStream(live));
  servePlaces(page, { log, askedBy, show });
  return page;
}

/** Lets through who is signed in, to what their role may ask for. */
function forSessions(sessions: Sessions, show: Show): MiddlewareHandler<Env> {
  return async (c, next) => {
    const secret = getCookie(c, COOKIE);
    const session = secret === undefined ? undefined : sessions.of(secret);
    // Whatever is asked for: without a session nobody learns what there is.
    if (session === undefined) return show(c, signInPage(null), 401);
    const { method, path } = c.req;
    const refusal = refusalOf(session.role, method === "HEAD" ? "GET" : method, path);
    if (refusal !== null) throw new HTTPException(403, { message: refusal });
    c.set("session", session);
    c.set("secret", secret ?? "");
    await next();
    return undefined;
  };
}

function openStream(live: LiveStreams): Handler<Env> {
  return async (c) => {
    if (c.req.raw.method !== "GET") throw new HTTPException(405, { message: "Only GET is taken." });
    const from = c.req.header("last-event-id") ?? c.req.query("from") ?? "";
    const { outgoing } = c.env;
    const { secret, session } = c.var;
    const rights = new ReadingRights(session.role);
    await live.open({ channel: c.req.query("id") ?? "", rights, from, secret, outgoing, headers: HEADERS });
    return RESPONSE_ALREADY_SENT;
  };
}

type Show = (c: Context, markup: Markup, status?: ContentfulStatusCode) => Promise<Response>;

function servePlaces(
  page: Hono<Env>,
  {
    askedBy,
    show,
    log,
  }: Pick<PageParts, "log"> & {
    readonly askedBy: (c: Context<Env>) => Asked;
    readonly show: Show;
  },
): void {
  const outcomes = new Outcomes();
  const showPlace = async (c: Context<Env>, { title, body, againSeconds }: Shown): Promise<Response> => {
    if (againSeconds !== undefined) c.header("refresh", String(againSeconds));
    const outcome = outcomes.take(c.var.session, c.req.query("outcome") ?? "");
    return show(
      c,
      wholePage(title, c.var.session, linksOf(c.var.session.role, c.req.path), withOutcome(outcome, body)),
    );
  };
  for (const place of PLACES) page.get(place.path, async (c) => showPlace(c, await place.show(askedBy(c))));
  for (const act of ACTS)
    page.post(act.path, async (c) => {
      const done = await runAct(act, askedBy(c), await formOf(c), { log, session: c.var.session });
      if (!("outcome" in done)) return showPlace(c, done);
      return c.redirect(outcomes.at(c.var.session, done), 303);
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
  return wholePage(title, session, session === null ? [] : linksOf(session.role, ""), body);
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

const NOT_OWN = { message: "A form must come from this page itself." };

/** Takes nothing but reading requests, and forms of the page itself that are no longer than they may be. */
function onlyForms(host: string): MiddlewareHandler {
  const limit = (maxSize: number): MiddlewareHandler =>
    bodyLimit({
      maxSize,
      onError: () => {
        throw new HTTPException(413, { message: "The form is too long." });
      },
    });
  const small = limit(MAX_FORM_BYTES);
  const others = new Map(ACTS.map(({ path, maxBytes = MAX_FORM_BYTES }) => [path, limit(maxBytes)]));
  return async (c, next) => {
    const { method } = c.req;
    if (method === "GET" || method === "HEAD") return next();
    if (method !== "POST") throw new HTTPException(405, { message: "Only GET and POST are taken." });
    if (c.req.header("origin") !== `http://${host}` || c.req.header("sec-fetch-site") !== "same-origin")
      throw new HTTPException(403, NOT_OWN);
    return (others.get(c.req.path) ?? small)(c, next);
  };
}

async function formOf(c: Context): Promise<Form> {
  const fields = await c.req.parseBody();
  return (name) => {
    const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
    return typeof value === "string" ? value : "";
  };
}

/** Runs it, and logs that: what, to what, in which session, and the outcome. */
async function runAct(
  act: Act,
  asked: Asked,
  form: Form,
  { log, session }: { readonly log: Logger; readonly session: Session },
): Promise<Done | Shown> {
  const on = act.on(form);
  if (on === null) throw new HTTPException(400, { message: "The form names nothing that there is here." });
  const audit = (outcome: string): void =>
    log.info({ act: act.path, on, session: session.id, outcome }, "page_act");
  const inTime: InTime = async (work, isDone = () => true) => {
    const ended = await withDeadline(
      work.then((value) => ({ value })),
      ACT_MS,
    );
    if (ended === null)
      void work.then(
        (value) => audit(isDone(value) ? "done, late" : "refused, late"),
        (error: unknown) => {
          audit("failed, late");
          log.warn({ path: act.path, why: errorMessage(error) }, "page_request_failed");
        },
      );
    return ended;
  };
  try {
    const done = await act.run(asked, form, inTime);
    audit("outcome" in done ? done.outcome : "asked");
    return done;
  } catch (error) {
    audit("failed");
    throw error;
  }
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

/** @returns the role of the new session; else a sentence about the refused code */
async function signIn(
  c: Context,
  { key, sessions, now }: PageParts,
  failures: Failures,
): Promise<Pick<Session, "role"> | { readonly why: string }> {
  const form = await formOf(c);
  const read = readCode(key, form("code").trim(), now());
  const secret = read === null ? null : sessions.signIn(read);
  if (read === null || secret === null) {
    failures.add();
    return {
      why: "This code is not valid: it was used, is older than a minute or than the daemon, or is of another one.",
    };
  }
  sessions.signOut(getCookie(c, COOKIE) ?? "");
  setCookie(c, COOKIE, secret, { httpOnly: true, sameSite: "Strict", path: "/" });
  return { role: read.role };
}

const KEPT = 100;
const KEY_BYTES = 12;

/** Outcomes of acts until the place shows them, each once: an address names one, and has no text of it. */
class Outcomes {
  readonly #kept = new BoundedMap<Done & { readonly session: string }>(KEPT);

  /** The address of the place that shows it. */
  at({ id }: Pick<Session, "id">, done: Done): string {
    const key = randomBytes(KEY_BYTES).toString("base64url");
    this.#kept.set(key, { ...done, session: id });
    return `${done.place}${done.place.includes("?") ? "&" : "?"}outcome=${key}`;
  }

  /** Null: there is none of this key, it was shown, or it is another session's. */
  take({ id }: Pick<Session, "id">, key: string): Done | null {
    const kept = this.#kept.get(key);
    if (kept?.session !== id) return null;
    this.#kept.delete(key);
    return kept;
  }
}
