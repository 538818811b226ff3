import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { test } from "node:test";
import { OperatorError } from "../../src/core/errors.ts";
import { migrate } from "../../src/store/migrate.ts";
import { Database } from "../../src/store/pool.ts";
import { createTestDatabase } from "../support/database.ts";
import { SILENT } from "./open-store.ts";

const FILES = (await readdir("migrations")).toSorted();
const EMPTY = "drop schema public cascade; create schema public";

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
