import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { OperatorError } from "../../../src/core/errors.ts";
import { channelId } from "../../../src/core/ids.ts";
import { migrate, readKnownVersion } from "../../../src/store/database/migrate.ts";
import { Database } from "../../../src/store/database/database.ts";
import { describeSchema } from "../../support/catalogue.ts";
import { createTestDatabase } from "../../support/database.ts";
import { createStore } from "../../../src/store/store.ts";
import { SILENT } from "../open-store.ts";

/** The version at which the schema was made anew, by subject. */
const BASELINE_VERSION = 26;
const RELEASED = "migrations/before-baseline";
const OLD_FILES = await sqlFiles(RELEASED);
const FORWARD = await sqlFiles("migrations");
const EMPTY = "drop schema public cascade; create schema public";

async function sqlFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((file) => file.endsWith(".sql")).toSorted();
}

/**
 * Migrates as every version before the baseline did: it knows files by their number, runs those above the highest number that the
 * database has, and refuses a database with a higher number than its own.
 * @param known how many migrations that version has
 * @returns the names of what it has applied
 */
async function migrateAsBefore(database: Database, known = OLD_FILES.length): Promise<string[]> {
  await database.script(`create table if not exists schema_migrations (
    version integer primary key, name text not null, applied_at timestamptz not null default now())`);
  const current = await versionOf(database);
  if (current > known) throw new Error(`at schema version ${current}, this Weir knows ${known}`);
  const missing = OLD_FILES.slice(current, known);
  for (const file of missing) {
    const row = `insert into schema_migrations (version, name) values (${Number.parseInt(file, 10)}, '${file}')`;
    await database.script(`begin; ${await readFile(`${RELEASED}/${file}`, "utf8")}; ${row}; commit`);
  }
  return missing;
}

async function versionOf(database: Database): Promise<number> {
  const [row] = await database.query<{ version: number }>({
    name: "",
    text: "select coalesce(max(version), 0) as version from schema_migrations",
  });
  return row?.version ?? 0;
}

/** The schema as it was before the released migration of this name. */
async function migrateUpTo(database: Database, next: string): Promise<void> {
  await database.script(EMPTY);
  await migrateAsBefore(
    database,
    OLD_FILES.findIndex((file) => file.endsWith(`_${next}.sql`)),
  );
}

test("an empty database is migrated once; a second time there is nothing to do", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await database.script(EMPTY);
  assert.deepEqual(await migrate(database, SILENT), ["baseline", ...FORWARD]);
  assert.deepEqual(await migrate(database, SILENT), []);
  assert.equal(await versionOf(database), await readKnownVersion());
});

test("the baseline makes the schema that the migrations before it made", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await database.script(EMPTY);
  await migrateAsBefore(database);
  await database.script("drop table schema_migrations");
  const old = await describeSchema(database);
  assert.ok(old.length > 600, `${old.length} definitions`);
  await database.script(EMPTY);
  for (const file of await sqlFiles("migrations/baseline"))
    await database.script(await readFile(`migrations/baseline/${file}`, "utf8"));
  assert.deepEqual(await describeSchema(database), old);
});

test("a description of the schema tells every kind of change", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  const before = await describeSchema(database);
  const changes = [
    "alter table turns alter column reason set statistics 5",
    "alter table turns alter column deaths set default 1",
    "alter table turns alter column reason set not null",
    "alter table turns drop column deaths, add column deaths integer not null default 0 check (deaths >= 0)",
    "alter table images alter column bytes set storage main",
    "alter table turns set (fillfactor = 50)",
    "alter table turns rename constraint turns_check to turns_other",
    "alter index memories_in_scope alter column 4 set statistics 7",
    "alter index memories_words set (fastupdate = on)",
    "alter table turns disable trigger turns_refuse_old_epoch",
    "create or replace function lock_owned(p_channel bigint, p_epoch bigint) returns void language plpgsql as 'begin end'",
    "alter function lock_owned cost 7",
    "alter sequence turns_id_seq increment 2",
    "comment on column turns.deaths is 'other'",
    "create statistics other on epoch, state from turns",
    "drop index turns_of_channel",
  ];
  for (const change of changes) {
    await database
      .transaction(async (client) => {
        await client.query({ name: "", text: change });
        assert.notDeepEqual(await describeSchema(client), before, change);
        throw new Error("roll back");
      })
      .catch((error: unknown) => {
        if (!(error instanceof Error) || error.message !== "roll back") throw error;
      });
  }
  assert.deepEqual(await describeSchema(database), before);
});

test("a database of a version before the baseline runs the rest of its migrations, and comes to the schema of a new one", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  const wanted = await describeSchema(database);
  for (const version of [1, 13, BASELINE_VERSION - 1, BASELINE_VERSION]) {
    await database.script(EMPTY);
    assert.equal((await migrateAsBefore(database, version)).length, version);
    assert.deepEqual(await migrate(database, SILENT), [...OLD_FILES.slice(version), ...FORWARD]);
    assert.deepEqual(await describeSchema(database), wanted, `from version ${version}`);
  }
});

test("a version from before the baseline never runs its migrations over it: it refuses the database, or has nothing to do", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  const schema = await describeSchema(database);
  assert.ok(FORWARD.length > 0);
  for (const known of [1, 12, BASELINE_VERSION])
    await assert.rejects(migrateAsBefore(database, known), new RegExp(`this Weir knows ${known}$`));
  // A start that ended right behind the baseline: the schema is what version 26 knows.
  await database.script(`delete from schema_migrations where version > ${BASELINE_VERSION}`);
  assert.deepEqual(await migrateAsBefore(database), []);
  await assert.rejects(migrateAsBefore(database, BASELINE_VERSION - 1));
  assert.deepEqual(await describeSchema(database), schema);
});

test("of several that start together one migrates, and the others wait for it", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await database.script(EMPTY);
  const applied = await Promise.all(Array.from({ length: 4 }, async () => migrate(database, SILENT)));
  assert.deepEqual(
    applied.map(({ length }) => length).toSorted((a, b) => a - b),
    [0, 0, 0, 1 + FORWARD.length],
  );
});

test("a database that a newer Weir has used is refused, with both versions and a way out, and left as it is", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  const known = await readKnownVersion();
  const newer = known + 1;
  await database.script(`insert into schema_migrations (version, name) values (${newer}, 'future.sql')`);
  await assert.rejects(migrate(database, SILENT), (error: unknown) => {
    assert.ok(error instanceof OperatorError);
    assert.match(
      error.message,
      new RegExp(`version ${newer}.* knows ${known}.*newer Weir.*database\\.url`, "u"),
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
    const terms = words === "" ? [] : ["kettl"];
    const found = await search.find(id, { pick: words, terms, literals, from: 1, to: 10, limit: 5 });
    return found.lines.count + found.literals.length;
  };
  assert.deepEqual([await find("'kettl'", []), await find("", ["tea_pot"])], [1, 0]);
  assert.equal(await search.renew(id, 10), false);
  assert.deepEqual([await find("'kettl'", []), await find("", ["tea_pot"])], [1, 1]);
  assert.deepEqual(await search.outdated(), []);
});

test("what was indexed before pairs is made anew, and a script without spaces is then found", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await migrateUpTo(database, "pairs");
  await database.script(`
    insert into channels (platform, name, kind, agent)
    values ('test', 'plain', 'channel', 'main'), ('test', 'unspaced', 'channel', 'main');
    insert into entries (channel_id, seq, kind, at, text, tokens, author_id, author_name, author_bot, message_id)
    values (1, 1, 'user', now(), 'the kettle is on the shelf', 9, 'u', 'Ann', false, 'm1');
    insert into entries (channel_id, seq, kind, at, text, tokens, author_id, author_name, author_bot, message_id)
    values (2, 1, 'user', now(), '寿司を食べた', 9, 'u', 'Ann', false, 'm2');
    select index_channel(1, 10), index_channel(2, 10)`);
  await migrate(database, SILENT);
  const { search } = createStore(database);
  const outdated = await search.outdated();
  assert.deepEqual(outdated, [1, 2]);
  const [, id] = outdated;
  assert.ok(id !== undefined);
  const find = async (): Promise<number> => {
    const words = { pick: "'~寿司'", terms: ["~寿司"], literals: [], from: 1, to: 10, limit: 5 };
    return (await search.find(id, words)).lines.count;
  };
  assert.equal(await find(), 0);
  assert.equal(await search.renew(id, 10), false);
  assert.equal(await find(), 1);
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

/** What the version before cannot live with. Functions are for the upgrade test: they may be made anew. */
const BREAKING =
  /\bdrop\s+(?:table|column|view|type)\b|\brename\s+(?:to|column)\b|\balter\s+column\s+\w+\s+(?:type|set\s+not\s+null|drop\s+default)\b|\badd\s+column\b(?:(?!\bdefault\b)[^,;])*\bnot\s+null\b(?![^,;]*\bdefault\b)|\btruncate\b/i;

test("migrations are additive: a daemon of the version before goes on beside them", async () => {
  const breaks = (sql: string): boolean => BREAKING.test(sql.replaceAll(/--.*$/gm, ""));
  const breaking = [
    "alter table a drop column b",
    "alter table a rename column b to c",
    "alter table a add column b int not null",
    "alter table a alter column b type text",
    "drop table a",
  ];
  for (const sql of breaking) assert.ok(breaks(sql), sql);
  const additive = [
    "alter table a add column b int not null default 0, add column c text",
    "alter table a alter column b set statistics 0",
    "-- drop table a\ncreate table c (b int not null)",
  ];
  for (const sql of additive) assert.ok(!breaks(sql), sql);
  for (const file of FORWARD) {
    const sql = await readFile(`migrations/${file}`, "utf8");
    assert.ok(!breaks(sql), `${file}: see "How to write a migration" in CONTRIBUTING.md`);
  }
});

test("live summaries of an older version tell what they are of, and so does one that is merged of them", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await migrateUpTo(database, "summary_spans");
  await database.script(`
    insert into channels (platform, name, kind, agent) values ('test', 'old', 'channel', 'main');
    insert into entries (channel_id, seq, kind, at, text, tokens, author_id, author_name, author_bot, message_id)
    select 1, seq, 'user', '2026-05-01T10:00Z'::timestamptz + seq * interval '1 min', 'hello', 2, 'u', 'Ann', false, 'm' || seq
      from generate_series(1, 6) seq;
    insert into summaries (channel_id, from_seq, to_seq, kind, text, tokens) values
      (1, 1, 2, 'model', 'They met.', 3), (1, 3, 4, 'model', 'They talked.', 3);
    update channels set covered_to = 4 where id = 1`);
  await migrate(database, SILENT);
  const store = createStore(database);
  const { summaries } = await store.coverage(channelId(1));
  const at = (minute: number): Date => new Date(Date.UTC(2026, 4, 1, 10, minute));
  assert.deepEqual(
    summaries.map(({ span }) => span),
    [
      { messages: 2, firstAt: at(1), lastAt: at(2) },
      { messages: 2, firstAt: at(3), lastAt: at(4) },
    ],
  );
  // As an older daemon beside this one inserts it.
  await database.script(`
    update summaries set live = false where channel_id = 1;
    insert into summaries (channel_id, from_seq, to_seq, level, kind, text, tokens) values (1, 1, 5, 2, 'model', 'All of it.', 3);
    update channels set covered_to = 5 where id = 1`);
  const [merged] = (await store.coverage(channelId(1))).summaries;
  assert.deepEqual(merged?.span, { messages: 5, firstAt: at(1), lastAt: at(5) });
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

test("messages that wait when partitions come are found by the look at what is due, and none that were settled", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await database.script(EMPTY);
  await migrate(database, SILENT, 55);
  await database.script(`
    insert into channels (platform, name, kind, agent) values ('test', 'waits', 'channel', 'main'), ('test', 'settled', 'channel', 'main');
    insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id)
    select 1, seq, 'user', now(), 'hello', 2, seq < 3, 'u', 'Ann', false, 'm' || seq from generate_series(1, 3) seq;
    insert into entries (channel_id, seq, kind, at, text, tokens, addressed, author_id, author_name, author_bot, message_id)
    values (2, 1, 'user', now(), 'hello', 2, true, 'u', 'Ann', false, 'm4');
    update channels set settled_to = 1 where id = 2`);
  await migrate(database, SILENT);
  const all = Array.from({ length: 64 }, (_, id) => id);
  const due = await createStore(database).partitions.due(all, ["test"], 0);
  assert.deepEqual(
    due.map(({ address, seq }) => [address.name, seq]),
    [["waits", 2]],
  );
});
