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
import { startHttpService } from "../../src/daemon/http/service.ts";
import { createMonitor } from "../../src/daemon/metrics/metrics.ts";
import { openStream, type TestStream } from "./event-stream.ts";
import { ask, type HttpAnswer } from "./http-client.ts";
import { until } from "./patience.ts";

const FORM = "application/x-www-form-urlencoded";

export interface TestPage extends AsyncDisposable {
  /** Of its service: the token is there. */
  readonly dataDir: string;
  readonly token: string;
  readonly port: number;
  /** The page's name and port. */
  readonly host: string;
  /** Headers of the page's own forms. */
  readonly own: Readonly<Record<string, string>>;
  /** Lines of its log. */
  readonly lines: readonly string[];
  readonly newCode: (madeAt?: number) => string;
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
  /** The cookie of a new session, as a header. */
  readonly signIn: () => Promise<{ readonly cookie: string }>;
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
  const token = (await readFile(path.join(dataDir, "http.token"), "utf8")).trim();
  await until("address of the page", () => readAddress(dataDir) !== null);
  const { name = "" } = readAddress(dataDir) ?? {};
  const host = `${name}:${port}`;
  const own = { origin: `http://${host}`, "sec-fetch-site": "same-origin" };
  const newCode = (madeAt = now): string => makeCode(token, madeAt);
  const post: TestPage["post"] = async (where, form, headers = own) => {
    const body = new URLSearchParams(form).toString();
    return ask(`http://127.0.0.1:${port}${where}`, {
      method: "POST",
      headers: { host, "content-type": FORM, "content-length": String(body.length), ...headers },
      body,
    });
  };
  const kept = stack.move();
  return {
    dataDir,
    token,
    port,
    host,
    own,
    lines,
    newCode,
    get: async (where, headers = {}) =>
      ask(`http://127.0.0.1:${port}${where}`, { headers: { host, ...headers } }),
    stream: async (where, headers = {}, isRead = true) =>
      openStream(`http://127.0.0.1:${port}${where}`, { host, ...headers }, isRead),
    post,
    signIn: async () => {
      const { status, headers } = await post("/page/sign-in", { code: newCode() });
      assert.equal(status, 303);
      const [set = ""] = headers["set-cookie"] ?? [];
      assert.match(set, /^weir_page=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
      return { cookie: set.split(";")[0] ?? "" };
    },
    [Symbol.asyncDispose]: async () => kept.disposeAsync(),
  };
}
