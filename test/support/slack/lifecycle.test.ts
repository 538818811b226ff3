import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";

import { App, LogLevel } from "@slack/bolt";

import { TestProcess } from "../process.ts";
import { createSocketApp } from "./bolt-app.ts";
import { startSlackServer } from "./server.ts";

async function run(situation: string): Promise<{ code: number | null; out: string; stderr: string }> {
  const script = join(import.meta.dirname, "lifecycle-script.ts");
  await using child = new TestProcess(process.execPath, [script, situation], {
    cwd: import.meta.dirname,
    env: process.env,
  });
  const { code } = await child.ended;
  return { code, out: child.out.join("\n"), stderr: child.stderr };
}

// Behaviour of the real client that an adapter must handle: these tests notice a change in a new version.

test("invalid_auth at a reconnect ends the process by an unhandled rejection", async () => {
  const { code, out, stderr } = await run("revoked");
  assert.equal(code, 1);
  assert.doesNotMatch(out, /survived/);
  assert.match(stderr, /invalid_auth/);
});

test("an app that reconnects by itself is told of it", async () => {
  const { code, out } = await run("supervised");
  assert.equal(code, 0);
  assert.match(out, /told: .*invalid_auth/);
  assert.match(out, /survived/);
});

test("a wrong bot token ends the process in Bolt's constructor, and is an error of init() where that is deferred", async () => {
  const wrong = await run("wrongToken");
  assert.equal(wrong.code, 1);
  assert.match(wrong.stderr, /invalid_auth/);
  const deferred = await run("deferred");
  assert.equal(deferred.code, 0);
  assert.match(deferred.out, /told: .*invalid_auth/);
});

test("stopping Bolt before the hello of a reconnect ends the process by an unhandled rejection", async () => {
  const { code, out } = await run("stopped");
  assert.equal(code, 1);
  assert.doesNotMatch(out, /survived/);
});

test("an app that is stopped while it asks for an address opens its socket all the same", async () => {
  await using slack = await startSlackServer();
  await using bolt = createSocketApp(slack);
  slack.faults.next({ method: "apps.connections.open", fault: "slow_before", delayMs: 100 });
  const started = bolt.app.start();
  await slack.journal.until("the call", () => slack.journal.calls("apps.connections.open").length === 1);
  await bolt.app.stop();
  await started;
  assert.equal(slack.sockets.openSockets, 1);
});

test("a socket without a hello leaves start() pending; cut, it rejects with undefined", async () => {
  await using slack = await startSlackServer();
  await using bolt = createSocketApp(slack, { autoReconnect: false });
  slack.sockets.withholdHello();
  let isSettled = false;
  const started = bolt.app.start().finally(() => (isSettled = true));
  // Longer than any time limit of this client.
  await assert.rejects(
    slack.journal.until("the end of start()", () => isSettled, 1_000),
    /did not come about/,
  );
  slack.sockets.cut();
  await assert.rejects(started, (error) => error === undefined);
});

test("Bolt's own receiver writes its hundred retries into the options that the app shares with it", async () => {
  await using slack = await startSlackServer();
  const clientOptions = { slackApiUrl: slack.apiUrl };
  const { token, appToken } = { token: slack.botToken, appToken: slack.appToken };
  const app = new App({ token, appToken, clientOptions, socketMode: true, logLevel: LogLevel.ERROR });
  assert.deepEqual(clientOptions, {
    slackApiUrl: slack.apiUrl,
    logLevel: LogLevel.ERROR,
    retryConfig: { retries: 100, factor: 1.3 },
  });
  await app.client.auth.test();
});
