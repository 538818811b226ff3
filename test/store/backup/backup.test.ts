// proves: src/store/backup/backup.ts, src/store/backup/backup-file.ts, src/store/backup/restore.ts, src/store/database/copy-client.ts
import assert from "node:assert/strict";
import path from "node:path";
import { test } from "node:test";
import { OperatorError } from "../../../src/core/errors.ts";
import { checkBackup, isEmpty, writeBackup } from "../../../src/store/backup/backup.ts";
import {
  type BackupHead,
  BackupReader,
  BackupSums,
  headLine,
} from "../../../src/store/backup/backup-file.ts";
import { restoreBackup } from "../../../src/store/backup/restore.ts";
import { Database } from "../../../src/store/database/database.ts";
import { readKnownVersion, readSchemaState } from "../../../src/store/database/migrate.ts";
import { createTestDatabase } from "../../support/database.ts";
import { makeNextVersion } from "../../support/next-version.ts";
import { openStore, SILENT } from "../open-store.ts";
import { rememberIn } from "../remember.ts";

const SCHEMA = await readKnownVersion();
/** What a text may hold that a file of rows could break on. */
const ODD = [
  "\\.",
  "\\.\n\\.\n",
  "a\tb\\tc\r\nd",
  "\n\\.",
  "\\N",
  "ends with a backslash \\",
  "「水車」 🚣 \u202Eabc",
];

/** A backup that is read in pieces of this many bytes. */
function reader(backup: Buffer, size = 7): BackupReader {
  async function* pieces(): AsyncGenerator<Buffer> {
    for (let at = 0; at < backup.length; at += size) yield backup.subarray(at, at + size);
  }
  return new BackupReader(pieces(), "the file");
}

/** No daemon's connections: beside one nothing is restored. */
const BESIDE = { applicationName: "weir-test" };
const NO_KEY = async (): Promise<null> => Promise.resolve(null);

async function backupOf(db: Database): Promise<Buffer> {
  const parts: Buffer[] = [];
  await writeBackup(db, NO_KEY, async (bytes) => {
    parts.push(Buffer.from(bytes));
  });
  return Buffer.concat(parts);
}

/** @param bytes what stands in the file when it is read for the second time */
async function restore(
  db: Database,
  backup: Buffer,
  bytes = backup,
  by = restoreBackup,
): ReturnType<typeof restoreBackup> {
  const found = await checkBackup(reader(backup));
  const keepKey = async (): Promise<() => Promise<void>> => async () => undefined;
  return by(db, reader(bytes), found, { log: SILENT, where: "The database", keepKey });
}

/** The same backup with another head, and a last line that agrees with it. */
function withHead(backup: Buffer, change: (head: BackupHead) => object = () => ({})): Buffer {
  const first = backup.indexOf("\n") + 1;
  const last = backup.lastIndexOf("\n", backup.length - 2) + 1;
  // oxlint-disable-next-line no-unsafe-type-assertion -- what writeBackup has written
  const before = JSON.parse(backup.subarray(0, first).toString()) as BackupHead;
  const head: BackupHead = { ...before, ...change(before) };
  const counts = Object.values(Object(JSON.parse(backup.subarray(last).toString())).rows);
  const rows = Object.fromEntries(head.tables.map(({ name }, at) => [name, counts[at]]));
  const sums = new BackupSums();
  const whole = Buffer.concat([Buffer.from(headLine(head)), backup.subarray(first, last)]);
  sums.add(whole);
  return Buffer.concat([whole, Buffer.from(`${JSON.stringify({ rows, sha256: sums.foot().sha256 })}\n`)]);
}

/** Each table's rows, as texts in an order of their own. */
async function contents(db: Database): Promise<Record<string, unknown>> {
  const tables = await db.query<{ name: string }>(
    "",
    `select relname as name from pg_class
      where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'schema_migrations' order by 1`,
  );
  const found: Record<string, unknown> = {};
  for (const { name } of tables) {
    const [row] = await db.query<{ rows: unknown }>(
      "",
      `select coalesce(jsonb_agg(t::text order by t::text), '[]') as rows from ${name} t`,
    );
    found[name] = row?.rows;
  }
  return found;
}

test("a backup that is restored is the same in every table, and goes on with numbers of its own", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const { id } = await open.channel("mill");
  for (const text of ODD) await open.say(id, text);
  await open.store.attached.keep("test", "m-1", [
    { name: "a.png", type: "image/png", bytes: Uint8Array.from({ length: 300 }, (_, index) => index % 256) },
  ]);
  await rememberIn(open, id, { statement: "Ann has a boat.", sources: [{ seq: 1, quote: "\\." }] });
  await open.sql(
    "insert into entry_prints (channel_id, seq, key_id, said) values ($1, 1, 'key', '\\x00010203040506ff')",
    id,
  );
  await open.store.search.indexAll([id], 100);
  const backup = await backupOf(open.db);
  for (const size of [1, 7, 64_000]) {
    const { head, rows } = await checkBackup(reader(backup, size));
    assert.equal(head.schema, SCHEMA);
    assert.equal(rows["entries"], ODD.length);
  }
  await using other = await createTestDatabase();
  await using there = openStore(other.connection, BESIDE);
  assert.equal(await isEmpty(there.db), true);
  assert.equal(await restore(there.db, backup), "restored");
  assert.deepEqual(await contents(there.db), await contents(open.db));
  assert.equal(await restore(there.db, backup), "there before");
  assert.equal(await isEmpty(there.db), false);
  const { history } = await there.store.load(id);
  assert.deepEqual(
    history.entries.map((entry) => entry.text),
    ODD,
  );
  assert.equal(await there.say(id, "goes on", { id: "later" }), ODD.length + 1);
  const next = await there.channel("another");
  assert.ok(next.id > id);
});

test("what is written meanwhile is in it whole or not at all", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const { id } = await open.channel("busy");
  for (let said = 0; said < 50; said++) await open.say(id, `before ${said}`);
  const over = new AbortController();
  const meanwhile = (async () => {
    while (!over.signal.aborted) await open.say(id, "meanwhile");
  })();
  const parts: Buffer[] = [];
  await writeBackup(open.db, NO_KEY, async (bytes) => {
    parts.push(Buffer.from(bytes));
    await new Promise(setImmediate);
  });
  over.abort();
  await meanwhile;
  await using other = await createTestDatabase();
  await using there = openStore(other.connection, BESIDE);
  await restore(there.db, Buffer.concat(parts));
  const [row] = await there.sql<{ last: number; count: number }>(
    "select last_seq as last, (select count(*) from entries) as count from channels",
  );
  assert.ok(row !== undefined && row.count >= 50);
  assert.equal(row.last, row.count);
});

test("a file that is cut, changed or something else is refused, and leaves nothing", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const { id } = await open.channel("mill");
  for (const text of ODD) await open.say(id, text);
  const backup = await backupOf(open.db);
  await using other = await createTestDatabase();
  await using there = openStore(other.connection, BESIDE);
  const changed = Buffer.from(backup);
  const at = changed.indexOf("ends with a backslash");
  changed.write("starts", at);
  const wrong = [
    Buffer.alloc(0),
    Buffer.from("{}\n"),
    Buffer.from("not a backup at all"),
    Buffer.from('{"weir":"backup","format":2}\n'),
    backup.subarray(0, backup.length - 1),
    backup.subarray(0, Math.floor(backup.length / 2)),
    Buffer.concat([backup, Buffer.from("more")]),
    changed,
  ];
  for (const [index, bytes] of wrong.entries()) {
    await assert.rejects(checkBackup(reader(bytes, 100)), OperatorError, `number ${index}`);
    await assert.rejects(restore(there.db, backup, bytes), OperatorError, `number ${index}`);
    assert.equal(await isEmpty(there.db), true, `number ${index}`);
  }
});

const channels = ({ tables }: BackupHead): number => tables.findIndex(({ name }) => name === "channels");
/** A change of the table `channels` alone. */
const edited =
  (change: (table: BackupHead["tables"][number]) => object) =>
  (head: BackupHead): object => ({
    tables: head.tables.map((table, at) => (at === channels(head) ? { ...table, ...change(table) } : table)),
  });

/** What is said of each, and the file. */
function strangeBackups(backup: Buffer): [RegExp, Buffer][] {
  return [
    [
      /^the file is damaged in its first line: tables\.\d+\.numbered\.id cannot be so\.$/,
      withHead(
        backup,
        edited(() => ({ numbered: { id: -5 } })),
      ),
    ],
    [
      /^the file is damaged in its first line: tables cannot be so\.$/,
      withHead(backup, ({ tables }) => ({ tables: [...tables, tables[0]] })),
    ],
    [
      /^the file is damaged in its first line: tables cannot be so\.$/,
      withHead(backup, () => ({ tables: [] })),
    ],
    [
      /^the file is damaged in its first line: signingKey cannot be so\.$/,
      withHead(backup, () => ({ signingKey: "abc" })),
    ],
  ];
}

/** The same of those that say nothing impossible. */
function otherBackups(backup: Buffer): [RegExp, Buffer][] {
  return [
    [
      /^The backup has a table \w+ where \w+ is expected: it is not of schema version \d+ as this Weir knows it\.$/,
      withHead(backup, ({ tables }) => ({ tables: tables.toReversed() })),
    ],
    [
      /^The backup has other columns in table channels: /,
      withHead(
        backup,
        edited(({ columns }) => ({ columns: columns.toReversed() })),
      ),
    ],
    [
      /^The backup has other columns in table channels: /,
      withHead(
        backup,
        edited(() => ({ numbered: {} })),
      ),
    ],
    [
      /^The backup has a table strange where channels is expected: /,
      withHead(
        backup,
        edited(() => ({ name: "strange" })),
      ),
    ],
    [
      /^The backup has rows in table channels that the database refuses \(/,
      withHead(Buffer.from(backup.toString().replace("\tmill\tchannel\t", "\tmill\tboat\t"))),
    ],
    [
      /^The backup has schema version 9999, this Weir knows \d+: /,
      withHead(backup, () => ({ schema: 9999 })),
    ],
    [
      /^The backup has schema version 5, and this Weir restores from 78 on: restore it with the version before, and back up again\.$/,
      withHead(backup, () => ({ schema: 5 })),
    ],
    [/^the file has format 2, and this Weir reads 1: /, withHead(backup, () => ({ format: 2 }))],
    [
      /^the file is no backup: its first line is not that of a backup\.$/,
      withHead(backup, () => ({ weir: "log" })),
    ],
  ];
}

test("a file that is whole, but not as Weir writes one, is refused in a sentence, and leaves nothing", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const { id } = await open.channel("mill");
  await open.say(id, "the river is high");
  const backup = await backupOf(open.db);
  await using other = await createTestDatabase();
  await using there = openStore(other.connection, BESIDE);
  const cases = [...strangeBackups(backup), ...otherBackups(backup)];
  for (const [words, bytes] of cases) {
    await assert.rejects(restore(there.db, bytes), (error: unknown) => {
      assert.ok(error instanceof OperatorError, String(error));
      assert.match(error.message, words);
      return true;
    });
    assert.equal(await isEmpty(there.db), true, String(words));
  }
});

test("numbers go on behind the rows, also if the backup says less", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  for (const name of ["a", "b", "c"]) await open.channel(name);
  const backup = await backupOf(open.db);
  const less = withHead(backup, ({ tables }) => ({
    tables: tables.map((table) => (table.name === "channels" ? { ...table, numbered: { id: 1 } } : table)),
  }));
  await using other = await createTestDatabase();
  await using there = openStore(other.connection, BESIDE);
  await restore(there.db, less);
  await there.channel("d");
  assert.equal((await there.sql("select from channels")).length, 4);
});

test("a restored database that was written to since is in use, and so is one that holds another backup", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const { id } = await open.channel("mill");
  await open.say(id, "one");
  const backup = await backupOf(open.db);
  await open.say(id, "two");
  const later = await backupOf(open.db);
  await using other = await createTestDatabase();
  await using there = openStore(other.connection, BESIDE);
  await restore(there.db, backup);
  const inUse =
    /^The database is in use already\. A backup is restored into an empty one: point database\.url/;
  await assert.rejects(restore(there.db, later), { message: inUse });
  await there.say(id, "three", { id: "later" });
  await assert.rejects(restore(there.db, backup), { message: inUse });
});

/** Restores as a newer version does, whose schema has a made-up migration more. */
async function restoreByNext(db: Database, backup: Buffer): Promise<string> {
  await using next = await makeNextVersion();
  const file = path.join(path.dirname(next.main), "store", "backup", "restore.ts");
  // oxlint-disable-next-line no-unsafe-type-assertion -- a copy of the same file
  const newer = (await import(file)) as { restoreBackup: typeof restoreBackup };
  return await restore(db, backup, backup, newer.restoreBackup);
}

async function versionOf(db: Database): Promise<number> {
  return (await readSchemaState(db)).current;
}

test("an empty database of a newer schema is called that, and not one in use", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const backup = await backupOf(open.db);
  await using other = await createTestDatabase();
  await using there = new Database(other.connection, SILENT, BESIDE);
  await there.script(`insert into schema_migrations (version, name) values (${SCHEMA + 1}, 'next.sql')`);
  await assert.rejects(restoreByNext(there, backup), {
    message: new RegExp(
      `^The database is empty, but has schema version ${SCHEMA + 1} already, and the backup has ${SCHEMA}: point `,
    ),
  });
});

test("a newer version restores a backup as of its schema, and then brings it up to its own, in one transaction", async () => {
  await using database = await createTestDatabase();
  await using open = openStore(database.connection);
  const { id } = await open.channel("old");
  await open.say(id, "the boat is in");
  const backup = await backupOf(open.db);
  await using other = await createTestDatabase();
  await using there = new Database(other.connection, SILENT, BESIDE);
  await there.script("drop schema public cascade; create schema public");
  // What fails leaves no schema either.
  await assert.rejects(restore(there, backup, backup.subarray(0, -1)), OperatorError);
  assert.equal(await versionOf(there), 0);
  assert.equal(await restoreByNext(there, backup), "restored");
  assert.equal(await versionOf(there), SCHEMA + 1);
  const rows = await there.query("", "select text, newer from entries");
  assert.deepEqual(rows, [{ text: "the boat is in", newer: null }]);
  assert.equal(await restoreByNext(there, backup), "there before");
});
