/** What the commands beside a daemon may do to the database: look, and nothing else. */
import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { after, before, beforeEach, describe, test } from "node:test";
import type { DatabaseConfig } from "../../../src/config/config.ts";
import { OperatorError } from "../../../src/core/errors.ts";
import { NotMigratedError, readKnownVersion } from "../../../src/store/database/migrate.ts";
import { assertExists, migrateDatabase, openDatabase } from "../../../src/store/database/open.ts";
import { Database } from "../../../src/store/database/database.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { connectionUrl } from "../../support/weir.ts";
import { SILENT } from "../open-store.ts";

const known = await readKnownVersion();
let target: TestDatabase;
let outside: Database;
let config: DatabaseConfig;
before(async () => {
  target = await createTestDatabase();
  outside = new Database(target.connection, SILENT, { applicationName: "test" });
  config = { url: connectionUrl(target.connection), dataDir: "/nowhere" };
});
after(async () => {
  await outside[Symbol.asyncDispose]();
  await target[Symbol.asyncDispose]();
});

/** Makes the database one of an older or a newer version, as far as its own record goes. */
async function setVersion(wanted: number): Promise<void> {
  await outside.script(`delete from schema_migrations where version > ${wanted};
    insert into schema_migrations (version, name)
    select n, 'other.sql' from generate_series(1, ${wanted}) n on conflict do nothing`);
}

async function version(): Promise<number> {
  const [row] = await outside.query<{ v: number }>("", "select max(version) as v from schema_migrations");
  return row?.v ?? 0;
}

describe("whoever only looks", () => {
  beforeEach(async () => setVersion(known));

  for (const role of ["reader", "asker"] as const) {
    test(`leaves an older database as it is, and says what to do: ${role}`, async () => {
      await setVersion(12);
      await assert.rejects(openDatabase(config, SILENT, role), (error) => {
        assert.ok(error instanceof NotMigratedError);
        assert.equal(
          error.message,
          `The database is at 12, this Weir knows ${known}: run \`weir migrate\`, or start it.`,
        );
        return true;
      });
      assert.equal(await version(), 12);
    });

    test(`refuses a newer database, as a start does: ${role}`, async () => {
      await setVersion(known + 1);
      await assert.rejects(openDatabase(config, SILENT, role), /used by a newer Weir/);
    });

    test(`makes no tables in a database that has none: ${role}`, async () => {
      await using empty = await createTestDatabase();
      await using database = new Database(empty.connection, SILENT);
      await database.script("drop schema public cascade; create schema public");
      const itsConfig = { ...config, url: connectionUrl(empty.connection) };
      await assert.rejects(
        openDatabase(itsConfig, SILENT, role),
        /holds nothing of Weir's yet: run `weir migrate`/,
      );
      const tables = await database.query("", "select from pg_tables where schemaname = 'public'");
      assert.deepEqual(tables, []);
    });
  }

  test("is refused every write by the server itself", async () => {
    await using opened = await openDatabase(config, SILENT, "reader");
    await assert.rejects(opened.database.query("", "delete from channels"), /read-only transaction/);
  });
});

describe("where there is no database, whoever only looks", () => {
  test("makes no folder and no file", async () => {
    const folder = await mkdtemp(path.join(tmpdir(), "weir-roles-"));
    try {
      const [none, empty] = [path.join(folder, "none"), path.join(folder, "empty")];
      await mkdir(empty);
      for (const dataDir of [none, empty]) {
        const itsConfig = { url: null, dataDir };
        const message = `There is no database in ${dataDir} yet: the first \`weir start\` makes it.`;
        for (const role of ["reader", "asker"] as const) {
          await assert.rejects(openDatabase(itsConfig, SILENT, role), { name: "NotMigratedError", message });
        }
        await assert.rejects(assertExists(itsConfig), NotMigratedError);
      }
      assert.deepEqual(await readdir(folder, { recursive: true }), ["empty"]);
    } finally {
      await rm(folder, { recursive: true });
    }
  });
});

describe("weir migrate", () => {
  beforeEach(async () => setVersion(known));
  /** Everything is still to be migrated. */
  const outdate = async (): Promise<void> =>
    outside.script("drop schema public cascade; create schema public");
  const isEmpty = async (): Promise<boolean> => {
    const rows = await outside.query("", "select from pg_tables where schemaname = 'public'");
    return rows.length === 0;
  };

  test("has nothing to do beside a daemon of the same version", async () => {
    await using _daemon = await openDatabase(config, SILENT, "owner");
    assert.equal(await migrateDatabase(config, SILENT, false), "the Postgres of database.url");
  });

  test("is refused beside one that runs, with what to do, and is done all the same where it is forced to", async () => {
    await using _daemon = await openDatabase(config, SILENT, "owner");
    await outdate();
    await assert.rejects(migrateDatabase(config, SILENT, false), (error) => {
      assert.ok(error instanceof OperatorError);
      assert.match(
        error.message,
        /^Another Weir \(connected from .+\) runs on this database\. Stop it .*--force/,
      );
      return true;
    });
    assert.ok(await isEmpty());
    await migrateDatabase(config, SILENT, true);
    assert.equal(await version(), known);
  });

  test("does not take who only looks for a daemon", async () => {
    await using _reader = await openDatabase(config, SILENT, "reader");
    await using _asker = await openDatabase(config, SILENT, "asker");
    await outdate();
    await migrateDatabase(config, SILENT, false);
    assert.equal(await version(), known);
  });
});
