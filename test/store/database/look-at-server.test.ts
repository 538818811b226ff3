// proves: src/store/database/look-at-server.ts
/** A start, `weir migrate`, `weir doctor` and commands refuse a server that Weir cannot use, in the same words, and change nothing there. */
import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { DatabaseConfig } from "../../../src/config/config.ts";
import { OperatorError } from "../../../src/core/errors.ts";
import { Database } from "../../../src/store/database/database.ts";
import { assertUsableByDaemon, migrateDatabase, openDatabase } from "../../../src/store/database/open.ts";
import type { ProxyTarget } from "../../support/cluster/tcp-proxy.ts";
import { createTestDatabase, type TestDatabase } from "../../support/database.ts";
import { connectionUrl } from "../../support/weir.ts";
import { startOfVersion, startPooler } from "../../support/wire-proxy.ts";
import { SILENT } from "../open-store.ts";

let target: TestDatabase;
let outside: Database;
before(async () => {
  target = await createTestDatabase();
  outside = new Database(target.connection, SILENT);
});
after(async () => {
  await outside[Symbol.asyncDispose]();
  await target[Symbol.asyncDispose]();
});

const configOf = (url: string): DatabaseConfig => ({ url, dataDir: "/nowhere" });

/** As another user, or in another database. */
function urlOf({ user, name = target.name }: { readonly user?: string; readonly name?: string }): string {
  const url = new URL(connectionUrl(target.connection));
  url.pathname = `/${name}`;
  if (user !== undefined) url.username = user;
  return url.href;
}

type Way = (config: DatabaseConfig) => Promise<unknown>;
const WRITERS: Readonly<Record<string, Way>> = {
  start: async (config) => {
    await using _opened = await openDatabase(config, SILENT, "owner");
  },
  migrate: async (config) => migrateDatabase(config, SILENT, false),
  doctor: async (config) => assertUsableByDaemon(config, SILENT),
};
const ALL: Readonly<Record<string, Way>> = {
  ...WRITERS,
  reader: async (config) => {
    await using _opened = await openDatabase(config, SILENT, "reader");
  },
};

async function assertRefused(url: string, why: RegExp, ways = ALL): Promise<void> {
  for (const [name, way] of Object.entries(ways)) {
    await assert.rejects(way(configOf(url)), (error) => {
      assert.ok(error instanceof OperatorError, `${name}: ${String(error)}`);
      assert.match(error.message, why, name);
      return true;
    });
  }
}

/** What happens between Weir and the server. */
function socketOf({ connection }: TestDatabase): ProxyTarget {
  assert.ok("host" in connection);
  return { path: `${connection.host}/.s.PGSQL.${connection.port}` };
}

function through(port: number): string {
  assert.ok("user" in target.connection);
  return `postgres://${target.connection.user}@127.0.0.1:${port}/${target.name}`;
}

describe("a pooler in transaction mode", () => {
  for (const next of ["last", "longest"] as const) {
    test(`that lends the connection that was free ${next}, and none of its sessions has kept a setting or a lock`, async () => {
      await using pooler = await startPooler(socketOf(target), next);
      await assertRefused(through(pooler.port), /pooler in transaction mode.*direct address/);
      await using past = new Database({ url: through(pooler.port) }, SILENT, { maxConnections: 4 });
      const left = await past.withPlainClients(async (one, two) =>
        Promise.all(
          [one, two].map(async (client) => {
            const { rows } = await client.query<{ read_only: string; plans: string; locks: number }>(
              `select current_setting('default_transaction_read_only') as read_only, current_setting('plan_cache_mode') as plans,
                      (select count(*)::int from pg_locks l join pg_database d on d.oid = l.database
                        where l.locktype = 'advisory' and d.datname = current_database()) as locks`,
            );
            return rows[0];
          }),
        ),
      );
      assert.deepEqual(left, [
        { read_only: "off", plans: "auto", locks: 0 },
        { read_only: "off", plans: "auto", locks: 0 },
      ]);
    });
  }
});

test("a server of another version", async () => {
  await using old = await startOfVersion(socketOf(target), "13.22");
  await assertRefused(
    through(old.port),
    /^The database's server is Postgres 13\.22, and Weir needs 14 or newer/,
  );
  await using other = await startOfVersion(socketOf(target), "14.1");
  await using _opened = await openDatabase(configOf(through(other.port)), SILENT, "reader");
});

test("an address that is none is called that, without a word of it", async () => {
  for (const url of ["postgres://weir:geheim@:port/db", "%E0%A4%A"])
    await assertRefused(url, /^The database's address is not of the form [^%]*$/);
});

/** An empty database with something in it. */
const withScript = async (
  script: string,
  work: (url: string, db: Database) => Promise<void>,
): Promise<void> => {
  await using other = await createTestDatabase();
  await using db = new Database(other.connection, SILENT);
  await db.script("drop schema public cascade; create schema public");
  await db.script(script);
  await work(urlOf({ name: other.name }), db);
};
const tables = async (db: Database): Promise<unknown[]> =>
  db.query("", "select tablename as name from pg_tables where schemaname = 'public' order by 1");

describe("a database", () => {
  for (const encoding of ["LATIN1", "SQL_ASCII"]) {
    test(`of encoding ${encoding}`, async () => {
      const name = `${target.name}_${encoding.toLowerCase()}`;
      await outside.query("", `create database ${name} template template0 encoding '${encoding}' locale 'C'`);
      try {
        await assertRefused(urlOf({ name }), new RegExp(`the encoding ${encoding}`));
      } finally {
        await outside.query("", `drop database ${name} with (force)`);
      }
    });
  }

  for (const [what, script, why] of [
    [
      "a schema_migrations of another program",
      "create table schema_migrations (version text primary key); insert into schema_migrations values ('20240101')",
      /schema_migrations .*another program/,
    ],
    [
      "a table channels of another program",
      "create table channels (id uuid primary key)",
      /another program's tables .*\(channels\)/,
    ],
    [
      "what a start over such a table left",
      "create table channels (id uuid); create table schema_migrations (version integer primary key, name text not null, applied_at timestamptz not null default now())",
      /\(channels\)/,
    ],
  ] as const) {
    test(`with ${what}`, async () =>
      withScript(script, async (url, db) => {
        const held = await tables(db);
        await assertRefused(url, why);
        assert.deepEqual(await tables(db), held);
      }));
  }

  test("with tables of other names, and extensions in a schema of the search path, is migrated", async () => {
    await withScript("create table people (id int)", async (url, db) => {
      await db.script(`create schema ext; create extension pg_trgm schema ext; create extension btree_gin schema ext;
        create extension btree_gist schema ext`);
      await assertRefused(
        url,
        /^The extensions btree_gin, btree_gist, pg_trgm are in the schema ext, which is not in the search_path/,
      );
      const path = encodeURIComponent("-c search_path=public,ext");
      await migrateDatabase(configOf(`${url}&options=${path}`), SILENT, false);
      await assertRefused(url, /search_path/);
    });
  });

  test("whose extension was moved or dropped after the migration", async () => {
    await using other = await createTestDatabase();
    await using db = new Database(other.connection, SILENT);
    const url = urlOf({ name: other.name });
    await db.script("create schema ext; alter extension pg_trgm set schema ext");
    await assertRefused(url, /^The extension pg_trgm is in the schema ext/);
    await db.script("drop extension pg_trgm cascade");
    await assertRefused(url, /^The extension pg_trgm is not in the database/);
  });
});

describe("the user of a database", () => {
  test("may only read", async () => {
    await outside.script(`alter database ${target.name} set default_transaction_read_only = on`);
    try {
      await assertRefused(urlOf({}), /default_transaction_read_only is on/, WRITERS);
      await using _reader = await openDatabase(configOf(urlOf({})), SILENT, "reader");
    } finally {
      await outside.script(
        `begin read write; alter database ${target.name} reset default_transaction_read_only; commit`,
      );
    }
  });

  test("may do too little", async () => {
    const [user, other] = [`guest_${target.name}`, `other_${target.name}`];
    await outside.script(`create role ${user} login; create role ${other} login`);
    try {
      await withScript("", async (url, db) => {
        const as = (name: string): string => Object.assign(new URL(url), { username: name }).href;
        await assertRefused(as(user), /^The user guest_\w+ can use no schema of its search_path/, WRITERS);
        await db.script(`grant usage on schema public to ${user}, ${other}`);
        await assertRefused(as(user), /^The user \w+ may not make tables in the schema public: /, WRITERS);
        await db.script(`grant create on schema public to ${user}`);
        await assertRefused(as(user), /^The extensions .* may not make them/, WRITERS);
        await db.script(`create extension pg_trgm; create extension btree_gin; create extension btree_gist`);
        await migrateDatabase(configOf(as(user)), SILENT, false);
        await assertUsableByDaemon(configOf(as(user)), SILENT);
        await assertRefused(as(other), /belong to guest_\w+, and .* connects as other_/, WRITERS);
        await db.script(`drop owned by ${user}, ${other}`);
      });
    } finally {
      await outside.script(`drop role ${user}, ${other}`);
    }
  });
});
