import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { test, type TestContext } from "node:test";
import { pino } from "pino";
import { KnownSecrets } from "../../../src/admin/secrets.ts";
import {
  type HttpServiceOptions,
  startHttpService,
  startHttpServiceOnceFree,
} from "../../../src/daemon/http/service.ts";
import { createMonitor } from "../../../src/daemon/metrics/metrics.ts";
import { configFrom } from "../../config/folder.ts";

interface Scene {
  readonly options: (port: number) => HttpServiceOptions;
  /** Resolves with the first line of the log from `warn` on. */
  readonly warned: Promise<string>;
}

async function openScene(t: TestContext): Promise<Scene> {
  const dataDir = await mkdtemp(path.join(tmpdir(), "weir-http-"));
  t.after(async () => rm(dataDir, { recursive: true, force: true }));
  const config = configFrom(t, "");
  const warned = Promise.withResolvers<string>();
  const log = pino({ level: "warn" }, { write: (line: string) => warned.resolve(line) });
  return {
    options: (port) => ({
      config: { database: { ...config.database, dataDir } },
      http: { host: "127.0.0.1", port, token: null, hosts: [], mayMove: false },
      version: "0",
      monitor: createMonitor("0"),
      log,
      secrets: KnownSecrets.of(config),
    }),
    warned: warned.promise,
  };
}

test("a port that another Weir has is waited for, and taken when that ends", async (t) => {
  const { options, warned } = await openScene(t);
  const other = await startHttpService(options(0));
  const port = Number(new URL(other.url).port);
  const starting = startHttpServiceOnceFree(options(port), new AbortController().signal);
  assert.match(await warned, new RegExp(`"where":"127\\.0\\.0\\.1:${port}".*port_waited_for`));
  await other[Symbol.asyncDispose]();
  await using service = await starting;
  assert.equal(service.url, `http://127.0.0.1:${port}`);
});

test("the wait for a port ends with its signal", async (t) => {
  const { options, warned } = await openScene(t);
  await using other = await startHttpService(options(0));
  const ending = new AbortController();
  const starting = startHttpServiceOnceFree(options(Number(new URL(other.url).port)), ending.signal);
  await warned;
  ending.abort();
  await assert.rejects(starting, /perhaps another Weir/);
});

test("a port that another program has is no reason to wait", async (t) => {
  const { options } = await openScene(t);
  const foreign = createServer((_, response) => void response.writeHead(401).end("no")).listen(
    0,
    "127.0.0.1",
  );
  await once(foreign, "listening");
  t.after(() => foreign.close());
  const address = foreign.address();
  assert.ok(typeof address === "object" && address !== null);
  await assert.rejects(
    startHttpServiceOnceFree(options(address.port), new AbortController().signal),
    /another program listens there already/,
  );
});
