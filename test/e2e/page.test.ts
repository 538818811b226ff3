// proves: src/daemon/http/page/places/what-if.ts, src/daemon/http/page/what-if/tune-process.ts
// The page of a daemon as an operator finds it: nothing is configured for it.
import assert from "node:assert/strict";
import { after, test } from "node:test";
import { openHome, openSeed } from "../support/e2e.ts";
import { openLoopbackWorld } from "../support/e2e-loopback.ts";
import { echo } from "../support/e2e-model.ts";
import { ask, type HttpAnswer } from "../support/http-client.ts";
import { startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";

const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());
const seed = stack.use(await openSeed());
const model = stack.use(await startModelServer());
model.respond(echo);
const world = stack.use(await openLoopbackWorld());
const home = stack.use(await openHome({ modelUrl: model.url, config: world.config, seed }));
const daemon = home.start("start");
const ready = await daemon.line("ready");
const opened = await home.run("open");
const { host, port, hash } = new URL(opened.out[0] ?? "");
const form = "application/x-www-form-urlencoded";
const code = new URLSearchParams({ code: hash.slice(1) }).toString();
const signedIn = await ask(`http://127.0.0.1:${port}/page/sign-in`, {
  method: "POST",
  headers: {
    host,
    origin: `http://${host}`,
    "sec-fetch-site": "same-origin",
    "content-type": form,
    "content-length": String(code.length),
  },
  body: code,
});
const [cookie = ""] = (signedIn.headers["set-cookie"]?.[0] ?? "").split(";");

async function get(where: string): Promise<HttpAnswer> {
  return ask(`http://127.0.0.1:${port}${where}`, { headers: { host, cookie } });
}

test("a daemon for which nothing is configured serves the page, and its first line says how to open it", async () => {
  assert.match(ready, /; page: `.*open`$/);
  assert.equal(signedIn.status, 303);
  const { status, body } = await get("/");
  assert.equal(status, 200);
  assert.match(body, /database: ok/);
  const { out } = await home.run("status");
  assert.ok(
    out.some((line) => line.startsWith(`page         127.0.0.1:${port}: `)),
    out.join("\n"),
  );
});

test("a channel's log is played again with other settings, as `weir tune` does it", async () => {
  await world.say("what-if", "m1", "how deep is it?");
  await world.untilAnswered();
  const asked = await get("/page/what-if?id=loopback:what-if");
  assert.match(asked.body, /name="compaction\.target"[^>]*value="0\.6"/);
  const where = "/page/what-if?id=loopback:what-if&compaction.target=0.5";
  const first = await get(where);
  assert.equal(first.headers["refresh"], "2");
  let outcome = first;
  await until("outcome", async () => {
    outcome = await get(where);
    return outcome.headers["refresh"] === undefined;
  });
  assert.equal(outcome.status, 200, outcome.body);
  const { out } = await home.run("tune", "loopback:what-if", "--set", "compaction.target=0.5", "--json");
  const report: { columns: { usable: number }[] } = JSON.parse(out.join("\n"));
  const usable = report.columns[1]?.usable.toLocaleString("en");
  assert.ok(usable !== undefined && outcome.body.includes(`<td>${usable}</td>`));
  assert.match(outcome.body, /<pre>target = 0\.5<\/pre>/);
  const wrong = await get("/page/what-if?id=loopback:what-if&compaction.target=0.99");
  assert.equal(wrong.status, 200);
  let refused = wrong;
  await until("refusal", async () => {
    refused = await get("/page/what-if?id=loopback:what-if&compaction.target=0.99");
    return refused.headers["refresh"] === undefined;
  });
  assert.equal(refused.status, 400);
  assert.match(refused.body, /target/);
});
