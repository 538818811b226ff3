// proves: src/daemon/http/service.ts, src/daemon/metrics/readiness.ts, src/daemon/http/app.ts, src/daemon/http/openapi.ts, src/daemon/http/channels.ts
import assert from "node:assert/strict";
import { once } from "node:events";
import { stat } from "node:fs/promises";
import { connect, createServer } from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { z } from "zod";
import {
  aliveAnswer,
  channelsAnswer,
  compactionsAnswer,
  contextAnswer,
  readyAnswer,
} from "../../src/daemon/http/openapi.ts";
import { createTestDatabase } from "../support/database.ts";
import { type Home, openHome, openSeed } from "../support/e2e.ts";
import { type LoopbackWorld, openLoopbackWorld } from "../support/e2e-loopback.ts";
import { echo, Gate } from "../support/e2e-model.ts";
import { ask, type HttpFace, httpFace } from "../support/http-client.ts";
import { status } from "../support/model-behaviours.ts";
import { type ModelServer, startModelServer } from "../support/model-server.ts";
import { until } from "../support/patience.ts";
import type { TestProcess } from "../support/process.ts";
import { connectionUrl } from "../support/weir.ts";
import { openStore } from "../store/open-store.ts";

const seed = await openSeed();
after(async () => seed[Symbol.asyncDispose]());

/** The key of the model's server, by `openHome`. */
const SECRET = "sk-e2e-secret";
const LISTEN = '[http]\nlisten = "127.0.0.1:0"\n';

interface Scene extends AsyncDisposable {
  readonly model: ModelServer;
  readonly world: LoopbackWorld;
  readonly home: Home;
  readonly daemon: TestProcess;
  readonly http: HttpFace;
}

async function openScene(config = ""): Promise<Scene> {
  await using stack = new AsyncDisposableStack();
  const model = stack.use(await startModelServer());
  model.respond(echo);
  const world = stack.use(await openLoopbackWorld());
  const home = stack.use(
    await openHome({ modelUrl: model.url, config: `${config}${LISTEN}${world.config}`, seed }),
  );
  const daemon = home.start("start");
  await daemon.line("ready");
  const http = await httpFace(daemon, home);
  const kept = stack.move();
  return { model, world, home, daemon, http, [Symbol.asyncDispose]: async () => kept.disposeAsync() };
}

/** What `/readyz` says with the token: its status, and the checks that are not ok. */
async function wrongIn(
  http: HttpFace,
): Promise<{ code: number; status: string; wrong: string[]; detail: string }> {
  const { status: code, body } = await http.get("/readyz");
  const { status: said, checks = [] } = readyAnswer.parse(JSON.parse(body));
  const wrong = checks.filter(({ state }) => state !== "ok");
  return {
    code,
    status: said,
    wrong: wrong.map(({ name, state }) => `${name} ${state}`),
    detail: wrong.map(({ detail }) => detail).join("\n"),
  };
}

/** What `weir channels --json` prints, by name, without the counts of messages. */
async function listedChannels(home: Home): Promise<object[]> {
  const { out } = await home.run("channels", "--json", "--sort", "name");
  return out.map((line) => {
    const { messages: _, ...listed } = z.looseObject({}).parse(JSON.parse(line));
    return listed;
  });
}

/** A number of `/metrics`; undefined: it has none of that name and labels. */
async function measured(http: HttpFace, name: string): Promise<number | undefined> {
  const { status: code, body } = await http.get("/metrics");
  assert.equal(code, 200, body);
  const line = body.split("\n").find((one) => one.startsWith(`${name} `));
  return line === undefined ? undefined : Number(line.slice(name.length + 1));
}

/** Of the first tests, which leave it as it is until one ends it. */
const shared = await openScene();
after(async () => shared[Symbol.asyncDispose]());

test("a daemon tells whether it lives, whether it is ready, and what it has done", async () => {
  const { http, world } = shared;
  const alive = await http.plain("/healthz");
  assert.deepEqual([alive.status, JSON.parse(alive.body)], [200, { status: "ok" }]);
  assert.equal(alive.headers["cache-control"], "no-store");
  assert.equal(alive.headers["x-content-type-options"], "nosniff");
  const ready = await http.plain("/readyz");
  assert.deepEqual([ready.status, JSON.parse(ready.body)], [200, { status: "ok" }]);
  const { version, uptimeMs = 0 } = aliveAnswer.parse(JSON.parse((await http.get("/healthz")).body));
  assert.match(version ?? "", /^\d+\.\d+\.\d+$/);
  assert.ok(uptimeMs > 0);
  const { checks = [] } = readyAnswer.parse(JSON.parse((await http.get("/readyz")).body));
  assert.deepEqual(
    checks.map(({ name, state }) => `${name} ${state}`),
    [
      "database ok",
      "schema ok",
      "loopback ok",
      "terminal ok",
      "model ok",
      "summaries ok",
      "configuration ok",
    ],
  );

  await world.say("secret-room", "asked", "where is the copper key?");
  await world.untilAnswered();
  const delivered = 'weir_deliveries_total{platform="loopback",outcome="delivered"}';
  await until("the delivery's count", async () => (await measured(http, delivered)) === 1);
  assert.equal(await measured(http, 'weir_turns_total{platform="loopback",outcome="answered"}'), 1);
  assert.equal(await measured(http, "weir_turn_own_seconds_count"), 1);
  const call = 'purpose="turn",model="test-model"';
  assert.equal(await measured(http, `weir_model_calls_total{${call},outcome="answered"}`), 1);
  assert.equal(await measured(http, 'weir_waiting_channels{platform="loopback"}'), 0);
  assert.equal(await measured(http, 'weir_check{check="database"}'), 1);
  const { body, headers } = await http.get("/metrics");
  assert.match(headers["content-type"] ?? "", /^text\/plain; version=0\.0\.4/);
  assert.match(body, /^nodejs_eventloop_lag_p99_seconds /m);
  assert.doesNotMatch(body, /copper|secret-room|Ann/);
});

test("the token is made once, is its owner's alone, and is asked for everywhere else", async () => {
  const { daemon, home, http } = shared;
  const lines = daemon.out.filter((line) => line.includes(http.token));
  assert.deepEqual(lines, [
    `HTTP at ${http.url} wants "Authorization: Bearer ${http.token}". It is kept in ${home.dataDir}/http.token, and not shown again.`,
  ]);
  assert.equal(daemon.stderr.includes(http.token), false);
  assert.equal((await stat(path.join(home.dataDir, "http.token"))).mode & 0o777, 0o600);
  for (const where of ["/metrics", "/channels", "/openapi.json", "/nothing"]) {
    const { status: code, headers } = await http.plain(where);
    assert.deepEqual([code, headers["www-authenticate"]], [401, "Bearer"], where);
  }
  for (const authorization of [
    "Bearer wrong-token-of-some-length",
    `Bearer ${http.token}x`,
    `Bearer ${http.token.slice(0, -1)}`,
    `Basic ${http.token}`,
    "Bearer",
    "",
  ])
    for (const where of ["/healthz", "/readyz", "/metrics"]) {
      const { status: code, body } = await ask(`${http.url}${where}`, { headers: { authorization } });
      assert.equal(code, 401, `${where} ${authorization}: ${body}`);
    }
  assert.equal((await http.get("/nothing")).status, 404);
});

test("web pages, other names of this machine, other methods and bodies are refused", async () => {
  const { http } = shared;
  const authorization = `Bearer ${http.token}`;
  const { port } = new URL(http.url);
  const refused = async (headers: Record<string, string>, method = "GET", body?: string): Promise<number> =>
    (
      await ask(`${http.url}/metrics`, {
        method,
        headers: { authorization, ...headers },
        ...(body !== undefined && { body }),
      })
    ).status;
  assert.equal(await refused({}), 200);
  assert.equal(await refused({ host: `localhost:${port}` }), 200);
  for (const name of [
    "evil.example",
    `evil.example:${port}`,
    "127.0.0.1",
    `127.0.0.1:${Number(port) + 1}`,
    `localhost.evil.example:${port}`,
  ])
    assert.equal(await refused({ host: name }), 403, name);
  for (const origin of ["https://evil.example", http.url, "null"])
    assert.equal(await refused({ origin }), 403, origin);
  assert.equal(await refused({ "sec-fetch-site": "cross-site" }), 403);
  for (const method of ["POST", "PUT", "DELETE", "OPTIONS"])
    assert.equal(await refused({}, method), 405, method);
  assert.equal(await refused({ "content-length": "4" }, "GET", "body"), 413);
  assert.equal(await refused({ "transfer-encoding": "chunked" }, "GET", "body"), 413);
  assert.equal(await refused({ "x-long": "x".repeat(10_000) }), 431);
  // A probe is refused as well: the page that has a name of its own point here would read the answer.
  assert.equal((await ask(`${http.url}/healthz`, { headers: { host: "evil.example" } })).status, 403);
});

test("a thousand scrapes at a time, and clients that say and read nothing, hold up no answer", async () => {
  const { http, world } = shared;
  const { hostname, port } = new URL(http.url);
  const hostile = [
    "",
    "GET /metrics HTTP/1.1\r\nHost: x\r\nX-A: ",
    `GET /metrics HTTP/1.1\r\nHost: ${hostname}:${port}\r\nContent-Length: 99\r\n\r\n`,
  ];
  const ended = hostile.map(async (said) => {
    const socket = connect(Number(port), hostname);
    socket.on("error", () => undefined);
    socket.write(said);
    socket.resume();
    await once(socket, "close");
  });
  const scrapes = Promise.all(Array.from({ length: 1000 }, async () => http.get("/metrics")));
  await world.say("room", "scraped", "are you there?");
  await world.untilAnswered();
  assert.deepEqual([...new Set((await scrapes).map((one) => one.status))], [200]);
  // None of them is waited for.
  await Promise.all(ended);
  assert.equal((await http.plain("/healthz")).status, 200);
});

test("a daemon that drains is not ready, and lives", async () => {
  const { daemon, http, model, world } = shared;
  const gate = new Gate();
  model.reply(gate.between("This is the beginning", " and this is the end."));
  await world.say("end", "last", "tell me something");
  await until("the beginning", async () => (await world.bot("end")).length === 1);
  daemon.signal("SIGTERM");
  await daemon.errorLine("draining");
  const { code, wrong } = await wrongIn(http);
  assert.equal(code, 503);
  assert.ok(wrong.includes("draining failed"), wrong.join());
  assert.equal((await http.plain("/healthz")).status, 200);
  gate.open();
  assert.deepEqual(await daemon.ended, { code: 0, signal: null });
});

test("the next daemon has the same token, and shows it no more", async () => {
  const { home, http } = shared;
  const next = home.start("start");
  await next.line("ready");
  assert.equal(next.out.join("\n").includes(http.token), false);
  assert.equal((await (await httpFace(next, home)).get("/metrics")).status, 200);
  await next.kill();
});

test("a configured name and a token of the environment do, and one that could be guessed does not", async () => {
  const hosts = 'hosts = ["Weir.internal", "weir.example:443"]';
  await using home = await openHome({
    modelUrl: "http://127.0.0.1:9/v1",
    config: `${LISTEN}${hosts}\ntoken = "env:HTTP_TEST_TOKEN"\n`,
    seed,
  });
  const short = home.startWith({ HTTP_TEST_TOKEN: "guess-me" }, "start");
  assert.equal((await short.ended).code, 78);
  assert.match(
    short.stderr,
    /config\.toml:4:1 {2}http\.token\n.*HTTP_TEST_TOKEN cannot be used\n.*at least 16/,
  );
  assert.equal(short.stderr.includes("guess-me"), false);
  const token = "a-token-of-the-operators-own";
  const daemon = home.startWith({ HTTP_TEST_TOKEN: token }, "start");
  await daemon.line("ready");
  const http = await httpFace(daemon, home, token);
  assert.equal((await http.get("/metrics")).status, 200);
  const { port } = new URL(http.url);
  for (const [host, code] of [
    ["weir.internal", 200],
    [`WEIR.internal:${port}`, 200],
    ["weir.example:443", 200],
    ["weir.example", 403],
    ["weir.internal:81", 403],
  ] as const)
    assert.equal((await ask(`${http.url}/healthz`, { headers: { host } })).status, code, host);
  await assert.rejects(stat(path.join(home.dataDir, "http.token")), /ENOENT/);
});

test("channels, contexts and compactions are what the command line shows, without secrets", async () => {
  await using scene = await openScene(
    '[[agents]]\nid = "main"\nmodel = "test-model"\n[agents.compaction]\nkeep_messages = 1\n',
  );
  const { home, http, world } = scene;
  const long = "The mill has a wheel of oak, and it turns when the river is high. ".repeat(20);
  for (const id of ["one", "two", "three", "four"]) {
    await world.say("room%2Fa%20b", id, `Number ${id}: my key is ${SECRET}. ${long}`);
    await world.untilAnswered();
  }
  await world.say("other", "only", "are you there?");
  await world.untilAnswered();
  const compacted = await home.run("compact", "loopback:room/a b");
  assert.equal(compacted.code, 0, compacted.stderr);

  const read = async (where: string): Promise<unknown> => {
    const { status: code, body, headers } = await http.get(where);
    assert.equal(code, 200, body);
    assert.equal(headers["content-type"], "application/json");
    assert.doesNotMatch(body, new RegExp(`${SECRET}|${http.token}`));
    return JSON.parse(body);
  };
  const { channels, next } = channelsAnswer.parse(await read("/channels?limit=1"));
  assert.deepEqual([channels.map(({ channel }) => channel), next !== null], [["loopback:other"], true]);
  const rest = channelsAnswer.parse(await read(`/channels?before=${next}`));
  assert.deepEqual([rest.channels.map(({ channel }) => channel), rest.next], [["loopback:room/a b"], null]);
  assert.partialDeepStrictEqual([...channels, ...rest.channels], await listedChannels(home));
  const id = encodeURIComponent("loopback:room/a b");
  const context = contextAnswer.parse(await read(`/channels/${id}/context`));
  const { out } = await home.run("context", "loopback:room/a b", "--json");
  const shown = contextAnswer.parse(JSON.parse(out.join("\n").replaceAll(SECRET, "•••")));
  assert.deepEqual(Object.keys(context).toSorted(), Object.keys(shown).toSorted());
  // The daemon estimates by all that it has counted, the command line by the last call.
  const told = [
    "characters",
    "estimatedTokens",
    "sections",
    "summaries",
    "memories",
    "log",
    "spent",
    "compactions",
  ];
  for (const key of told) assert.deepEqual(context[key], shown[key], key);
  assert.match(JSON.stringify(context.summaries), /my key is •••/);
  const { compactions } = compactionsAnswer.parse(await read(`/channels/${id}/compactions?limit=5`));
  const listed = await home.run("compactions", "loopback:room/a b", "--json", "--limit", "5");
  assert.deepEqual(
    compactions,
    listed.out.map((line): unknown => JSON.parse(line.replaceAll(SECRET, "•••"))),
  );
  assert.ok(compactions.length > 0);

  for (const where of [
    `/channels/${encodeURIComponent("loopback:nowhere")}/context`,
    "/channels/%00/context",
    "/channels/%ff/compactions",
  ])
    assert.equal((await http.get(where)).status, 404, where);
  for (const where of ["/channels?limit=0", "/channels?before=x", `/channels/${id}/compactions?limit=2000`])
    assert.equal((await http.get(where)).status, 400, where);
  const { paths } = z
    .looseObject({ paths: z.record(z.string(), z.unknown()) })
    .parse(await read("/openapi.json"));
  for (const where of Object.keys(paths))
    assert.equal((await http.get(where.replace("{id}", id))).status, 200, where);
});

test("a daemon whose database is not there yet lives, and is not ready", async () => {
  await using database = await createTestDatabase();
  await using home = await openHome({
    modelUrl: "http://127.0.0.1:9/v1",
    config: `${LISTEN}[database]\nurl = "env:HTTP_TEST_URL"\n`,
  });
  const url = new URL(connectionUrl(database.connection));
  url.searchParams.set("host", "127.0.0.1");
  url.port = "9";
  const daemon = home.startWith({ HTTP_TEST_URL: url.href }, "start");
  const http = await httpFace(daemon, home);
  assert.equal((await http.plain("/healthz")).status, 200);
  const ready = await http.plain("/readyz");
  assert.deepEqual([ready.status, JSON.parse(ready.body)], [503, { status: "not ok" }]);
  const { code, status: said, wrong } = await wrongIn(http);
  assert.deepEqual([code, said, wrong], [503, "not ready", ["starting failed", "database failed"]]);
});

test("a database that is away, or of another version, is told, and so is its return", async () => {
  await using database = await createTestDatabase();
  await using outside = openStore(database.connection);
  await using home = await openHome({
    modelUrl: "http://127.0.0.1:9/v1",
    config: `${LISTEN}[database]\nurl = "env:HTTP_TEST_URL"\n`,
  });
  const daemon = home.startWith({ HTTP_TEST_URL: connectionUrl(database.connection) }, "start");
  await daemon.line("ready");
  const http = await httpFace(daemon, home);
  const untilWrong = async (expected: readonly string[]): Promise<Awaited<ReturnType<typeof wrongIn>>> => {
    await until(expected.join(), async () => (await wrongIn(http)).wrong.join() === expected.join());
    return wrongIn(http);
  };
  await untilWrong([]);
  await database.setAway(true);
  const away = await untilWrong(["database failed"]);
  assert.deepEqual([away.code, away.status], [503, "not ready"]);
  // A statement that was cut has another reason, which is told for a second.
  await until("the reason", async () =>
    (await wrongIn(http)).detail.includes("not currently accepting connections"),
  );
  assert.equal(await measured(http, 'weir_check{check="database"}'), 0);
  assert.equal((await http.plain("/healthz")).status, 200);
  await database.setAway(false);
  await untilWrong([]);
  await outside.sql(
    "insert into schema_migrations (version, name) select max(version) + 1, 'newer' from schema_migrations",
  );
  const newer = await untilWrong(["schema degraded"]);
  assert.equal(newer.code, 200);
  await outside.sql(
    "delete from schema_migrations where version >= (select max(version) - 1 from schema_migrations)",
  );
  const older = await untilWrong(["schema failed"]);
  assert.equal(older.code, 503);
});

test("a platform that cannot be reached is told, and a model that is down only degrades", async () => {
  await using scene = await openScene("[llm]\nmax_retries = 2\n");
  const { http, model, world } = scene;
  model.respond(() => status(503));
  await world.say("room", "asked", "are you there?");
  await world.untilAnswered();
  const down = await wrongIn(http);
  assert.deepEqual([down.code, down.status, down.wrong], [200, "degraded", ["model degraded"]]);
  assert.match(
    down.detail,
    /test-model: the last 3 calls for answers failed \(the model's server has too much to do\)/,
  );
  assert.deepEqual(JSON.parse((await http.plain("/readyz")).body), { status: "ok" });
  model.respond(echo);
  await world.say("room", "again", "and now?");
  await world.untilAnswered();
  assert.deepEqual((await wrongIn(http)).wrong, []);
  await world[Symbol.asyncDispose]();
  await until("the platform's end", async () => (await wrongIn(http)).wrong.join() === "loopback failed");
  assert.equal((await http.plain("/readyz")).status, 503);
  assert.match((await wrongIn(http)).detail, /^not connected since \S+Z: .*; it is tried again$/);
});

test("a port that is taken ends the start, and says which key it is and what to do", async () => {
  const taken = createServer().listen(0, "127.0.0.1");
  await once(taken, "listening");
  const address = taken.address();
  assert.ok(typeof address === "object" && address !== null);
  await using home = await openHome({
    modelUrl: "http://127.0.0.1:9/v1",
    config: `[http]\nlisten = "127.0.0.1:${address.port}"\n`,
    seed,
  });
  const { code, stderr, out } = await home.run("start");
  taken.close();
  assert.equal(code, 1);
  assert.equal(
    stderr,
    `http.listen: Weir cannot listen on 127.0.0.1:${address.port}: another program listens there already, perhaps another Weir: ` +
      "end it, or choose another port under [http] in config.toml.",
  );
  assert.deepEqual(out, []);
  // It would have been shown to nobody.
  await assert.rejects(stat(path.join(home.dataDir, "http.token")), /ENOENT/);
});
