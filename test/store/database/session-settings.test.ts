// proves: src/store/database/session-settings.ts
/** What Weir's sessions need holds, whatever the address, the environment, the role or the database says. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { Database } from "../../../src/store/database/database.ts";
import { findDaemons, openDatabase } from "../../../src/store/database/open.ts";
import { createTestDatabase } from "../../support/database.ts";
import { connectionUrl } from "../../support/weir.ts";
import { SILENT } from "../open-store.ts";

const target = await createTestDatabase();
after(async () => target[Symbol.asyncDispose]());
const address = connectionUrl(target.connection);

/** Each is the opposite of one of Weir's. */
const HOSTILE = {
  default_transaction_read_only: "off",
  default_transaction_isolation: "serializable",
  timezone: "Asia/Tokyo",
  datestyle: "German",
  plan_cache_mode: "force_custom_plan",
  enable_seqscan: "on",
  jit: "on",
  statement_timeout: "30s",
  lock_timeout: "31s",
  idle_in_transaction_session_timeout: "32s",
  idle_session_timeout: "33s",
  transaction_timeout: "34s",
  extra_float_digits: "-15",
};
const NAMES = Object.keys(HOSTILE);

function withOptions(url: string): string {
  const options = Object.entries(HOSTILE).map(([name, value]) => `-c ${name}=${value}`);
  return `${url}&options=${encodeURIComponent(options.join(" "))}`;
}

async function held(db: Pick<Database, "query">): Promise<Record<string, string>> {
  const rows = await db.query<{ name: string; value: string }>(
    "",
    "select name, current_setting(name) as value from unnest($1::text[]) name",
    [NAMES],
  );
  return Object.fromEntries(rows.map(({ name, value }) => [name, value]));
}

const OWN = {
  default_transaction_read_only: "on",
  default_transaction_isolation: "read committed",
  timezone: "UTC",
  datestyle: "ISO, MDY",
  plan_cache_mode: "force_generic_plan",
  enable_seqscan: "off",
  jit: "off",
  statement_timeout: "0",
  lock_timeout: "0",
  idle_in_transaction_session_timeout: "1min",
  idle_session_timeout: "0",
  transaction_timeout: "0",
  extra_float_digits: "1",
};

async function assertHeld(url: string): Promise<void> {
  await using db = new Database({ url }, SILENT, { isReadOnly: true });
  assert.deepEqual(await held(db), OWN);
  assert.deepEqual(await held(db.lookUps()), { ...OWN, statement_timeout: "3s" });
  await db.copy("read", async (client) => assert.deepEqual(await held(client), OWN));
  await assert.rejects(db.query("", "delete from channels"), /read-only transaction/);
}

describe("the settings of a session hold", () => {
  test("against options of the address", async () => assertHeld(withOptions(address)));

  test("against settings of the role and of the database", async () => {
    await using outside = new Database(target.connection, SILENT);
    const role = `hostile_${target.name}`;
    await outside.script(`create role ${role} login superuser;`);
    try {
      for (const [name, value] of Object.entries(HOSTILE)) {
        await outside.script(`alter role ${role} in database ${target.name} set ${name} = '${value}';
          alter database ${target.name} set ${name} = '${value}'`);
      }
      const its = new URL(address);
      its.username = role;
      await assertHeld(its.href);
    } finally {
      await outside.script(
        `alter database ${target.name} reset all; drop owned by ${role}; drop role ${role}`,
      );
    }
  });

  test("against PGOPTIONS, and the embedded server has none of it", async () => {
    process.env["PGOPTIONS"] = "-c timezone=Asia/Tokyo -c search_path=elsewhere";
    try {
      await using of = new Database({ url: address }, SILENT);
      assert.equal((await held(of))["timezone"], "UTC");
      assert.ok("host" in target.connection);
      await using embedded = new Database(target.connection, SILENT);
      const [row] = await embedded.query("", "select current_schema() as schema");
      assert.deepEqual(row, { schema: "public" });
    } finally {
      delete process.env["PGOPTIONS"];
    }
  });

  test("against a limit for the client's statements in the address", async () => {
    await using db = new Database({ url: `${address}&query_timeout=1` }, SILENT);
    await db.query("", "select pg_sleep(0.2)");
  });
});

describe("a running daemon is seen", () => {
  const config = (url: string) => ({ url, dataDir: "/nowhere" });
  const seen = async (): Promise<string | null> => {
    await using outside = await openDatabase(config(address), SILENT, "reader");
    return await findDaemons(outside.database);
  };

  test("whatever the address calls its connections, and no longer than it runs", async () => {
    {
      await using _one = await openDatabase(config(`${address}&application_name=other`), SILENT, "owner");
      assert.equal(await seen(), "connected from a socket");
      await using _two = await openDatabase(config(address), SILENT, "owner");
      assert.equal(await seen(), "connected from a socket");
      await using other = await createTestDatabase();
      await using elsewhere = new Database(other.connection, SILENT);
      assert.equal(await findDaemons(elsewhere), null);
    }
    assert.equal(await seen(), null);
  });

  test("by its listening connection alone, and again when what was cut off is connected", async () => {
    await using opened = await openDatabase(config(address), SILENT, "owner");
    const { database } = opened;
    const lost = Promise.withResolvers<void>();
    await database.listen("topic", () => undefined, lost.resolve);
    await using outside = new Database(target.connection, SILENT);
    const end = async (but: string): Promise<void> =>
      void (await outside.query(
        "",
        `select pg_terminate_backend(pid, 10000) from pg_stat_activity
          where datname = current_database() and pid <> pg_backend_pid() and query not like '${but}'`,
      ));
    await end("listen%");
    assert.equal(await seen(), "connected from a socket");
    await end("none");
    await lost.promise;
    assert.equal(await findDaemons(outside), null);
    await using _again = await database.listen(
      "topic",
      () => undefined,
      () => undefined,
    );
    assert.equal(await findDaemons(outside), "connected from a socket");
  });

  test("and nobody else, whatever their name", async () => {
    await using other = new Database({ url: `${address}&application_name=weir` }, SILENT);
    await other.query("", "select 1");
    assert.equal(await seen(), null);
  });

  test("by a user that may not see its address", async () => {
    await using _daemon = await openDatabase(config(address), SILENT, "owner");
    await using outside = new Database(target.connection, SILENT);
    const role = `onlooker_${target.name}`;
    await outside.script(`create role ${role} login`);
    try {
      const its = new URL(address);
      its.username = role;
      await using onlooker = new Database({ url: its.href }, SILENT, { isReadOnly: true });
      assert.equal(await findDaemons(onlooker), "connected from an address that this user may not see");
    } finally {
      await outside.script(`drop role ${role}`);
    }
  });
});
