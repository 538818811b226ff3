import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { OperatorError } from "../../src/core/errors.ts";
import { migrate } from "../../src/store/migrate.ts";
import { Database } from "../../src/store/pool.ts";
import { createTestDatabase } from "../support/database.ts";
import { createStore } from "../../src/store/store.ts";
import { SILENT } from "./open-store.ts";

const FILES = (await readdir("migrations")).toSorted();
const EMPTY = "drop schema public cascade; create schema public";

/** The schema as it was before the migration of this name. */
async function migrateUpTo(database: Database, next: string): Promise<void> {
  const before = FILES.slice(
    0,
    FILES.findIndex((file) => file.endsWith(`_${next}.sql`)),
  );
  await database.script(EMPTY);
  for (const file of before) await database.script(await readFile(`migrations/${file}`, "utf8"));
  const table =
    "create table schema_migrations (version integer primary key, name text, applied_at timestamptz default now());";
  const rows = before.map((file, index) => `(${index + 1}, '${file}')`).join(",");
  await database.script(`${table} insert into schema_migrations (version, name) values ${rows}`);
}

test("an empty database is migrated once; a second time there is nothing to do", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await database.script(EMPTY);
  assert.deepEqual(await migrate(database, SILENT), FILES);
  assert.deepEqual(await migrate(database, SILENT), []);
});

test("of several that start together one migrates, and the others wait for it", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await database.script(EMPTY);
  const applied = await Promise.all(Array.from({ length: 4 }, async () => migrate(database, SILENT)));
  assert.deepEqual(
    applied.map(({ length }) => length).toSorted((a, b) => a - b),
    [0, 0, 0, FILES.length],
  );
});

test("a database that a newer Weir has used is refused, with both versions and a way out, and left as it is", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  const newer = FILES.length + 1;
  await database.script(`insert into schema_migrations (version, name) values (${newer}, 'future.sql')`);
  await assert.rejects(migrate(database, SILENT), (error: unknown) => {
    assert.ok(error instanceof OperatorError);
    assert.match(
      error.message,
      new RegExp(`version ${newer}.* knows ${FILES.length}.*newer Weir.*database\\.url`, "u"),
    );
    return true;
  });
  // The lock was given back: another attempt is refused at once too, and does not wait.
  await assert.rejects(migrate(database, SILENT), OperatorError);
});

test("what was indexed before identifiers had parts is made anew, and is found by its words till then", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await migrateUpTo(database, "identifiers");
  await database.script(`
    insert into channels (platform, name, kind, agent) values ('test', 'old', 'channel', 'main');
    insert into entries (channel_id, seq, kind, at, text, tokens, author_id, author_name, author_bot, message_id)
    values (1, 1, 'user', now(), 'the kettle is in src/tea_pot.ts', 9, 'u', 'Ann', false, 'm1');
    select index_channel(1, 10)`);
  await migrate(database, SILENT);
  const { search } = createStore(database);
  const [id] = await search.outdated();
  assert.ok(id !== undefined);
  const find = async (words: string, literals: string[]): Promise<number> => {
    const range = { from: 1, to: 10, limit: 5, neighbours: 0 };
    return (await search.find(id, { pick: words, terms: words, literals, unspaced: "", ...range })).length;
  };
  assert.deepEqual([await find("'kettl'", []), await find("", ["tea_pot"])], [1, 0]);
  assert.equal(await search.renew(id, 10), false);
  assert.deepEqual([await find("'kettl'", []), await find("", ["tea_pot"])], [1, 1]);
  assert.deepEqual(await search.outdated(), []);
});

test("of why earlier turns failed or skipped only the kind and the model are kept, and of an answer no summary", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await migrateUpTo(database, "said_no_more");
  await database.script(`
    insert into channels (platform, name, kind, agent) values ('test', 'old', 'channel', 'main');
    insert into turns (channel_id, epoch, from_seq, to_seq, state, settled_at, reason)
    select c.id, 0, seq, seq, state, now(), reason from channels c, (values
      (1, 'failed', 'rejected (gpt-4): invalid input (the code is 1)'), (2, 'failed', 'begun 3 times without an end'),
      (3, 'skipped', 'they talk of a code'), (4, 'stopped', 'reset'), (5, 'answered', null)) old (seq, state, reason);
    update channels set epoch = 1;
    insert into requests (channel_id, kind, taken_at, ended_at, answer)
    select id, 'compact', now(), now(), '{"kind": "committed", "text": "they talk of a code"}' from channels`);
  await migrate(database, SILENT);
  const rows = await database.query<{ reason: string | null }>({
    name: "",
    text: "select reason from turns order by id",
  });
  assert.deepEqual(
    rows.map(({ reason }) => reason),
    ["rejected (gpt-4)", "begun 3 times without an end", null, "reset", null],
  );
  const answers = await database.query({ name: "", text: "select answer from requests" });
  assert.deepEqual(answers, [{ answer: { kind: "committed" } }]);
});

test("what an older version has kept of edited texts goes, and its memories know what was read when they were made", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await migrateUpTo(database, "told_by_nothing");
  const query = async (text: string): Promise<Record<string, unknown>[]> =>
    database.query({ name: "", text });
  const said = (id: string, text: string): string =>
    `select append_message(1, '${id}', 'u-ann', 'Ann', false, '${text}', 1, now(), false, null);`;
  const memory = (statement: string, quote: string, seq: number): object => {
    const sources = [{ seq, quote }];
    return {
      type: "fact",
      subject: "it",
      assertedBy: "Ann",
      statement,
      importance: 0.5,
      at: "2026-11-21",
      sources,
    };
  };
  const memories = [
    memory("It is zxqpine.", "please remember", 2),
    memory("It is zxqold.", "it is zxqold", 3),
  ];
  const summary = { kind: "model", text: "They talked.", tokens: 1, model: "m" };
  await database.script(`
    insert into channels (platform, name, kind, agent) values ('test', 'a', 'channel', 'main');
    ${said("m1", "it is zxqpine")} ${said("m2", "please remember")} ${said("m3", "it is zxqold")} ${said("m4", "zxqraw")}
    insert into jobs (channel_id, kind, tier, from_seq, to_seq, leased_until) values (1, 'leaf', 'background', 1, 3, now());
    update jobs set state = 'staged', result = '${JSON.stringify({ parts: [], memories, summary })}';
    select commit_job(1, 1);
    select edit_message(1, 'm3', 'it is new', 1, now());
    select edit_message(1, 'm4', 'said otherwise', 1, now());
    analyze`);
  await migrate(database, SILENT);
  assert.deepEqual(await query("select statement, read_from, read_to, telling from memories"), [
    { statement: "It is zxqpine.", read_from: 1, read_to: 3, telling: null },
  ]);
  assert.deepEqual(await query("select text from entries order by seq"), [
    { text: "it is zxqpine" },
    { text: "please remember" },
    { text: "it is new" },
    { text: "said otherwise" },
  ]);
  const statistics = await query(
    "select to_jsonb(s)::text as told from pg_stats s where schemaname = 'public'",
  );
  assert.ok(statistics.length > 0);
  for (const { told } of statistics) assert.doesNotMatch(String(told), /zxq/);
});
