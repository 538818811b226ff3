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

test("namesakes of an earlier log have their numbers in the order in which they spoke", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await migrateUpTo(database, "names");
  await database.script(`
    insert into channels (platform, name, kind, agent) values ('test', 'old', 'channel', 'main');
    select append_message(c.id, m.id, m.author, m.name, false, 'hello', 1, now(), false, null)
      from channels c, (values (1, 'm1', 'u1', 'Ann'), (2, 'm2', 'u2', 'Ben'), (3, 'm3', 'u3', 'ann'), (4, 'm4', 'u1', 'Ann'))
                       m (place, id, author, name) order by m.place`);
  await migrate(database, SILENT);
  const numbers = await database.query({
    name: "",
    text: "select author_id, speaker_number(channel_id, name, author_id) as number from speakers order by author_id",
  });
  assert.deepEqual(numbers, [
    { author_id: "u1", number: 1 },
    { author_id: "u2", number: 1 },
    { author_id: "u3", number: 2 },
  ]);
  const next = "select speaker_number(id, 'ann', 'u4') as number from channels";
  assert.deepEqual(await database.query({ name: "", text: next }), [{ number: 3 }]);
});
