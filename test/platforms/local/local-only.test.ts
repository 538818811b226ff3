import assert from "node:assert/strict";
import { type IncomingMessage, request } from "node:http";
import { text } from "node:stream/consumers";
import { test } from "node:test";
import { hostsOf } from "../../../src/platforms/local/local-only.ts";
import { startLoopbackServer } from "../../../src/platforms/local/loopback/server.ts";

const JSON_BODY = { "content-type": "application/json" };
const COMMAND = { name: "forget", argument: "me yes", asker: "owner" };

/** One request with whatever headers, `Host` too. @returns status and answer */
async function call(
  port: number,
  method: string,
  path: string,
  headers: Record<string, string>,
  body?: object,
): Promise<string> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const asking = request({ host: "127.0.0.1", port, method, path, headers }, resolve).on("error", reject);
  asking.end(body === undefined ? undefined : JSON.stringify(body));
  const response = await promise;
  return `${response.statusCode} ${await text(response)}`;
}

test("the loopback service takes nothing from a web page", async () => {
  await using server = await startLoopbackServer();
  const port = Number(new URL(server.url).port);
  const pages = [
    { origin: "https://evil.example" },
    { origin: server.url },
    { origin: "null" },
    { "sec-fetch-site": "cross-site" },
    { "sec-fetch-site": "same-site" },
  ];
  for (const page of pages) {
    for (const type of ["text/plain", "application/json"]) {
      const headers = { ...page, "content-type": type };
      assert.match(
        await call(port, "POST", "/channels/main/commands", headers, COMMAND),
        /^403 \{"error":"this service takes no requests of web pages/,
      );
    }
    for (const path of ["/channels/main", "/journal"])
      assert.match(await call(port, "GET", path, page), /^403 /);
  }
  assert.match(
    await call(port, "POST", "/events", { "content-type": "application/json" }, {}),
    /"events":\[\]/,
  );
});

test("the loopback service is reached under the names of its own machine alone", async () => {
  await using server = await startLoopbackServer();
  const port = Number(new URL(server.url).port);
  for (const host of [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1",
    "127.0.0.1:1",
    `localhost.:${port}`,
  ])
    assert.match(
      await call(port, "POST", "/channels/main/commands", { ...JSON_BODY, host }, COMMAND),
      /^403 \{"error":"Host must be one of 127\.0\.0\.1:\d+, /,
      host,
    );
  for (const host of [`127.0.0.1:${port}`, `localhost:${port}`, `LocalHost:${port}`, `[::1]:${port}`])
    assert.match(
      await call(port, "POST", "/channels/main/commands", { ...JSON_BODY, host }, COMMAND),
      /^201 /,
      host,
    );
  assert.ok(hostsOf("Box.lan", 8787).includes("box.lan:8787"), "or under what it was told to listen on");
  assert.ok(hostsOf("fd00::5", 80).includes("[fd00::5]"), "a URL leaves port 80 out");
});

test("the loopback service takes a body as JSON alone, and says which header is missing", async () => {
  await using server = await startLoopbackServer();
  const port = Number(new URL(server.url).port);
  const types: Record<string, string>[] = [
    {},
    { "content-type": "text/plain" },
    { "content-type": "application/x-www-form-urlencoded" },
    { "content-type": "text/plain; application/json" },
    { "content-type": "application/jsonp" },
  ];
  for (const headers of types)
    assert.equal(
      await call(port, "POST", "/channels/main/commands", headers, COMMAND),
      '415 {"error":"a body needs the header content-type: application/json"}',
    );
  for (const type of [
    "application/json",
    "application/json; charset=utf-8",
    "Application/JSON ;charset=utf-8",
  ])
    assert.match(
      await call(port, "POST", "/channels/main/commands", { "content-type": type }, COMMAND),
      /^201 /,
      type,
    );
});
