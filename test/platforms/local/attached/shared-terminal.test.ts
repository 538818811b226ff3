import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { test } from "node:test";
import { pino } from "pino";
import { SharedTerminal } from "../../../../src/platforms/local/attached/shared-terminal.ts";
import { PROTOCOL } from "../../../../src/platforms/local/attached/wire.ts";
import { until } from "../../../support/patience.ts";
import { RecordingInbox } from "../../recording-inbox.ts";
import { ManualTurns } from "../../terminal/terminal-harness.ts";
import { HOST, sayHello, serve } from "./attached-harness.ts";

test("a chat is notified once that the daemon ends, and then the connection is closed", async () => {
  await using served = await serve();
  const { chat, told } = sayHello(served.socket);
  await until("the welcome", () => told().includes("welcome"));
  await served.shared.stopIntake(new AbortController().signal);
  await served.shared[Symbol.asyncDispose]();
  await until("the end of the connection", () => chat.closed);
  assert.equal(told().split('"draining"').length, 2);
});

test("a chat of another version is refused in words", async () => {
  await using served = await serve();
  const { chat, told } = sayHello(served.socket, PROTOCOL - 1);
  await until("the end of the connection", () => chat.closed);
  const why =
    "The Weir that runs here (process 4711) is of another version than this chat. Restart it, or chat by its version.";
  assert.deepEqual(JSON.parse(told()), { type: "refused", why });
});

test("a daemon that ends leaves the socket of a newer one in its place", async () => {
  await using first = await serve();
  await first.shared.stopIntake(new AbortController().signal);
  assert.equal(existsSync(first.socket), false);
  await using second = await first.revive();
  await first.die();
  const { chat, told } = sayHello(second.socket);
  await until("the welcome", () => told().includes("welcome"));
  chat.destroy();
});

test("a daemon that ends while it opens its socket leaves none", async () => {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-shared-"));
  const found = Promise.withResolvers<string>();
  const log = pino({ level: "silent" });
  const turns = new ManualTurns();
  const shared = new SharedTerminal({ own: null, socket: async () => found.promise, turns, log });
  shared.hostedBy(HOST);
  const starting = shared.start(new RecordingInbox());
  await shared[Symbol.asyncDispose]();
  found.resolve(path.join(folder, "socket"));
  await starting;
  assert.deepEqual(await readdir(folder), []);
  await rm(folder, { recursive: true });
});
