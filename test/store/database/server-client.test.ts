import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, test } from "node:test";
import { pino } from "pino";
import { OperatorError, WeirError } from "../../../src/core/errors.ts";
import { Database } from "../../../src/store/database/database.ts";
import { readAddress } from "../../../src/store/database/server-client.ts";
import { makeAuthority } from "../../support/certificates.ts";
import { createTestDatabase } from "../../support/database.ts";
import { type Shown, startTlsFront } from "../../support/tls-front.ts";

const database = await createTestDatabase();
const authority = makeAuthority();
const folder = await mkdtemp(path.join(tmpdir(), "weir-tls-"));
const root = path.join(folder, "ca.pem");
await writeFile(root, authority.cert);
const good = authority.issue();
const front = await startTlsFront(database.connection, good);
after(async () => {
  await front[Symbol.asyncDispose]();
  await database[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});
const user =
  "url" in database.connection ? new URL(database.connection.url).username : database.connection.user;

/** Asks over a connection of its own. @returns the failure; null: it was answered */
async function ask(query: string, host = "localhost"): Promise<WeirError | null> {
  const url = `postgres://${user}@${host}:${front.port}/${database.name}${query}`;
  await using asked = new Database({ url }, pino({ enabled: false }));
  const failure = await asked.query("", "select 1").then(
    () => null,
    (error: unknown) => error,
  );
  assert.ok(failure === null || failure instanceof WeirError, String(failure));
  return failure;
}

/** By the mode: whether a connection comes about with a server that takes no encryption; with a certificate of no known authority; of one
 * that is known, but for another host; a good one. */
const MODES: readonly (readonly [
  query: string,
  plain: boolean,
  unknown: boolean,
  other: boolean,
  good: boolean,
])[] = [
  ["", true, false, false, false],
  ["?sslmode=disable", true, false, false, false],
  ["?sslmode=allow", false, true, true, true],
  ["?sslmode=prefer", false, true, true, true],
  ["?sslmode=require", false, true, true, true],
  ["?sslmode=require&uselibpqcompat=true", false, true, true, true],
  ["?sslmode=no-verify", false, true, true, true],
  ["?ssl=true", false, true, true, true],
  [`?sslmode=require&sslrootcert=${root}`, false, false, true, true],
  [`?sslmode=verify-ca&sslrootcert=${root}`, false, false, true, true],
  [`?sslmode=verify-full&sslrootcert=${root}`, false, false, false, true],
  [`?sslrootcert=${root}`, false, false, false, true],
  ["?sslmode=verify-full", false, false, false, false],
  [`?sslmode=verify-full&sslrootcert=system`, false, false, false, false],
];

test("sslmode means what it means to libpq", async () => {
  const servers: Shown[] = [
    "plain",
    makeAuthority("Another").issue(),
    authority.issue({ host: "db.example" }),
    good,
  ];
  for (const [index, server] of servers.entries()) {
    front.show(server);
    for (const [query, ...expected] of MODES) {
      // A server that encrypts only is asked in the clear.
      if (index > 0 && expected[0]) continue;
      const failure = await ask(query);
      assert.equal(failure === null, expected[index], `${query} at server ${index}: ${failure?.message}`);
    }
  }
});

test("whatever keeps a session from coming about may pass, and says what to do", async () => {
  const checked = `?sslmode=verify-full&sslrootcert=${root}`;
  const failures: readonly (readonly [Shown, query: string, why: RegExp])[] = [
    [
      authority.issue({ until: new Date(Date.now() - 1000) }),
      checked,
      /certificate has expired \(localhost:\d+\)\. .* renew it there\./,
    ],
    [authority.issue({ until: new Date(Date.now() + 60 * 86_400_000) }), checked, /not yet valid.* clocks/],
    [makeAuthority("Another").issue(), checked, /not of an authority that is trusted here.* sslrootcert=/],
    [good, "?sslmode=verify-full", /not of an authority that is trusted here.* sslrootcert=/],
    [authority.issue({ host: "db.example" }), checked, /DNS:db\.example.* for another name/],
    [{ ...good, maxVersion: "TLSv1.1" }, checked, /TLS versions/],
    ["plain", checked, /does not support SSL.* sslmode=disable/],
    [{ says: "HTTP/1.1 400 Bad Request\r\n\r\n<html>" }, checked, /Something else than Postgres answers/],
    [{ says: "HTTP/1.1 400 Bad Request\r\n\r\n<html>" }, "", /The database is not available/],
    [{ says: Buffer.from("\u{4a}\0\0\0\n8.0.36 MySQL") }, "", /Something else than Postgres answers/],
    [{ says: "" }, checked, /The database is not available/],
    [good, "?port=99999", /The database is not available: .*99999/],
    [good, `?sslmode=verify-full&sslrootcert=${folder}/none.pem`, /sslrootcert of DATABASE_URL .*ENOENT/],
    [good, `?sslmode=verify-full&sslrootcert=${root}&sslkey=${root}&sslcert=${root}`, /sslcert and sslkey/],
  ];
  for (const [server, query, why] of failures) {
    front.show(server);
    const failure = await ask(query);
    assert.match(failure?.message ?? "it was answered", why);
    assert.ok(failure?.retryable, `${failure?.message}`);
  }
  front.show(good);
  assert.equal(await ask(checked), null);
});

test("an address that is wrong in itself is the operator's to change", async () => {
  for (const [query, why] of [
    ["?sslmode=requre", /no sslmode "requre"/],
    ["?sslmode=verify-ca", /sslrootcert/],
    ["?sslmode=require&sslnegotiation=none", /no sslnegotiation "none"/],
    ["?port=none", /DATABASE_URL cannot be used: Invalid port/],
  ] as const) {
    const failure = await ask(query);
    assert.match(failure?.message ?? "", why);
    assert.ok(failure !== null && !failure.retryable);
  }
});

test("a sign in the password that ends the server's part is named, with nothing of the password", () => {
  for (const [password, sign, escaped] of [
    ["12/gehe", "/", "%2F"],
    ["ge/heim", "/", "%2F"],
    ["12#heim", "#", "%23"],
    ["ge#heim", "#", "%23"],
    ["12?heim", "?", "%3F"],
  ] as const)
    assert.throws(
      () => readAddress(`postgres://weir:${password}@db.example:5432/weir`, {}),
      (error) =>
        error instanceof OperatorError &&
        error.message.includes(`holds a "${sign}" as it is. Write it as ${escaped}`) &&
        !/12|heim/.test(error.message),
    );
  for (const address of [
    "postgres://weir:ge@heim@db.example:5432/weir?application_name=a@b",
    "postgres://weir:50%off@db.example/weir",
    "postgres://db.example:5432/weir?application_name=a@b",
  ])
    assert.equal(readAddress(address, {}).host, "db.example");
  assert.equal(readAddress("postgres://weir:ge@heim@db.example/weir", {}).password, "ge@heim");
});

test("the environment says what the address leaves open, and nothing else", () => {
  const env = { PGSSLMODE: "verify-ca", PGSSLROOTCERT: root };
  const open = readAddress("postgres://weir@db.example/weir", env);
  assert.ok(typeof open.ssl === "object" && open.ssl.ca === authority.cert);
  assert.equal(readAddress("postgres://weir@db.example/weir?sslmode=disable", env).ssl, false);
  assert.equal(readAddress("postgres://weir@localhost/weir?host=%2Frun%2Fpostgresql", env).ssl, false);
  const silent = [{}, { PGSSLROOTCERT: root }, { PGSSLMODE: "" }, { PGSSLNEGOTIATION: "direct" }];
  for (const one of silent) assert.equal(readAddress("postgres://weir@db.example/weir", one).ssl, false);
  const whole = readAddress(
    "postgres://weir:p%40ss@db.example:6432/weir?options=-c%20a%3Db&sslmode=require",
    {},
  );
  assert.deepEqual(
    {
      user: whole.user,
      password: whole.password,
      host: whole.host,
      port: whole.port,
      options: whole.options,
    },
    { user: "weir", password: "p@ss", host: "db.example", port: 6432, options: "-c a=b" },
  );
});

test("the embedded server is reached whatever PG* of the host says", async () => {
  const { connection } = database;
  if ("url" in connection) return;
  const foreign = {
    PGSSLMODE: "require",
    PGSSLNEGOTIATION: "direct",
    PGSSLROOTCERT: "/nowhere/ca.pem",
    PGHOST: "db.example",
    PGPORT: "1",
    PGUSER: "nobody",
    PGPASSWORD: "wrong",
    PGDATABASE: "none",
    PGOPTIONS: "-c nonsense=1",
    PGAPPNAME: "other",
    PGCLIENT_ENCODING: "LATIN1",
    PGREPLICATION: "database",
    PGSERVICE: "none",
    PGTZ: "Mars",
    PGDATESTYLE: "none",
  };
  const before = { ...process.env };
  Object.assign(process.env, foreign);
  try {
    await using asked = new Database(connection, pino({ enabled: false }));
    const settings = "current_database() as name, current_setting('application_name') as app";
    const [row] = await asked.query("", `select ${settings}, 'ä' as letter`);
    assert.deepEqual(row, { name: connection.database, app: "weir", letter: "ä" });
  } finally {
    for (const name of Object.keys(foreign)) delete process.env[name];
    Object.assign(process.env, before);
  }
});
