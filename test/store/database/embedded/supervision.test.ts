/** A server that ends while a daemon uses it: started again, or given up with a reason. */
// proves: src/store/database/embedded/supervisor.ts
import assert from "node:assert/strict";
import { rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, beforeEach, test } from "node:test";
import { pino } from "pino";
import {
  type EmbeddedPostgres,
  findEmbeddedPostgres,
  startEmbeddedPostgres,
} from "../../../../src/store/database/embedded/embedded-postgres.ts";
import { SUPERVISION, waitBeforeStart } from "../../../../src/store/database/embedded/supervisor.ts";
import {
  ask,
  connect,
  copyFolder,
  makeRoomyFolder,
  postmasterPid,
  startQuietly,
} from "../../../support/embedded-folder.ts";

let room: Awaited<ReturnType<typeof makeRoomyFolder>>;
let made: string;
let dataDir: string;
let count = 0;

before(async () => {
  room = await makeRoomyFolder();
  made = join(room.path, "made");
  await using server = await startQuietly(made);
  await ask(server.connection, "create table kept as select 7 as answer");
});
after(async () => room[Symbol.asyncDispose]());
beforeEach(async () => {
  dataDir = join(room.path, `data ${++count}`);
  await copyFolder(made, dataDir);
});

interface Watched extends AsyncDisposable {
  readonly server: EmbeddedPostgres;
  /** Resolves with the first line of the log with this message, past or to come. */
  told(message: string): Promise<Record<string, unknown>>;
  /** Resolves with why it was given up. */
  readonly lost: Promise<Error>;
}

/** Starts a server and supervises it, with waits that cost a test nothing. */
async function startWatched(): Promise<Watched> {
  const lines: Record<string, unknown>[] = [];
  let heard = Promise.withResolvers<void>();
  const write = (line: string): void => {
    lines.push(JSON.parse(line));
    heard.resolve();
    heard = Promise.withResolvers<void>();
  };
  const server = await startEmbeddedPostgres({ dataDir, log: pino({}, { write }) });
  const lost = Promise.withResolvers<Error>();
  server.supervise(lost.resolve, {
    ...SUPERVISION,
    lookEveryMs: 20,
    graceMs: 40,
    waitFromMs: 5,
    waitToMs: 20,
  });
  return {
    server,
    lost: lost.promise,
    async told(message) {
      for (;;) {
        const found = lines.find(({ msg }) => msg === message);
        if (found !== undefined) return found;
        await heard.promise;
      }
    },
    [Symbol.asyncDispose]: async () => server[Symbol.asyncDispose](),
  };
}

async function kill(): Promise<number> {
  const pid = await postmasterPid(dataDir);
  process.kill(pid, "SIGKILL");
  return pid;
}

test("a server that was killed is started again, with all that was committed, and the log says so", async () => {
  await using watched = await startWatched();
  const { connection } = watched.server;
  const client = await connect(connection);
  client.on("error", () => undefined);
  await client.query("update kept set answer = answer + 1");
  const killed = await kill();
  const told = await watched.told("database_ended");
  assert.match(String(told["what"]), /embedded Postgres has ended.*started again/);
  await watched.told("database_restarted");
  assert.notEqual(await postmasterPid(dataDir), killed);
  assert.deepEqual(await findEmbeddedPostgres(dataDir), connection, "the pool finds it where it was");
  assert.equal(await ask(connection, "select answer from kept"), 8);
});

test("one that was adopted, or that somebody has stopped in peace, is started again too", async () => {
  const left = await startQuietly(dataDir);
  await using watched = await startWatched();
  assert.equal(watched.server.adopted, true);
  process.kill(await postmasterPid(dataDir), "SIGINT");
  await watched.told("database_restarted");
  assert.equal(await ask(left.connection, "select answer from kept"), 7);
});

test("a shutdown that is under way does not have it started again", async () => {
  const watched = await startWatched();
  watched.server.expectEnd();
  await kill();
  await watched.server[Symbol.asyncDispose]();
  assert.equal(await findEmbeddedPostgres(dataDir), null);
});

test("a shutdown in the middle of a restart leaves no server behind", async () => {
  const watched = await startWatched();
  await kill();
  await watched.told("database_ended");
  await watched.server[Symbol.asyncDispose]();
  assert.equal(await findEmbeddedPostgres(dataDir), null);
});

test("one that does not start any more is given up after some attempts, with the reason", async () => {
  await using watched = await startWatched();
  await writeFile(join(dataDir, "postgres", "postgresql.conf"), "no_such_setting = 1\n");
  await kill();
  const reason = await watched.lost;
  assert.match(reason.message, /cannot be started again[^]*no_such_setting/);
  const failed = await watched.told("database_not_restarted");
  assert.match(String(failed["why"]), /no_such_setting/);
});

test("a data folder that is gone is given up, and no empty database put in its place", async () => {
  await using watched = await startWatched();
  await kill();
  await watched.told("database_ended");
  await rm(join(dataDir, "postgres"), { recursive: true, force: true });
  await watched.lost;
  assert.equal(await findEmbeddedPostgres(dataDir), null);
});

test("attempts wait ever longer, up to a bound; a full disk is waited for as long as it takes", () => {
  const waits = Array.from({ length: SUPERVISION.maxAttempts }, (_, failed) =>
    waitBeforeStart(failed, "FATAL: no luck", SUPERVISION),
  );
  assert.deepEqual(waits.slice(0, 3), [0, 500, 1000]);
  assert.equal(waits.at(-1), 15_000);
  assert.equal(waitBeforeStart(SUPERVISION.maxAttempts, "FATAL: no luck", SUPERVISION), null);
  const full = "FATAL:  could not write lock file: No space left on device";
  assert.equal(waitBeforeStart(500, full, SUPERVISION), 15_000);
});
