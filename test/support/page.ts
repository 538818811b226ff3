/** The daemon's page, as a browser of this machine asks for it. */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { pino } from "pino";
import { KnownSecrets } from "../../src/admin/secrets.ts";
import type { Config } from "../../src/config/config.ts";
import type { Daemon } from "../../src/daemon/daemon.ts";
import { readAddress } from "../../src/daemon/http/page/address.ts";
import { makeCode } from "../../src/daemon/http/page/codes.ts";
import type { Role } from "../../src/daemon/http/page/roles.ts";
import { startHttpService } from "../../src/daemon/http/service.ts";
import { createMonitor } from "../../src/daemon/metrics/metrics.ts";
import { openStream, type TestStream } from "./event-stream.ts";
import { ask, type HttpAnswer } from "./http-client.ts";
import { until } from "./patience.ts";

const FORM = "application/x-www-form-urlencoded";

export interface TestPage extends AsyncDisposable {
  /** Of its service: its secrets are there. */
  readonly dataDir: string;
  /** The page's. */
  readonly key: string;
  /** Of the HTTP service. */
  readonly token: string;
  readonly port: number;
  /** The page's name and port. */
  readonly host: string;
  /** Headers of the page's own forms. */
  readonly own: Readonly<Record<string, string>>;
  /** Lines of its log. */
  readonly lines: readonly string[];
  readonly newCode: (madeAt?: number, role?: Role) => string;
  readonly get: (where: string, headers?: Readonly<Record<string, string>>) => Promise<HttpAnswer>;
  /** @param isRead false: everything that is sent stays unread */
  readonly stream: (
    where: string,
    headers?: Readonly<Record<string, string>>,
    isRead?: boolean,
  ) => Promise<TestStream>;
  /** Default headers: those of the page's own forms. */
  readonly post: (
    where: string,
    form: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
  ) => Promise<HttpAnswer>;
  /** The cookie of a new session, as a header. @param role default: the operator's */
  readonly signIn: (role?: Role) => Promise<{ readonly cookie: string }>;
  /** The forms of a place that act, in the order of the page. @param cookie of a session */
  readonly forms: (where: string, cookie: { readonly cookie: string }) => Promise<readonly TestForm[]>;
  /** Sends a form, and follows it to the place that shows the outcome. @returns its answer */
  readonly act: (
    form: TestForm,
    cookie: { readonly cookie: string },
    more?: Readonly<Record<string, string>>,
  ) => Promise<HttpAnswer>;
}

/** A form of the page that acts. */
export interface TestForm {
  readonly path: string;
  /** Its hidden fields. */
  readonly fields: Readonly<Record<string, string>>;
  readonly button: string;
}

/** The forms in markup, but that for signing out. */
export function formsIn(markup: string): TestForm[] {
  const forms = [...markup.matchAll(/<form class="act" method="post" action="([^"]+)">([^]*?)<\/form>/g)];
  return forms.flatMap(([, action = "", inside = ""]) => {
    const fields = [...inside.matchAll(/<input type="hidden" name="([^"]+)" value="([^"]*)"/g)];
    const [, button = ""] = /<button>([^]*?)<\/button>/.exec(inside) ?? [];
    if (action === "/page/sign-out") return [];
    return {
      path: action,
      fields: Object.fromEntries(fields.map(([, name = "", value = ""]) => [name, unescaped(value)])),
      button: unescaped(button).trim(),
    };
  });
}

/** A text of markup as browsers show it. */
export function unescaped(markup: string): string {
  return markup
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&amp;", "&");
}

/**
 * Serves the page of a daemon.
 * @param now its clock, ms, which stands still: so no machine is too slow for a code
 * @param beatMs of its streams, ms; default: as of the daemon's
 */
export async function startPage(
  daemon: Daemon,
  config: Config,
  now: number,
  beatMs?: number,
): Promise<TestPage> {
  await using stack = new AsyncDisposableStack();
  const dataDir = await mkdtemp(path.join(tmpdir(), "weir-page-"));
  stack.defer(async () => rm(dataDir, { recursive: true, force: true }));
  const monitor = createMonitor("0");
  monitor.watch(daemon);
  const lines: string[] = [];
  const service = stack.use(
    await startHttpService({
      config: { database: { ...config.database, dataDir } },
      http: { host: "127.0.0.1", port: 0, token: null, hosts: [], mayMove: false },
      version: "0",
      monitor,
      log: pino({ level: "debug" }, { write: (line: string) => void lines.push(line) }),
      secrets: KnownSecrets.of(config),
      now: () => now,
      ...(beatMs !== undefined && { beatMs }),
    }),
  );
  service.watch(daemon);
  const port = Number(new URL(service.url).port);
  const [key, token] = await Promise.all(
    ["page.key", "http.token"].map(async (file) => secretIn(dataDir, file)),
  );
  assert.ok(key !== undefined && token !== undefined);
  await until("address of the page", () => readAddress(dataDir) !== null);
  const { name = "" } = readAddress(dataDir) ?? {};
  const host = `${name}:${port}`;
  const own = { origin: `http://${host}`, "sec-fetch-site": "same-origin" };
  const newCode: TestPage["newCode"] = (madeAt = now, role = "operator") => makeCode(key, madeAt, role);
  const post: TestPage["post"] = async (where, form, headers = own) => {
    const body = new URLSearchParams(form).toString();
    return ask(`http://127.0.0.1:${port}${where}`, {
      method: "POST",
      headers: { host, "content-type": FORM, "content-length": String(body.length), ...headers },
      body,
    });
  };
  const get: TestPage["get"] = async (where, headers = {}) =>
    ask(`http://127.0.0.1:${port}${where}`, { headers: { host, ...headers } });
  const kept = stack.move();
  return {
    dataDir,
    key,
    token,
    port,
    host,
    own,
    lines,
    newCode,
    get,
    stream: async (where, headers = {}, isRead = true) =>
      openStream(`http://127.0.0.1:${port}${where}`, { host, ...headers }, isRead),
    post,
    forms: async (where, cookie) => formsIn((await get(where, cookie)).body),
    act: async ({ path: where, fields }, cookie, more = {}) => {
      const sent = await post(where, { ...fields, ...more }, { ...own, ...cookie });
      const { location } = sent.headers;
      return sent.status === 303 && location !== undefined ? get(location, cookie) : sent;
    },
    signIn: async (role) => cookieOf(await post("/page/sign-in", { code: newCode(now, role) })),
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}

async function secretIn(dataDir: string, file: string): Promise<string> {
  return (await readFile(path.join(dataDir, file), "utf8")).trim();
}

/** The session that an answer begins. */
function cookieOf({ status, headers }: HttpAnswer): { readonly cookie: string } {
  assert.equal(status, 303);
  const [set = ""] = headers["set-cookie"] ?? [];
  assert.match(set, /^weir_page=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  return { cookie: set.split(";")[0] ?? "" };
}
