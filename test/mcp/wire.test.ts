// What a server over HTTP may do: forget a session, refuse, flood, lead elsewhere, be away.
import assert from "node:assert/strict";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import { type TestContext, test } from "node:test";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { pino } from "pino";
import { McpConnection } from "../../src/mcp/connection.ts";
import { readResult } from "../../src/mcp/result.ts";
import { ToolFailure } from "../../src/tools/tool.ts";
import { type HttpServer, startHttpServer } from "../support/mcp/http-server.ts";

/** 200 MB of blanks in 200 kB. */
const PACKED = gzipSync(Buffer.alloc(200_000_000, " "));
const SECRET = "planted-0123456789";
const mask = (text: string): string => text.replaceAll(SECRET, "•••");

interface Opened {
  readonly server: HttpServer;
  readonly connection: McpConnection;
  readonly log: string[];
}

async function open(t: TestContext, startMs = 5000): Promise<Opened> {
  const server = await startHttpServer();
  const log: string[] = [];
  const connection = new McpConnection({
    config: {
      name: "web",
      reach: { kind: "url", url: server.url, headers: { Authorization: `Bearer ${SECRET}` } },
      tools: [],
      timeoutMs: null,
      approve: "writes",
      secrets: [SECRET],
    },
    log: pino({ level: "trace" }, { write: (line: string) => log.push(line) }),
    mask,
    timing: { backoff: { fromMs: 20, toMs: 200 }, startMs, waitMs: 5000 },
  });
  t.after(async () => {
    await connection[Symbol.asyncDispose]();
    await server[Symbol.asyncDispose]();
  });
  return { server, connection, log };
}

const call = (tool: string, input = {}, signal = new AbortController().signal) => ({
  tool,
  input,
  signal,
  effectKey: "key-1",
});

async function failureOf(work: Promise<unknown>): Promise<ToolFailure> {
  const failure = await work.catch((error: unknown) => error);
  assert.ok(failure instanceof ToolFailure, String(failure));
  return failure;
}

test("it is listed and called, with its headers, which no log shows", async (t) => {
  const { server, connection, log } = await open(t);
  await connection.opened();
  assert.equal(connection.problem, null);
  assert.equal(connection.listing?.tools.length, 5);
  const said = readResult(await connection.call(call("echo", { text: "hello" })), mask);
  assert.equal(said.text, "You said: hello");
  assert.deepEqual(server.calls, [{ tool: "echo", text: "hello", key: "key-1", traceparent: undefined }]);
  assert.ok(server.headers.every(({ authorization }) => authorization === `Bearer ${SECRET}`));
  assert.ok(!log.join("\n").includes(SECRET));
});

test("a session that it has forgotten is begun anew, and the call is made once", async (t) => {
  const { server, connection } = await open(t);
  await connection.opened();
  server.forget();
  const said = readResult(await connection.call(call("echo", { text: "again" })), mask);
  assert.equal(said.text, "You said: again");
  assert.equal(server.calls.length, 1);
});

test("a call that nobody waits for is cancelled there", async (t) => {
  const { server, connection } = await open(t);
  await connection.opened();
  const stop = new AbortController();
  const waiting = connection.call(call("sleep", {}, stop.signal));
  waiting.catch(() => undefined);
  while (server.calls.length < 1) await delay(10);
  stop.abort(new Error("stop"));
  await assert.rejects(waiting);
  while (server.calls.length < 2) await delay(10);
  assert.equal(server.calls[1]?.["state"], "cancelled");
});

test("one that refuses, floods, or leads elsewhere says so in the log alone", async (t) => {
  const elsewhere = await startHttpServer();
  t.after(async () => elsewhere[Symbol.asyncDispose]());
  const ways: readonly HttpServer["instead"][] = [
    (_, response) => response.writeHead(401).end(`your key ${SECRET} is bad`),
    (_, response) => response.writeHead(307, { location: elsewhere.url }).end(),
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json" });
      response.end(`{"a":"${"x".repeat(6_000_000)}"}`);
    },
    (_, response) => {
      response.writeHead(200, { "content-type": "application/json", "content-encoding": "gzip" });
      response.end(PACKED);
    },
    (_, response) => response.writeHead(200, { "content-type": "text/html" }).end("<p>hello"),
  ];
  for (const instead of ways) {
    const { server, connection, log } = await open(t);
    server.instead = instead;
    await connection.opened();
    assert.equal(connection.listing, null);
    assert.notEqual(connection.problem, null);
    assert.ok(!`${log.join("\n")}${connection.problem ?? ""}`.includes(SECRET));
    assert.match(
      (await failureOf(connection.call(call("echo")))).message,
      /^The server "web" cannot be reached/,
    );
  }
  assert.equal(elsewhere.headers.length, 0, "a key never goes to another server");
});

test("no redirect is followed, not even one to the server itself, and the operator reads where it leads", async (t) => {
  const elsewhere = await startHttpServer();
  t.after(async () => elsewhere[Symbol.asyncDispose]());
  const { server, connection } = await open(t);
  await connection.opened();
  const own = new URL(server.url).origin;
  for (const status of [301, 302, 303, 307, 308])
    for (const [location, to] of [
      [elsewhere.url, new URL(elsewhere.url).origin],
      ["/elsewhere?key=secret", own],
    ] as const) {
      const asked: (string | undefined)[] = [];
      server.instead = (request, response) => {
        asked.push(`${request.method} ${request.url}`);
        response.writeHead(status, { location }).end();
      };
      const { cause } = await failureOf(connection.call(call("echo", { text: "my words" })));
      assert.equal(
        cause instanceof Error ? cause.message : cause,
        `server web: ${own} redirects to ${to} (HTTP ${status}), and Weir follows no redirect: set url to an address of your server that answers without one`,
      );
      assert.ok(!asked.join().includes("elsewhere"), asked.join());
    }
  assert.equal(elsewhere.headers.length, 0);
  assert.deepEqual(server.calls, []);
});

/** Begins an answer, and adds a blank now and then, for ever. @returns when the other side has ended it */
async function drip(response: ServerResponse, type: string): Promise<void> {
  response.writeHead(200, { "content-type": type });
  const drop = setInterval(() => response.write(type === "application/json" ? " " : ": \n"), 20);
  await once(response, "close");
  clearInterval(drop);
}

test("one whose answers come by a byte now and then, and never end, holds up nothing, and is hung up on", async (t) => {
  for (const type of ["application/json", "text/event-stream"]) {
    const { server, connection } = await open(t, 300);
    const ended: Promise<void>[] = [];
    server.instead = (_, response) => void ended.push(drip(response, type));
    await connection.opened();
    assert.equal(connection.listing, null, "the handshake and the list have a time");
    assert.match(connection.problem ?? "", /timed out/i);
    await connection[Symbol.asyncDispose]();
    await Promise.all(ended);
    const later = await open(t);
    await later.connection.opened();
    const dripping: Promise<void>[] = [];
    later.server.instead = (request, response) =>
      request.method === "POST"
        ? void dripping.push(drip(response, type))
        : void response.writeHead(405).end();
    const late = new AbortController();
    const calling = failureOf(later.connection.call(call("echo", {}, late.signal)));
    while (dripping.length === 0) await delay(5);
    late.abort(new DOMException("300 ms passed", "TimeoutError"));
    assert.match((await calling).message, /gave no answer that can be used/);
    await dripping[0];
  }
});

test("one that goes away is waited for", async (t) => {
  const { server, connection } = await open(t);
  await connection.opened();
  server.instead = (request) => request.socket.destroy();
  assert.match((await failureOf(connection.call(call("echo")))).message, /went away before it answered/);
  assert.notEqual(connection.listing, null, "what it has is still known");
  server.instead = null;
  const said = readResult(await connection.call(call("echo", { text: "back" })), mask);
  assert.equal(said.text, "You said: back");
});
