// proves: src/daemon/http/page/page.ts, src/daemon/http/page/views.ts, src/daemon/http/page/sessions.ts, src/daemon/http/page/assets.ts, src/cli/open.ts
import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { pino } from "pino";
import { KnownSecrets } from "../../../src/admin/secrets.ts";
import {
  CODE_PURPOSE,
  CODE_VALID_MS,
  makeCode,
  type PageRole,
  readCode,
} from "../../../src/daemon/http/page/codes.ts";
import { Sessions } from "../../../src/daemon/http/page/sessions.ts";
import { startHttpService } from "../../../src/daemon/http/service.ts";
import { createMonitor } from "../../../src/daemon/metrics/metrics.ts";
import { fileSigner } from "../../../src/store/database/signing-key.ts";
import { runShared } from "../../support/command-line.ts";
import { createTestDatabase } from "../../support/database.ts";
import { ask, type HttpAnswer } from "../../support/http-client.ts";
import { startModelServer } from "../../support/model-server.ts";
import { text } from "../../support/model-behaviours.ts";
import { readConfig, startWeir } from "../../support/weir.ts";

const SECRET = "sk-page-secret-0123456789";
const lines: string[] = [];
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
const dataDir = await mkdtemp(path.join(tmpdir(), "weir-page-"));
stack.defer(async () => rm(dataDir, { recursive: true, force: true }));
const config = await readConfig({ connection: database.connection, modelUrl: model.url, apiKey: SECRET });
const monitor = createMonitor("0");
monitor.watch(weir.daemon);
const service = stack.use(
  await startHttpService({
    config: { database: { ...config.database, dataDir } },
    http: { host: "127.0.0.1", port: 0, token: null, hosts: [] },
    version: "0",
    monitor,
    log: pino({ level: "debug" }, { write: (line: string) => void lines.push(line) }),
    secrets: KnownSecrets.of(config),
    now: () => NOW,
  }),
);
service.watch(weir.daemon);
const { port } = new URL(service.url);
const host = `weir.localhost:${port}`;
const own = { origin: `http://${host}`, "sec-fetch-site": "same-origin" };
const FORM = "application/x-www-form-urlencoded";

await weir.say("where is the key? <img src=x onerror=alert(1)>", {
  room: 'room"><script>alert(1)</script>',
});
await weir.event("turn_settled");
await weir.say(`my word is ${SECRET}`, { room: "dm-ann", kind: "dm" });
await weir.event("turn_settled", (event) => event.channel === "test:dm-ann");

async function get(where: string, headers: Record<string, string> = {}): Promise<HttpAnswer> {
  return ask(`http://127.0.0.1:${port}${where}`, { headers: { host, ...headers } });
}

async function post(
  where: string,
  form: Record<string, string>,
  headers: Record<string, string> = own,
): Promise<HttpAnswer> {
  const body = new URLSearchParams(form).toString();
  return ask(`http://127.0.0.1:${port}${where}`, {
    method: "POST",
    headers: { host, "content-type": FORM, "content-length": String(body.length), ...headers },
    body,
  });
}

async function newCode(role: PageRole = "operator", now = NOW): Promise<string> {
  return makeCode((await fileSigner(dataDir).derive(CODE_PURPOSE, "makes")).bytes, role, now);
}

async function signIn(role: PageRole): Promise<{ readonly cookie: string }> {
  const { status, headers } = await post("/page/sign-in", { code: await newCode(role) });
  assert.equal(status, 303);
  const [set = ""] = headers["set-cookie"] ?? [];
  assert.match(set, /^weir_page=[\w-]{43}; Path=\/; HttpOnly; SameSite=Strict$/);
  return { cookie: set.split(";")[0] ?? "" };
}

const operator = await signIn("operator");

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
    assert.match(policy, /frame-ancestors 'none'; require-trusted-types-for 'script'$/);
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
  assert.match(body, /aria-label="\d+ % of the window; background 80 %/);
  assert.match(body, /Log<\/th>\s*<td>2 entries/);
  const [style = ""] = /\/page\/assets\/sign-in\.\w+\.js|\/page\/assets\/style\.\w+\.css/.exec(body) ?? [];
  const asset = await get(style);
  assert.deepEqual([asset.status, asset.headers["content-type"]], [200, "text/css; charset=utf-8"]);
  assert.match(asset.headers["cache-control"] ?? "", /immutable/);
  assert.equal((await get("/page/channel?id=test:none", operator)).status, 404);
});

test("a viewer sees that a direct conversation is there, and no text of it", async () => {
  const viewer = await signIn("viewer");
  const { status, body } = await get("/page/channel?id=test%3Adm-ann", viewer);
  assert.equal(status, 200);
  assert.match(body, /shown to operators alone/);
  assert.doesNotMatch(body, /<details>|<ul>/);
  assert.match((await get("/", viewer)).body, /<span class="dim">viewer<\/span>/);
});

test("a code signs in once, within its minute, by a form of the page itself", async () => {
  const code = await newCode();
  assert.equal((await post("/page/sign-in", { code })).status, 303);
  assert.equal((await post("/page/sign-in", { code })).status, 403, "used before");
  const old = await newCode("operator", NOW - CODE_VALID_MS);
  assert.match((await post("/page/sign-in", { code: old })).body, /This code is not valid/);
  const fresh = await newCode();
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
  const one = await signIn("operator");
  assert.equal((await post("/page/sign-out", { token: "guessed" }, { ...own, ...one })).status, 403);
  const { body } = await get("/", one);
  const token = /name="token" value="(?<token>[^"]+)"/.exec(body)?.groups?.["token"] ?? "";
  assert.equal((await post("/page/sign-out", { token }, { ...own, ...one })).status, 303);
  assert.equal((await get("/", one)).status, 401);
});

test("names that are not known, other methods and long forms are refused", async () => {
  assert.equal((await get("/", { host: `evil.example:${port}`, ...operator })).status, 403);
  const put = await ask(`http://127.0.0.1:${port}/`, { method: "PUT", headers: { host, ...operator } });
  assert.equal(put.status, 405);
  assert.equal((await post("/page/sign-in", { code: "x".repeat(5000) })).status, 413);
});

test("the API takes no session of the page, and no request of it", async () => {
  assert.equal((await get("/channels", operator)).status, 401);
  assert.equal((await get("/channels", { ...operator, origin: `http://${host}` })).status, 403);
});

test("the eleventh try within a minute is refused", async () => {
  const statuses: number[] = [];
  for (let tries = 0; tries < 11; tries++)
    statuses.push((await post("/page/sign-in", { code: "wrong" })).status);
  assert.equal(statuses.at(-1), 429);
});

test("`weir open` prints an address that signs in, or says why there is none", async () => {
  const run = async (listen: string, ...words: string[]) => {
    await writeFile(
      path.join(dataDir, "config.toml"),
      `[database]\ndata_dir = ${JSON.stringify(dataDir)}\n[http]\nlisten = "${listen}"\n`,
    );
    const outcome = await runShared({
      words: ["open", ...words],
      cwd: dataDir,
      env: { PATH: process.env["PATH"] },
    });
    assert.ok(outcome !== null);
    return outcome;
  };
  const { code, out } = await run(`127.0.0.1:${port}`, "--viewer");
  assert.equal(code, 0);
  const { hash, host: named } = new URL(out[0] ?? "");
  assert.equal(named, host);
  assert.equal(out[1], `The code is valid once, for a minute: ${hash.slice(1)}`);
  const { bytes } = await fileSigner(dataDir).derive(CODE_PURPOSE, "makes none");
  const madeAt = Buffer.from(hash.slice(1), "base64url").readUIntBE(1, 6);
  assert.equal(readCode(bytes, hash.slice(1), madeAt)?.role, "viewer");
  const off = await run("");
  assert.equal(off.code, 1);
  assert.match(off.stderr, /The page is switched off: write `listen = "127\.0\.0\.1:8420"`/);
  const nobody = await run("127.0.0.1:1");
  assert.match(nobody.stderr, /No Weir answers at 127\.0\.0\.1:1: run `.*start` first/);
});

test("a code is of its key, its role and its time", () => {
  const [key, other] = [Buffer.alloc(32, 1), Buffer.alloc(32, 2)];
  const code = makeCode(key, "viewer", 5000);
  assert.equal(readCode(key, code, 5000)?.role, "viewer");
  assert.equal(readCode(other, code, 5000), null);
  assert.equal(readCode(key, code, 4999), null, "made later than now");
  assert.equal(readCode(key, code, 5000 + CODE_VALID_MS), null);
  for (let place = 0; place < code.length; place++) {
    const letter = code[place] === "A" ? "B" : "A";
    const changed = `${code.slice(0, place)}${letter}${code.slice(place + 1)}`;
    const isSame = Buffer.from(changed, "base64url").equals(Buffer.from(code, "base64url"));
    if (!isSame) assert.equal(readCode(key, changed, 5000), null, changed);
  }
});

test("sessions end when they are idle, and of too many the one that was idle longest", () => {
  let now = 10_000;
  const sessions = new Sessions(() => now);
  const codeOf = (nonce: string) => ({ role: "operator", madeAt: now, nonce }) as const;
  const first = sessions.signIn(codeOf("0")) ?? "";
  assert.equal(sessions.signIn({ ...codeOf("old"), madeAt: 9999 }), null, "made before this process");
  const second = sessions.signIn(codeOf("1")) ?? "";
  assert.equal(sessions.of(first)?.role, "operator");
  for (let count = 2; count <= 100; count++) sessions.signIn(codeOf(String(count)));
  assert.equal(sessions.of(second), undefined, "it was idle longest");
  assert.equal(sessions.of(first)?.role, "operator");
  now += 12 * 3_600_000;
  assert.equal(sessions.of(first), undefined);
});
