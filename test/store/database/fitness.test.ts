// proves: src/store/database/fitness.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type DatabaseFacts, whyTooOld, whyUnfit } from "../../../src/store/database/fitness.ts";

const extension = { schema: null, is_in_path: false, is_offered: true, may_create: true };
const there = { schema: "public", is_in_path: true, is_offered: true, may_create: true };
const names = ["btree_gin", "btree_gist", "pg_trgm"];
const all = (each: typeof extension | typeof there) => names.map((name) => ({ name, ...each }));
const RECORD = ["version integer", "name text", "applied_at timestamp with time zone"];

/** An empty database of its own. */
const EMPTY: DatabaseFacts = {
  database: "chat",
  user: "weir",
  encoding: "UTF8",
  is_standby: false,
  is_read_only: false,
  search_path: '"$user", public',
  schema: "public",
  may_create: true,
  record: null,
  record_owner: null,
  owns_record: null,
  relations: [],
  extensions: all(extension),
};
/** One that Weir has migrated. */
const MIGRATED: DatabaseFacts = {
  ...EMPTY,
  record: RECORD,
  record_owner: "weir",
  owns_record: true,
  relations: null,
  extensions: all(there),
};
const OWN = new Set(["channels", "entries", "turns", "jobs"]);

const why = (facts: DatabaseFacts, isWriter = true): string => whyUnfit(facts, isWriter, OWN) ?? "fit";

/** Some of the extensions are so, the others as in the first. */
function withExtension(
  facts: DatabaseFacts,
  name: string,
  its: Partial<typeof there | typeof extension>,
): DatabaseFacts {
  return {
    ...facts,
    extensions: facts.extensions.map((one) => (one.name === name ? { ...one, ...its } : one)),
  };
}

describe("a server is too old", () => {
  for (const [reported, isTooOld] of [
    ["9.6.24", true],
    ["13.22 (Debian 13.22-0+deb11u1)", true],
    ["14.0", false],
    ["15.4 (Debian 15.4-1)", false],
    ["18beta1", false],
    ["", false],
  ] as const) {
    test(`${JSON.stringify(reported)}: ${isTooOld}`, () =>
      assert.equal(whyTooOld(reported) !== null, isTooOld));
  }
});

describe("a database is fit", () => {
  for (const [what, facts] of Object.entries({
    "an empty one": EMPTY,
    "a migrated one": MIGRATED,
    "one with tables of other names": { ...EMPTY, relations: ["people", "people_pkey"] },
    "one in which a start failed before its first table": {
      ...EMPTY,
      record: RECORD,
      record_owner: "weir",
      owns_record: true,
      relations: ["schema_migrations", "schema_migrations_pkey"],
    },
    "a migrated one, in whose schema nothing new may be made": { ...MIGRATED, may_create: false },
    "one with extensions in a schema of the search path": withExtension(EMPTY, "pg_trgm", {
      schema: "extensions",
      is_in_path: true,
    }),
  })) {
    test(what, () => assert.equal(why(facts), "fit"));
  }
});

const cases: readonly [string, DatabaseFacts, RegExp][] = [
  [
    "encoding",
    { ...EMPTY, encoding: "LATIN1" },
    /"?chat"? has the encoding LATIN1, .*`create database NAME owner weir template template0 encoding 'UTF8'/,
  ],
  ["encoding none", { ...EMPTY, encoding: "SQL_ASCII" }, /the encoding SQL_ASCII/],
  ["standby", { ...MIGRATED, is_standby: true }, /is a standby.*primary/],
  ["read-only", { ...MIGRATED, is_read_only: true }, /default_transaction_read_only is on/],
  [
    "another program's record",
    { ...EMPTY, record: ["version character varying"] },
    /schema_migrations .*another program \(its columns: version character varying\).*of its own/,
  ],
  [
    "another program's record, filled",
    { ...MIGRATED, record: ["version bigint", "dirty boolean"] },
    /another program/,
  ],
  [
    "another program's tables",
    { ...EMPTY, relations: ["turns", "channels", "people"] },
    /\(channels, turns\).*of its own/,
  ],
  ["many of them", { ...EMPTY, relations: [...OWN] }, /\(channels, entries, jobs and 1 more\)/],
  [
    "no schema",
    { ...EMPTY, schema: null, may_create: null },
    /no schema of its search_path \("\$user", public\).*`create schema NAME authorization weir`/,
  ],
  ["a closed schema", { ...EMPTY, may_create: false }, /`grant create on schema public to weir`/],
  [
    "tables of another user",
    { ...MIGRATED, record_owner: "app-owner", owns_record: false },
    /belong to "app-owner".*`reassign owned by "app-owner" to weir`/,
  ],
  [
    "an extension off the search path",
    withExtension(MIGRATED, "pg_trgm", { schema: "ext", is_in_path: false }),
    /^The extension pg_trgm is in the schema ext, which is not .*set search_path = "\$user", public, ext`/,
  ],
  [
    "one that the server has not",
    withExtension(EMPTY, "btree_gin", { is_offered: false, may_create: false }),
    /^The extension btree_gin is not installed on .*postgresql-contrib/,
  ],
  [
    "some that the user may not make",
    { ...EMPTY, extensions: all({ ...extension, may_create: false }) },
    /^The extensions btree_gin, btree_gist, pg_trgm are not in .* weir may not make .*`create extension btree_gin; create extension btree_gist; create extension pg_trgm`/,
  ],
  [
    "one that somebody has dropped",
    withExtension(MIGRATED, "pg_trgm", { ...extension }),
    /^The extension pg_trgm is not in the database chat: .*`create extension pg_trgm`/,
  ],
];

describe("a database is not fit, and the reason says what to do", () => {
  for (const [what, facts, reason] of cases) {
    test(what, () => {
      assert.match(why(facts), reason);
      assert.match(why(facts), /^[^\n]+\.$/);
    });
  }

  test("whoever only reads needs no rights to write", () => {
    for (const facts of [
      { ...MIGRATED, is_standby: true },
      { ...MIGRATED, is_read_only: true },
      { ...MIGRATED, owns_record: false },
      { ...EMPTY, may_create: false },
      { ...EMPTY, extensions: all({ ...extension, may_create: false }) },
    ])
      assert.equal(why(facts, false), "fit");
    assert.match(why({ ...MIGRATED, encoding: "LATIN1" }, false), /LATIN1/);
  });
});
