// proves: src/admin/secrets.ts, src/daemon/http/page/page.ts, src/daemon/http/page/markup.ts, src/daemon/http/page/places/overview.ts, src/daemon/http/page/places/channel.ts, src/daemon/http/page/sessions.ts, src/daemon/http/page/assets.ts, src/cli/open.ts, src/daemon/http/page/address.ts
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { pino } from "pino";
import { KnownSecrets } from "../../../src/admin/secrets.ts";
import { isPageAt, keepAddress, newPageName, readAddress } from "../../../src/daemon/http/page/address.ts";
import { CODE_VALID_MS, makeCode, readCode } from "../../../src/daemon/http/page/codes.ts";
import { Sessions } from "../../../src/daemon/http/page/sessions.ts";
import { startHttpService } from "../../../src/daemon/http/service.ts";
import { createMonitor } from "../../../src/daemon/metrics/metrics.ts";
import { runShared } from "../../support/command-line.ts";
import { createTestDatabase } from "../../support/database.ts";
import { ask } from "../../support/http-client.ts";
import { until } from "../../support/patience.ts";
import { startPage } from "../../support/page.ts";
import { startModelServer } from "../../support/model-server.ts";
import { text } from "../../support/model-behaviours.ts";
import { readConfig, startWeir } from "../../support/weir.ts";

const SECRET = "sk-page-secret-0123456789";
/** The page's clock stands still, so that no machine is too slow for a code. */
const NOW = Date.now();
const stack = new AsyncDisposableStack();
after(async () => stack.disposeAsync());

const model = stack.use(await startModelServer());
model.respond(() => text("the key lies under the stone"));
const database = stack.use(await createTestDatabase());
const weir = stack.use(
  await startWeir({ connection: database.connection, modelUrl: model.url, apiKey: SECRET }),
);
const config = await readConfig({ connection: database.connection, modelUrl: model.url, apiKey: SECRET });
const page = stack.use(await startPage(weir.daemon, config, NOW));
const { dataDir, port, key, host, own, lines, get, post, newCode, signIn } = page;

await weir.say("where is the key? <img src=x onerror=alert(1)>", {
  room: 'room"><script>alert(1)</script>',
});
await weir.event("turn_settled");
await weir.say(`my word is ${SECRET}`, { room: "dm-ann", kind: "dm" });
await weir.event("turn_settled", (event) => event.channel === "test:dm-ann");

const operator = await signIn();

test("without a session every path of the page shows the form to sign in, and nothing else", async () => {
  for (const where of ["/", "/page/channel?id=test:dm-ann", "/page/nothing", "/page/sign-out"]) {
    const { status, body } = await get(where);
    assert.equal(status, 401, where);
    assert.match(body, /<form method="post" action="\/page\/sign-in">/);
    assert.doesNotMatch(body, /dm-ann|key/);
  }
  assert.equal((await get("/", { cookie: "weir_page=wrong" })).status, 401);
});

test("every answer has the policy, and keeps out of caches and frames", async () => {
  for (const [where, headers] of [
    ["/", {}],
    ["/", operator],
    ["/page/nothing", operator],
    ["/page/channel?id=test:none", operator],
  ] as const) {
    const answer = await get(where, headers);
    const policy = String(answer.headers["content-security-policy"]);
    assert.match(policy, /^default-src 'none'; script-src 'self'; style-src 'self'/, where);
    assert.match(policy, /frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'$/);
    assert.equal(answer.headers["cache-control"], "no-store");
    assert.equal(answer.headers["referrer-policy"], "same-origin");
    assert.equal(answer.headers["cross-origin-resource-policy"], "same-origin");
    assert.doesNotMatch(
      answer.body,
      /<script(?! type="module" src="\/page\/assets\/)|style=|onerror=(?!alert\(1\)&gt;)/,
    );
  }
});

test("the overview lists channels and the state, with names as text", async () => {
  const { status, body } = await get("/", operator);
  assert.equal(status, 200);
  assert.match(body, /database: ok/);
  assert.match(body, /test:room&quot;&gt;&lt;script&gt;alert\(1\)&lt;\/script&gt;/);
  assert.match(body, /<a href="\/page\/channel\?id=test%3Adm-ann">/);
});

test("a channel shows what `/context` shows, and its files may be kept by browsers", async () => {
  const { status, body } = await get("/page/channel?id=test%3Adm-ann", operator);
  assert.equal(status, 200);
  assert.match(body, /test:dm-ann · agent main/);
  assert.match(body, /Level [\d.]+ % of the usable window; next mark: background at/);
  assert.match(body, /Log<\/dt>\s*<dd>2 entries/);
  const [style = ""] = /\/page\/assets\/sign-in\.\w+\.js|\/page\/assets\/style\.\w+\.css/.exec(body) ?? [];
  const asset = await get(style);
  assert.deepEqual([asset.status, asset.headers["content-type"]], [200, "text/css; charset=utf-8"]);
  assert.match(asset.headers["cache-control"] ?? "", /immutable/);
  assert.equal((await get("/page/channel?id=test:none", operator)).status, 404);
});

test("a secret is shown in no form: neither hidden by control characters nor cut", async () => {
  const hidden = `${SECRET.slice(0, 8)}\u202a${SECRET.slice(8)}`;
  await weir.say("hello", { room: `room-${hidden}` });
  await weir.event("turn_settled", (event) => event.channel.startsWith("test:room-"));
  const { body } = await get("/", operator);
  assert.match(body, /test:room-/);
  assert.doesNotMatch(body, new RegExp(SECRET));
  const cut = `${"x".repeat(3990)} ${SECRET}`;
  await weir.say(cut, { room: "dm-ann", kind: "dm", addressed: false });
  for (const where of ["channel", "source"]) {
    const shown = await get(`/page/${where}?id=test:dm-ann`, operator);
    assert.match(shown.body, /my word is/);
    assert.doesNotMatch(shown.body, new RegExp(SECRET.slice(0, 8)));
  }
});

test("a secret that markup writes with escapes is masked there, too", () => {
  const secrets = KnownSecrets.of(config);
  secrets.add([`p&ss<word>'1"`]);
  assert.equal(secrets.masked("is p&amp;ss&lt;word&gt;&#39;1&quot;, as said"), "is •••, as said");
});

test("a code signs in once, within its minute, by a form of the page itself", async () => {
  const code = newCode();
  assert.equal((await post("/page/sign-in", { code })).status, 303);
  assert.equal((await post("/page/sign-in", { code })).status, 403, "used before");
  const old = newCode(NOW - CODE_VALID_MS);
  assert.match((await post("/page/sign-in", { code: old })).body, /This code is not valid/);
  const fresh = newCode();
  assert.equal((await get(`/page/sign-in?code=${fresh}`)).status, 401, "a GET never uses it up");
  for (const headers of [
    {},
    { origin: `http://${host}` },
    { "sec-fetch-site": "same-origin" },
    { ...own, origin: `http://127.0.0.1:${port}` },
    { ...own, origin: "null" },
    { ...own, "sec-fetch-site": "same-site" },
  ])
    assert.equal(
      (await post("/page/sign-in", { code: fresh }, headers)).status,
      403,
      JSON.stringify(headers),
    );
  assert.equal((await post("/page/sign-in", { code: fresh })).status, 303);
  assert.deepEqual(
    lines.filter((line) => line.includes(code) || line.includes(fresh)),
    [],
    "no code is logged",
  );
});

test("sign-out needs the session's own form, and ends the session", async () => {
  const one = await signIn();
  assert.equal((await post("/page/sign-out", { token: "guessed" }, { ...own, ...one })).status, 403);
  const { body } = await get("/", one);
  const ofForm = /name="token" value="(?<token>[^"]+)"/.exec(body)?.groups?.["token"] ?? "";
  assert.equal((await post("/page/sign-out", { token: ofForm }, { ...own, ...one })).status, 303);
  assert.equal((await get("/", one)).status, 401);
});

test("names that are not the page's own, other methods and long forms are refused", async () => {
  for (const name of [
    `evil.example:${port}`,
    `127.0.0.1:${port}`,
    `weir.localhost:${port}`,
    "999.999.999.999",
  ])
    assert.equal((await get("/", { ...operator, host: name })).status, 403, name);
  const put = await ask(`http://127.0.0.1:${port}/`, { method: "PUT", headers: { host, ...operator } });
  assert.equal(put.status, 405);
  assert.equal((await post("/page/sign-in", { code: "x".repeat(5000) })).status, 413);
});

test("the API takes no session of the page, and no request of it", async () => {
  const own127 = { ...operator, host: `127.0.0.1:${port}` };
  assert.equal((await get("/channels", own127)).status, 401);
  assert.equal((await get("/channels", { ...own127, origin: `http://${host}` })).status, 403);
  assert.equal((await get("/channels", operator)).status, 403, "the page's name is not the API's");
});

test("of too many wrong codes the next is refused, and a right one is taken", async () => {
  const statuses: number[] = [];
  for (let tries = 0; tries < 11; tries++)
    statuses.push((await post("/page/sign-in", { code: "wrong" })).status);
  assert.equal(statuses.at(-1), 429);
  await signIn();
});

test("there is no page where another program may read its requests", async (t) => {
  const squatter = createServer().listen(0, "::1");
  const [first] = await Promise.race([once(squatter, "listening"), once(squatter, "error")]);
  if (first instanceof Error) return t.skip("this machine has no IPv6");
  t.after(() => squatter.close());
  const address = squatter.address();
  assert.ok(typeof address === "object" && address !== null);
  const folder = await mkdtemp(path.join(tmpdir(), "weir-page-"));
  t.after(async () => rm(folder, { recursive: true, force: true }));
  const warned: string[] = [];
  await using other = await startHttpService({
    config: { database: { ...config.database, dataDir: folder } },
    http: { host: "127.0.0.1", port: address.port, token: null, hosts: [], mayMove: false },
    version: "0",
    monitor: createMonitor("0"),
    log: pino({ level: "warn" }, { write: (line: string) => void warned.push(line) }),
    secrets: KnownSecrets.of(config),
  });
  const { status, body } = await ask(`${other.url}/`);
  assert.equal(status, 401);
  assert.match(body, /show the token/);
  assert.ok(warned.some((line) => line.includes("page_off: another program listens there")));
  return undefined;
});

test("`weir open` prints an address that signs in, or says why there is none", async (t) => {
  const empty = await mkdtemp(path.join(tmpdir(), "weir-page-"));
  t.after(async () => rm(empty, { recursive: true, force: true }));
  const run = async (folder: string, listen = "", ...options: string[]) => {
    const file = path.join(dataDir, "config.toml");
    await writeFile(file, `[database]\ndata_dir = ${JSON.stringify(folder)}\n${listen}`);
    const outcome = await runShared({
      words: ["open", ...options],
      cwd: dataDir,
      env: { PATH: process.env["PATH"] },
    });
    assert.ok(outcome !== null);
    return outcome;
  };
  const { code, out } = await run(dataDir);
  assert.equal(code, 0);
  const { hash, host: named } = new URL(out[0] ?? "");
  assert.equal(named, host);
  assert.equal(out[1], `The code is valid once, for a minute: ${hash.slice(1)}`);
  const madeAt = Buffer.from(hash.slice(1), "base64url").readUIntBE(0, 6);
  assert.notEqual(readCode(key, hash.slice(1), madeAt), null);
  assert.equal(readCode(key, hash.slice(1), madeAt)?.role, "operator");
  const ofViewer = await run(dataDir, "", "--viewer");
  const [, given = ""] =
    /^The code is valid once, for a minute, for a viewer: ([\w-]{43})$/.exec(ofViewer.out[1] ?? "") ?? [];
  const givenAt = Buffer.from(given, "base64url").readUIntBE(0, 6);
  assert.equal(readCode(key, given, givenAt)?.role, "viewer");
  const off = await run(dataDir, '[http]\nlisten = ""\n');
  assert.equal(off.code, 1);
  assert.match(off.stderr, /The page is switched off: write `listen = "auto"` under `\[http\]`/);
  const nobody = await run(empty);
  assert.match(nobody.stderr, /No Weir of this data folder serves the page: run `.*start` first/);
});

test("a code goes to no other program, whatever listens where the page was", async () => {
  const where = `127.0.0.1:${port}`;
  assert.equal(readAddress(dataDir)?.where, where);
  assert.equal(await isPageAt({ where }, key), true);
  assert.equal(await isPageAt({ where }, "another-token-of-some-length"), false);
  // It passes the question on to the page, and its answer back.
  const seen: (string | undefined)[] = [];
  const relay = createServer((request, response) => {
    seen.push(request.headers.host);
    const { of: nonce } = Object.fromEntries(new URL(request.url ?? "", "http://relay").searchParams);
    void get(`/page/proof?of=${nonce}`).then(({ body }) => response.end(body));
  }).listen(0, "127.0.0.1");
  await once(relay, "listening");
  const address = relay.address();
  assert.ok(typeof address === "object" && address !== null);
  assert.equal(await isPageAt({ where: `127.0.0.1:${address.port}` }, key), false);
  assert.deepEqual(seen, [`127.0.0.1:${address.port}`], "nor the page's name");
  relay.close();
});

test("an address that nobody has chosen moves to the next free port, and is written down while a daemon is there", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-page-"));
  t.after(async () => rm(folder, { recursive: true, force: true }));
  const open = async (mayMove: boolean) =>
    startHttpService({
      config: { database: { ...config.database, dataDir: folder } },
      http: { host: "127.0.0.1", port, token: null, hosts: [], mayMove },
      version: "0",
      monitor: createMonitor("0"),
      log: pino({ level: "silent" }),
      secrets: KnownSecrets.of(config),
    });
  await assert.rejects(open(false), /another program listens there/);
  const moved = await open(true);
  assert.notEqual(new URL(moved.url).port, String(port));
  assert.equal(readAddress(folder), null, "another daemon may have the data folder");
  moved.watch(weir.daemon);
  await until("address", () => readAddress(folder)?.where === new URL(moved.url).host);
  const { name } = readAddress(folder) ?? {};
  assert.notEqual(name, readAddress(dataDir)?.name, "a name of its own");
  await moved[Symbol.asyncDispose]();
  assert.equal(readAddress(folder), null);
});

test("who has the token of programs that read cannot sign in", async () => {
  await using other = await startPage(weir.daemon, config, NOW);
  assert.notEqual(other.token, other.key);
  assert.equal((await other.post("/page/sign-in", { code: makeCode(other.token, NOW) })).status, 403);
  assert.equal((await other.post("/page/sign-in", { code: makeCode(other.key, NOW) })).status, 303);
});

test("without a key that can be kept there is no page, and all else is served", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-page-"));
  t.after(async () => rm(folder, { recursive: true, force: true }));
  await writeFile(path.join(folder, "page.key"), "short");
  const warned: string[] = [];
  await using service = await startHttpService({
    config: { database: { ...config.database, dataDir: folder } },
    http: { host: "127.0.0.1", port: 0, token: null, hosts: [], mayMove: false },
    version: "0",
    monitor: createMonitor("0"),
    log: pino({ level: "warn" }, { write: (line: string) => void warned.push(line) }),
    secrets: KnownSecrets.of(config),
  });
  assert.equal(service.page, null);
  assert.equal((await ask(`${service.url}/`)).status, 401);
  assert.ok(warned.some((line) => line.includes("page_off: its key cannot be kept")));
});

test("of two daemons of one folder the one that stays has its address there", async (t) => {
  const folder = await mkdtemp(path.join(tmpdir(), "weir-page-"));
  t.after(async () => rm(folder, { recursive: true, force: true }));
  const failures: unknown[] = [];
  const keep = (place: string) =>
    keepAddress(folder, { where: place, name: newPageName() }, (error) => void failures.push(error), 10);
  const endFirst = keep("127.0.0.1:1");
  await until("the first", () => readAddress(folder)?.where === "127.0.0.1:1");
  const endSecond = keep("127.0.0.1:2");
  await until("the second", () => readAddress(folder)?.where === "127.0.0.1:2");
  await endSecond();
  await until("the first again", () => readAddress(folder)?.where === "127.0.0.1:1");
  await endFirst();
  assert.equal(readAddress(folder), null);
  assert.deepEqual(failures, []);
});

test("a code is of its key and its time", () => {
  const code = makeCode("one key", 5000);
  assert.equal(readCode("one key", code, 5000)?.madeAt, 5000);
  assert.equal(readCode("another", code, 5000), null);
  assert.equal(readCode("one key", code, 4999), null, "made later than now");
  assert.equal(readCode("one key", code, 5000 + CODE_VALID_MS), null);
  for (let place = 0; place < code.length; place++) {
    const letter = code[place] === "A" ? "B" : "A";
    const changed = `${code.slice(0, place)}${letter}${code.slice(place + 1)}`;
    const isSame = Buffer.from(changed, "base64url").equals(Buffer.from(code, "base64url"));
    if (!isSame) assert.equal(readCode("one key", changed, 5000), null, changed);
  }
});

test("sessions end when they are idle, and of too many the one that was idle longest", () => {
  let now = 10_000;
  const sessions = new Sessions(() => now);
  const codeOf = (nonce: string) => ({ madeAt: now, nonce, role: "operator" as const });
  const first = sessions.signIn(codeOf("0")) ?? "";
  assert.equal(sessions.signIn({ ...codeOf("old"), madeAt: 9999 }), null, "made before this process");
  const second = sessions.signIn(codeOf("1")) ?? "";
  assert.notEqual(sessions.of(first), undefined);
  for (let count = 2; count <= 100; count++) sessions.signIn(codeOf(String(count)));
  assert.equal(sessions.of(second), undefined, "it was idle longest");
  assert.notEqual(sessions.of(first), undefined);
  now += 12 * 3_600_000 - 1;
  assert.equal(sessions.lasts(first), true);
  now += 1;
  assert.equal(sessions.lasts(first), false, "to ask was no use of it");
  assert.equal(sessions.of(first), undefined);
});
