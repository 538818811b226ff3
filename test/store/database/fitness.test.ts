// proves: src/store/database/fitness.ts
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type DatabaseFacts, whyTooOld, whyUnfit } from "../../../src/store/database/fitness.ts";

const extension = { schema: null, isInPath: false, isOffered: true, mayCreate: true };
const there = { schema: "public", isInPath: true, isOffered: true, mayCreate: true };
const names = ["btree_gin", "btree_gist", "pg_trgm"];
const all = (each: typeof extension | typeof there) => names.map((name) => ({ name, ...each }));
const RECORD = ["version integer", "name text", "applied_at timestamp with time zone"];

/** An empty database of its own. */
const EMPTY: DatabaseFacts = {
  database: "chat",
  user: "weir",
  encoding: "UTF8",
  isStandby: false,
  isReadOnly: false,
  searchPath: '"$user", public',
  schema: "public",
  mayCreate: true,
  record: null,
  recordOwner: null,
  ownsRecord: null,
  relations: [],
  extensions: all(extension),
};
/** One that Weir has migrated. */
const MIGRATED: DatabaseFacts = {
  ...EMPTY,
  record: RECORD,
  recordOwner: "weir",
  ownsRecord: true,
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
      recordOwner: "weir",
      ownsRecord: true,
      relations: ["schema_migrations", "schema_migrations_pkey"],
    },
    "a migrated one, in whose schema nothing new may be made": { ...MIGRATED, mayCreate: false },
    "one with extensions in a schema of the search path": withExtension(EMPTY, "pg_trgm", {
      schema: "extensions",
      isInPath: true,
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
  ["standby", { ...MIGRATED, isStandby: true }, /is a standby.*primary/],
  ["read-only", { ...MIGRATED, isReadOnly: true }, /default_transaction_read_only is on/],
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
    { ...EMPTY, schema: null, mayCreate: null },
    /no schema of its search_path \("\$user", public\).*`create schema NAME authorization weir`/,
  ],
  ["a closed schema", { ...EMPTY, mayCreate: false }, /`grant create on schema public to weir`/],
  [
    "tables of another user",
    { ...MIGRATED, recordOwner: "app-owner", ownsRecord: false },
    /belong to "app-owner".*`reassign owned by "app-owner" to weir`/,
  ],
  [
    "an extension off the search path",
    withExtension(MIGRATED, "pg_trgm", { schema: "ext", isInPath: false }),
    /^The extension pg_trgm is in the schema ext, which is not .*set search_path = "\$user", public, ext`/,
  ],
  [
    "one that the server has not",
    withExtension(EMPTY, "btree_gin", { isOffered: false, mayCreate: false }),
    /^The extension btree_gin is not installed on .*postgresql-contrib/,
  ],
  [
    "some that the user may not make",
    { ...EMPTY, extensions: all({ ...extension, mayCreate: false }) },
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
      { ...MIGRATED, isStandby: true },
      { ...MIGRATED, isReadOnly: true },
      { ...MIGRATED, ownsRecord: false },
      { ...EMPTY, mayCreate: false },
      { ...EMPTY, extensions: all({ ...extension, mayCreate: false }) },
    ])
      assert.equal(why(facts, false), "fit");
    assert.match(why({ ...MIGRATED, encoding: "LATIN1" }, false), /LATIN1/);
  });
});
