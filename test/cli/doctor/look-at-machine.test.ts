import assert from "node:assert/strict";
import { once } from "node:events";
import { existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import path from "node:path";
import { test } from "node:test";
import { databaseRemedy, lookAtFolder, lookAtHttp } from "../../../src/cli/doctor/look-at-machine.ts";
import { folderWith } from "../../config/folder.ts";

test("each failure of the database has a hint of its own", () => {
  const embedded = { url: null };
  const server = { url: "postgres://localhost/weir" };
  const hints = [
    databaseRemedy("could not write to file: No space left on device", embedded),
    databaseRemedy('FATAL: "data/postgres" is not a valid data directory', embedded),
    databaseRemedy("FATAL:  sorry, too many clients already", server),
    databaseRemedy("The database is not available: connect ECONNREFUSED 127.0.0.1:5432.", server),
    databaseRemedy("timeout exceeded when trying to connect", server),
    databaseRemedy("something else", embedded),
    databaseRemedy("something else", server),
  ];
  assert.equal(new Set(hints).size, hints.length);
  assert.match(hints[0] ?? "", /make room/);
  assert.match(hints[1] ?? "", /weir -- restore/);
  assert.match(hints[2] ?? "", /max_connections/);
  for (const one of [
    'could not open file "global/pg_control"',
    "PANIC:  could not locate a valid checkpoint record",
  ])
    assert.equal(databaseRemedy(one, embedded), hints[1], one);
});

test("a folder with others' things in it is told of; one that is not there is not made", async (t) => {
  const dataDir = path.join(folderWith(t, {}), "data");
  const look = async (): Promise<string[]> =>
    (await lookAtFolder({ database: { url: null, dataDir } }))
      .filter(({ what }) => what === "data folder")
      .map(({ detail }) => detail);
  assert.deepEqual(await look(), []);
  assert.ok(!existsSync(dataDir));
  mkdirSync(dataDir);
  for (const own of ["weir.log", "weir.log.3", "lock"]) writeFileSync(path.join(dataDir, own), "");
  assert.deepEqual(await look(), []);
  writeFileSync(path.join(dataDir, "holiday.jpg"), "");
  const [told] = await look();
  assert.match(told ?? "", /"holiday\.jpg", which is none of Weir's/);
  assert.equal(readdirSync(dataDir).length, 4);
  rmSync(dataDir, { recursive: true });
});

test("a port that another program has is told of, one that a Weir has is as it should be", async () => {
  const http = { host: "127.0.0.1", port: 0, token: null, hosts: [], mayMove: false };
  assert.deepEqual(await lookAtHttp({ http: null }), []);
  assert.equal((await lookAtHttp({ http }))[0]?.state, "ok");
  let isWeir = false;
  const server = createServer((_, response) => {
    response.statusCode = isWeir ? 401 : 200;
    response.end(isWeir ? '{"error":"show the token: Authorization: Bearer TOKEN"}' : "<html>ok</html>");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" && address !== null ? address.port : 0;
  const taken = await lookAtHttp({ http: { ...http, port } });
  assert.equal(taken[0]?.state, "wrong");
  assert.match(taken[0]?.detail ?? "", /another program listens there/);
  assert.match(taken[0]?.todo ?? "", /another port/);
  const moved = await lookAtHttp({ http: { ...http, port, mayMove: true } });
  assert.match(moved[0]?.detail ?? "", /the next free port is used/);
  assert.equal(moved[0]?.state, "ok");
  isWeir = true;
  assert.equal((await lookAtHttp({ http: { ...http, port } }))[0]?.state, "ok");
  server.close();
  server.closeAllConnections();
});
