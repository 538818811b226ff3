// proves: src/cli/backup.ts, src/store/backup/restore.ts, src/store/database/signing-key.ts
// A restore that is killed, or that something is wrong with, and the same command after it.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import type { OpenStore } from "../store/open-store.ts";
import { openHome } from "../support/e2e.ts";
import { openHomeWithStore } from "../support/home-with-store.ts";
import { until } from "../support/patience.ts";

const KEY = "ab".repeat(32);
const from = await openHomeWithStore();
const { id } = await from.open.channel("mill");
for (const text of ["the river is high", "the boat is in"]) await from.open.say(id, text);
await mkdir(from.home.dataDir, { recursive: true });
await writeFile(path.join(from.home.dataDir, "signing.key"), `${KEY}\n`, { mode: 0o600 });
const BACKUP = path.join(from.home.folder, "weir.backup");
const made = await from.home.run("backup", "weir.backup");
assert.equal(made.code, 0, made.stderr);

const keyOf = (dataDir: string): string => path.join(dataDir, "signing.key");

async function keyIn(dataDir: string): Promise<string | null> {
  return existsSync(keyOf(dataDir)) ? (await readFile(keyOf(dataDir), "utf8")).trim() : null;
}

async function texts(open: OpenStore): Promise<unknown[]> {
  return (await open.sql("select text from entries order by seq")).map(({ text }) => text);
}

/** Holds a lock until it is released. @returns once it is held, or waited for */
async function hold(open: OpenStore, lock: string, isWaiting = false): Promise<() => Promise<void>> {
  const end = Promise.withResolvers<void>();
  const held = Promise.withResolvers<void>();
  const holding = open.db.transaction(async (client) => {
    await client.query("", `/* a test's */ lock table ${lock}`);
    held.resolve();
    await end.promise;
  });
  if (isWaiting) await waits(open, "a test's");
  else await Promise.race([held.promise, holding]);
  return async () => {
    end.resolve();
    await holding;
  };
}

/** Resolves once a statement with these words waits for a lock. */
async function waits(open: OpenStore, words: string): Promise<void> {
  const text =
    "select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1";
  await until(`a statement with ${words} that waits`, async () => {
    return (await open.sql(text, `%${words}%`)).length > 0;
  });
}

/** Where it is killed: at a statement that waits for a lock; what is there then. */
const POINTS = [
  {
    name: "among the rows",
    lock: "entries in share mode",
    at: "alter table entries disable",
    rows: 0,
  },
  {
    name: "before the commit",
    lock: "schema_migrations in share update exclusive mode",
    at: "comment on",
    rows: 0,
  },
] as const;

for (const { name, lock, at, rows } of POINTS)
  test(`a restore that is killed ${name} leaves nothing but its key, and the same command ends well`, async () => {
    const { home, open } = await openHomeWithStore({ applicationName: "weir-test" });
    const release = await hold(open, lock);
    const killed = home.start("restore", BACKUP);
    await waits(open, at);
    await killed.kill();
    await release();
    assert.equal((await texts(open)).length, rows);
    assert.equal(await keyIn(home.dataDir), KEY);
    const again = await home.run("restore", BACKUP);
    assert.equal(again.code, 0, again.stderr);
    assert.match(again.out.join("\n"), /^1 channel, 2 entries, .* restored into /);
    assert.deepEqual(await texts(open), ["the river is high", "the boat is in"]);
  });

test("a restore that is killed behind its commit is over, and the same command says so, until somebody writes", async () => {
  const { home, open } = await openHomeWithStore({ applicationName: "weir-test" });
  const release = await hold(open, "schema_migrations in share update exclusive mode");
  const killed = home.start("restore", BACKUP);
  await waits(open, "comment on");
  const releaseLast = await hold(open, "entry_prints in access exclusive mode", true);
  await release();
  await waits(open, "entry_prints");
  await until("the commit", async () => (await texts(open)).length === 2);
  await killed.kill();
  await releaseLast();
  assert.equal(await keyIn(home.dataDir), KEY);
  const again = await home.run("restore", BACKUP);
  assert.equal(again.code, 0, again.stderr);
  assert.match(again.out.join("\n"), /^1 channel, 2 entries, .* restored before, by an earlier run, into /);
  assert.deepEqual(await texts(open), ["the river is high", "the boat is in"]);
  await open.say(id, "the wheel turns", { id: "later" });
  const used = await home.run("restore", BACKUP);
  assert.equal(used.code, 1);
  assert.match(used.stderr, /is in use already/);
});

test("an embedded Postgres whose restore is killed takes the same command", async () => {
  await using home = await openHome({ modelUrl: "http://127.0.0.1:9/v1" });
  const killed = home.start("restore", BACKUP);
  // The key comes before the rows.
  await until("the key", async () => Promise.resolve(existsSync(keyOf(home.dataDir))));
  await killed.kill();
  const again = await home.run("restore", BACKUP);
  assert.equal(again.code, 0, again.stderr);
  assert.equal((await home.log("test:mill")).length, 2);
});

test("an interrupted restore says that nothing was restored, and takes its key away", async () => {
  const { home, open } = await openHomeWithStore({ applicationName: "weir-test" });
  const release = await hold(open, "entries in share mode");
  const interrupted = home.start("restore", BACKUP);
  await waits(open, "alter table entries disable");
  interrupted.signal("SIGINT");
  await release();
  const { code } = await interrupted.finish();
  assert.deepEqual([code, interrupted.stderr.trim()], [1, "Interrupted: nothing was restored."]);
  assert.deepEqual([await texts(open), await keyIn(home.dataDir)], [[], null]);
});

test("what is wrong with the key is seen before a row is written, and what it says to do helps", async () => {
  const { home, open } = await openHomeWithStore({ applicationName: "weir-test" });
  const refused = async (words: RegExp): Promise<void> => {
    const { code, stderr } = await home.run("restore", BACKUP);
    assert.equal(code, 1);
    assert.match(stderr, words);
    assert.doesNotMatch(stderr, /^ +at /m);
    assert.deepEqual(await texts(open), []);
  };
  await mkdir(home.dataDir, { recursive: true });
  await writeFile(keyOf(home.dataDir), `${"cd".repeat(32)}\n`);
  await refused(
    /is another key than the backup's, and nothing was restored: move it away, and run this again\./,
  );
  await writeFile(keyOf(home.dataDir), "no key\n");
  await refused(/signing\.key is no key: it must hold 64 hexadecimal digits\./);
  await rm(keyOf(home.dataDir));
  await mkdir(keyOf(home.dataDir));
  await refused(/signing\.key, the key that rows are signed with, is a folder/);
  await rm(keyOf(home.dataDir), { recursive: true });
  await rm(home.dataDir, { recursive: true });
  // A file in its place: also root cannot write into that.
  await writeFile(home.dataDir, "");
  await refused(/^The data folder .* cannot be used \(/);
  await rm(home.dataDir);
  const { code, stderr } = await home.run("restore", BACKUP);
  assert.equal(code, 0, stderr);
  assert.equal(await keyIn(home.dataDir), KEY);
});
