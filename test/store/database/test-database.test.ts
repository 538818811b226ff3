import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { pino } from "pino";
import { Database } from "../../../src/store/database/database.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";

const log = pino({ level: "silent" });

describe("a test database", () => {
  let one: TestDatabase;
  let other: TestDatabase;
  before(async () => {
    [one, other] = await Promise.all([createTestDatabase(), createTestDatabase()]);
  });
  after(async () => {
    await one[Symbol.asyncDispose]();
    await other[Symbol.asyncDispose]();
  });

  it("is migrated", async () => {
    await using database = new Database(one.connection, log);
    const rows = await database.query<{ version: number }>(
      "",
      "select version from schema_migrations order by version",
    );
    assert.ok(rows.length > 0);
  });

  it("shares nothing with another", async () => {
    await using first = new Database(one.connection, log);
    await using second = new Database(other.connection, log);
    await first.script("create table only_here (id integer)");
    const [found] = await second.query<{ name: string | null }>(
      "",
      "select to_regclass('only_here')::text as name",
    );
    assert.equal(found?.name, null);
  });

  it("knows the letters of every script, so that trigrams work for them", async () => {
    await using database = new Database(one.connection, log);
    const [row] = await database.query<{ found: number }>(
      "",
      "select cardinality(show_trgm('日本語テスト')) as found",
    );
    assert.ok((row?.found ?? 0) > 0);
  });
});
