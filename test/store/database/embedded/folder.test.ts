/** Where the embedded server's data can be, and in which state it is found. */
import assert from "node:assert/strict";
import { chown, mkdir, readFile, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, afterEach, before, beforeEach, test } from "node:test";
import { OperatorError } from "../../../../src/core/errors.ts";
import { ask, copyFolder, makeRoomyFolder, startQuietly } from "../../../support/embedded-folder.ts";

const skipUnlessRoot = { skip: process.getuid?.() !== 0 && "only root runs the server as another account" };

let room: Awaited<ReturnType<typeof makeRoomyFolder>>;
/** A data folder whose server ran once and was stopped. */
let made: string;
let dataDir: string;
let count = 0;

before(async () => {
  room = await makeRoomyFolder();
  made = join(room.path, "made");
  await mkdir(join(made, "postgres.unfinished", "base"), { recursive: true });
  await using server = await startQuietly(made);
  await ask(server.connection, "create table kept as select 7 as answer");
});
after(async () => room[Symbol.asyncDispose]());
beforeEach(() => {
  dataDir = join(room.path, `data ${++count}`);
});
afterEach(async () => rm(dataDir, { recursive: true, force: true }));

test("an initdb that was interrupted is begun again", async () => {
  // `made` began as such a folder.
  await assert.rejects(stat(join(made, "postgres.unfinished")), { code: "ENOENT" });
  assert.equal((await readFile(join(made, "postgres", "PG_VERSION"), "utf8")).trim(), "18");
});

test("data of another major version is refused, with both versions and a way out", async () => {
  await copyFolder(made, dataDir);
  await writeFile(join(dataDir, "postgres", "PG_VERSION"), "17\n");
  await assert.rejects(startQuietly(dataDir), (error) => {
    assert.ok(error instanceof OperatorError);
    assert.match(error.message, /Postgres 17, the embedded one is 18[^]*DATABASE_URL/);
    return true;
  });
});

test("a server that cannot start says why, from its log", async () => {
  await copyFolder(made, dataDir);
  await writeFile(join(dataDir, "postgres", "postgresql.conf"), "no_such_setting = 1\n");
  await assert.rejects(startQuietly(dataDir), /no_such_setting/);
});

test("a path that is too long for a socket gets a private folder for it, and the same one again", async () => {
  dataDir = join(room.path, `${"a long name ".repeat(15)}${process.pid}`);
  await copyFolder(made, dataDir);
  const hosts: string[] = [];
  for (let round = 0; round < 2; round++) {
    await using server = await startQuietly(dataDir);
    assert.equal(await ask(server.connection, "select answer from kept"), 7);
    hosts.push(server.connection.host);
  }
  const [first = "", second] = hosts;
  assert.equal(first, second);
  assert.equal(dirname(first), tmpdir());
  assert.equal((await stat(first)).mode & 0o777, 0o700);

  // Somebody who guessed the name could listen in its place.
  await rm(first, { recursive: true });
  await symlink(room.path, first);
  await assert.rejects(startQuietly(dataDir), OperatorError);
  await rm(first);
});

test("a folder below one that is closed to the server's account works", skipUnlessRoot, async () => {
  await mkdir(dataDir, { mode: 0o700 });
  const inside = join(dataDir, "data");
  await copyFolder(made, inside);
  await using server = await startQuietly(inside);
  assert.equal(await ask(server.connection, "update kept set answer = 8 returning answer"), 8);
  // Its backends write new files there, too.
  await ask(server.connection, "create table more as select 9 as answer");
  assert.equal(await ask(server.connection, "select answer from more"), 9);
});

test(
  "data that root has copied for itself is given back to the server's account",
  skipUnlessRoot,
  async () => {
    await copyFolder(made, dataDir);
    const { uid } = await stat(join(made, "postgres"));
    assert.notEqual(uid, 0);
    await chown(join(dataDir, "postgres"), 0, 0);
    await using server = await startQuietly(dataDir);
    assert.equal(await ask(server.connection, "select answer from kept"), 7);
    assert.equal((await stat(join(dataDir, "postgres"))).uid, uid);
  },
);

test("a data folder that is a file is refused in plain words", async () => {
  await writeFile(dataDir, "");
  await assert.rejects(startQuietly(dataDir), OperatorError);
});
