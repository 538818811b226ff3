// proves: src/store/database/embedded/cluster.ts
/** The life of the embedded server: started, adopted, killed, stopped. All on one folder, one after another. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, afterEach, before, test } from "node:test";
import {
  type EmbeddedPostgres,
  findEmbeddedPostgres,
} from "../../../../src/store/database/embedded/embedded-postgres.ts";
import { startChildScript } from "../../../support/child-script.ts";
import {
  ask,
  connect,
  copyFolder,
  killPostmaster,
  makeRoomyFolder,
  postmasterPid,
  startQuietly,
} from "../../../support/embedded-folder.ts";

let room: Awaited<ReturnType<typeof makeRoomyFolder>>;
let dataDir: string;

before(async () => {
  room = await makeRoomyFolder();
  dataDir = join(room.path, 'it\'s a "data" $HOME, folder');
  await using server = await startQuietly(dataDir);
  await ask(server.connection, "create table kept as select 7 as answer");
});
after(async () => room[Symbol.asyncDispose]());

afterEach(async () => {
  // A test that failed leaves its server behind.
  if ((await findEmbeddedPostgres(dataDir)) === null) return;
  await using _left = await startQuietly(dataDir);
});

test("it keeps its data, whatever signs the folder's name has", async () => {
  await using server = await startQuietly(dataDir);
  assert.equal(server.adopted, false);
  assert.equal(await ask(server.connection, "select answer from kept"), 7);
  assert.deepEqual(await findEmbeddedPostgres(dataDir), server.connection);
});

test("it flushes to disk, speaks UTF-8 and UTC, and listens on no network", async () => {
  await using server = await startQuietly(dataDir);
  const settings = await ask(
    server.connection,
    `select jsonb_object_agg(name, setting) as answer from pg_settings
     where name in ('fsync', 'listen_addresses', 'server_encoding', 'synchronous_commit', 'TimeZone')`,
  );
  assert.deepEqual(settings, {
    fsync: "on",
    listen_addresses: "",
    server_encoding: "UTF8",
    synchronous_commit: "on",
    TimeZone: "UTC",
  });
});

test("nobody else can enter its socket's folder or read its log", async () => {
  await using server = await startQuietly(dataDir);
  assert.equal((await stat(server.connection.host)).mode & 0o777, 0o700);
  assert.equal((await stat(join(dataDir, "postgres.log"))).mode & 0o777, 0o600);
});

test("it is gone when it was disposed of, and disposing again does no harm", async () => {
  const server = await startQuietly(dataDir);
  await server[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  assert.equal(await findEmbeddedPostgres(dataDir), null);
  await assert.rejects(connect(server.connection));
});

test(
  "what is sent to our process group or to our children does not reach it",
  { skip: process.platform !== "linux" && "needs /proc" },
  async () => {
    await using server = await startQuietly(dataDir);
    assert.equal(server.adopted, false);
    const [ours, its] = await Promise.all([
      processStat(process.pid),
      processStat(await postmasterPid(dataDir)),
    ]);
    assert.notEqual(its.session, ours.session);
    assert.notEqual(its.parent, process.pid);
  },
);

test("it is adopted when the daemon that started it was killed", async () => {
  const daemon = await startChildScript("server-starter.ts", dataDir);
  assert.equal(daemon.firstLine, "started");
  const pid = await postmasterPid(dataDir);
  daemon.child.kill("SIGKILL");
  await daemon[Symbol.asyncDispose]();

  await using server = await startQuietly(dataDir);
  assert.equal(server.adopted, true);
  assert.equal(await postmasterPid(dataDir), pid);
  assert.equal(await ask(server.connection, "select answer from kept"), 7);
});

test("it comes up again after it was killed itself, with all that was committed", async () => {
  const killed = await startQuietly(dataDir);
  const client = await connect(killed.connection);
  await client.query("update kept set answer = answer + 1");
  await killPostmaster(dataDir);

  await using server = await startQuietly(dataDir);
  assert.equal(server.adopted, false);
  assert.equal(await ask(server.connection, "select answer from kept"), 8);
  await ask(server.connection, "update kept set answer = 7");
  await client.end().catch(() => {});
});

test("a left-over file whose process id another program has by now does not keep it from starting", async () => {
  const killed = await startQuietly(dataDir);
  const pid = await killPostmaster(dataDir);
  const { uid } = await stat(join(dataDir, "postgres"));
  // Postgres takes any process of its own account for a Postgres.
  const other = spawn("sleep", ["60"], process.getuid?.() === 0 ? { uid } : {});
  for (const file of [join(dataDir, "postgres", "postmaster.pid"), `${socketOf(killed)}.lock`]) {
    await writeFile(file, (await readFile(file, "utf8")).replace(String(pid), String(other.pid)));
  }

  await using server = await startQuietly(dataDir);
  other.kill();
  assert.equal(server.adopted, false);
  assert.deepEqual(server.connection, killed.connection);
});

test("a server whose socket was tidied away is replaced", async () => {
  const unreachable = await startQuietly(dataDir);
  await rm(socketOf(unreachable));
  await using server = await startQuietly(dataDir);
  assert.equal(server.adopted, false);
  assert.equal(await ask(server.connection, "select answer from kept"), 7);
});

test("two starts at once on one folder end with one server", async () => {
  const [one, other] = await Promise.all([startQuietly(dataDir), startQuietly(dataDir)]);
  assert.deepEqual(one.connection, other.connection);
  await one[Symbol.asyncDispose]();
  await other[Symbol.asyncDispose]();
});

test("a copied folder gets a server of its own, also while the original's is running", async () => {
  await using original = await startQuietly(dataDir);
  const copy = `${dataDir} again`;
  await copyFolder(dataDir, copy);
  await using server = await startQuietly(copy);
  assert.equal(server.adopted, false);
  assert.notEqual(server.connection.host, original.connection.host);
  assert.equal(await ask(original.connection, "select answer from kept"), 7);
});

function socketOf(server: EmbeddedPostgres): string {
  return join(server.connection.host, `.s.PGSQL.${server.connection.port}`);
}

/** Two fields of Linux' /proc/PID/stat. */
async function processStat(pid: number): Promise<{ parent: number; session: number }> {
  const text = await readFile(`/proc/${pid}/stat`, "utf8");
  // The program's name, in brackets, may hold blanks; the state comes first after it.
  const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
  return { parent: Number(fields[1]), session: Number(fields[3]) };
}
