// proves: src/store/backup/backup.ts, src/store/backup/backup-file.ts, src/store/database/copy-client.ts
import assert from "node:assert/strict";
import { test } from "node:test";
import { agentId } from "../../../src/core/ids.ts";
import { OperatorError } from "../../../src/core/errors.ts";
import { checkBackup, isEmpty, restoreBackup, writeBackup } from "../../../src/store/backup/backup.ts";
import { BackupReader } from "../../../src/store/backup/backup-file.ts";
import { Database } from "../../../src/store/database/database.ts";
import { migrate, readKnownVersion, readSchemaState } from "../../../src/store/database/migrate.ts";
import { createStore } from "../../../src/store/store.ts";
import { createTestDatabase } from "../../support/database.ts";
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

async function backupOf(db: Database, schema = SCHEMA): Promise<Buffer> {
  const parts: Buffer[] = [];
  await writeBackup(db, { schema, signingKey: null }, async (bytes) => {
    parts.push(Buffer.from(bytes));
  });
  return Buffer.concat(parts);
}

/** Each table's rows, as texts in an order of their own. */
async function contents(db: Database): Promise<Record<string, unknown>> {
  const tables = await db.query<{ name: string }>({
    name: "",
    text: `select relname as name from pg_class
            where relnamespace = 'public'::regnamespace and relkind = 'r' and relname <> 'schema_migrations' order by 1`,
  });
  const found: Record<string, unknown> = {};
  for (const { name } of tables) {
    const [row] = await db.query<{ rows: unknown }>({
      name: "",
      text: `select coalesce(jsonb_agg(t::text order by t::text), '[]') as rows from ${name} t`,
    });
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
  await using there = openStore(other.connection);
  assert.equal(await isEmpty(there.db), true);
  const read = reader(backup);
  await restoreBackup(there.db, read, await read.head());
  assert.deepEqual(await contents(there.db), await contents(open.db));
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
  await writeBackup(open.db, { schema: SCHEMA, signingKey: null }, async (bytes) => {
    parts.push(Buffer.from(bytes));
    await new Promise(setImmediate);
  });
  over.abort();
  await meanwhile;
  await using other = await createTestDatabase();
  await using there = openStore(other.connection);
  const read = reader(Buffer.concat(parts), 4096);
  await restoreBackup(there.db, read, await read.head());
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
  await using there = openStore(other.connection);
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
    await assert.rejects(
      async () => {
        const read = reader(bytes, 100);
        await restoreBackup(there.db, read, await read.head());
      },
      OperatorError,
      `number ${index}`,
    );
    assert.equal(await isEmpty(there.db), true, `number ${index}`);
  }
});

test("a backup of an older schema is restored as that, and then brought up to this one", async () => {
  await using database = await createTestDatabase();
  await using older = new Database(database.connection, SILENT);
  await older.script("drop schema public cascade; create schema public");
  await migrate(older, SILENT, SCHEMA - 1);
  assert.deepEqual(await readSchemaState(older), { current: SCHEMA - 1, known: SCHEMA });
  const address = { platform: "test", name: "old" };
  await createStore(older).channels.open({ address, kind: "channel", workspace: "", agent: agentId("main") });
  const backup = await backupOf(older, SCHEMA - 1);
  await using other = await createTestDatabase();
  await using there = new Database(other.connection, SILENT);
  await there.script("drop schema public cascade; create schema public");
  await migrate(there, SILENT, SCHEMA - 1);
  const read = reader(backup);
  await restoreBackup(there, read, await read.head());
  await migrate(there, SILENT);
  assert.equal((await createStore(there).channels.find(address))?.address.name, "old");
});
