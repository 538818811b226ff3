import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";
import { OperatorError } from "../../../src/core/errors.ts";
import {
  BASELINE_VERSION,
  migrate,
  readKnownVersion,
  readSchemaState,
} from "../../../src/store/database/migrate.ts";
import { Database } from "../../../src/store/database/database.ts";
import { createTestDatabase } from "../../support/database.ts";
import { SILENT } from "../open-store.ts";

const FORWARD = (await readdir("migrations")).filter((file) => file.endsWith(".sql")).toSorted();
const EMPTY = "drop schema public cascade; create schema public";

async function versionOf(database: Database): Promise<number> {
  return (await readSchemaState(database)).current;
}

test("an empty database is migrated once; a second time there is nothing to do", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  await database.script(EMPTY);
  assert.deepEqual(await migrate(database, SILENT), ["baseline", ...FORWARD]);
  assert.deepEqual(await migrate(database, SILENT), []);
  assert.equal(await versionOf(database), await readKnownVersion());
});

test("each file of the baseline makes objects that no other one makes, and so does each statement", async () => {
  const made = new Set<string>();
  for (const file of (await readdir("migrations/baseline")).toSorted()) {
    const sql = await readFile(`migrations/baseline/${file}`, "utf8");
    assert.doesNotMatch(sql, /^(?:create or replace|drop) /m, file);
    for (const [statement] of sql.matchAll(
      /^create (?:table|function|(?:constraint )?trigger|(?:unique )?index) .*/gm,
    )) {
      assert.ok(!made.has(statement), `${file}: ${statement}`);
      made.add(statement);
    }
  }
  assert.ok(made.size > 200);
});

test("a database from before the baseline is refused, with a way out, and left as it is", async () => {
  await using target = await createTestDatabase();
  await using database = new Database(target.connection, SILENT);
  const version = BASELINE_VERSION - 1;
  await database.script(`delete from schema_migrations where version > ${BASELINE_VERSION};
    update schema_migrations set version = ${version}`);
  await assert.rejects(migrate(database, SILENT), (error: unknown) => {
    assert.ok(error instanceof OperatorError);
    assert.match(
      error.message,
      new RegExp(`version ${version}.* begins at ${BASELINE_VERSION}: start the version before`, "u"),
    );
    return true;
  });
  assert.equal(await versionOf(database), version);
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

/** The first migration that the rules of rolling upgrades bind; null: nothing is released yet. */
const FIRST_BOUND: number | null = null;

/** What the version before cannot live with. Functions are for the upgrade test: they may be replaced. */
const BREAKING =
  /\bdrop\s+(?:table|column|view|type)\b|\brename\s+(?:to|column)\b|\balter\s+column\s+\w+\s+(?:type|set\s+not\s+null|drop\s+default)\b|\badd\s+column\b(?:(?!\bdefault\b)[^,;])*\bnot\s+null\b(?![^,;]*\bdefault\b)|\btruncate\b/i;

test("migrations are additive from the first release on: a daemon of the version before goes on beside them", async () => {
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
    if (FIRST_BOUND === null || Number.parseInt(file, 10) < FIRST_BOUND) continue;
    const sql = await readFile(`migrations/${file}`, "utf8");
    assert.ok(!breaks(sql), `${file}: see "How to write a migration" in CONTRIBUTING.md`);
  }
});
