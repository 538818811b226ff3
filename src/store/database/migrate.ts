import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import type { Logger } from "pino";
import { OperatorError } from "../../core/errors.ts";
import type { Database } from "./database.ts";
import type { Queryable } from "./queryable.ts";
import { weirCommand } from "../../files/installation.ts";

/** The repository's own `migrations/`: what comes after the baseline, forward only. */
const FORWARD = path.join(import.meta.dirname, "..", "..", "..", "migrations");

/** The schema of version `BASELINE_VERSION` as a whole, by subject: for an empty database. */
const BASELINE = path.join(FORWARD, "baseline");

/** The oldest schema that this code knows. */
export const BASELINE_VERSION = 78;

/** Any number that no other program on the same database is likely to take. */
const ADVISORY_LOCK = 7_305_814_001;

/** The database is not at this version's schema; what makes it so is a start, or `weir migrate`. */
export class NotMigratedError extends OperatorError {}

/** The database is at the schema of a later version; only that one can use it. */
export class NewerSchemaError extends OperatorError {}

/** Versions of the schema: of the database, and of this code. */
export interface SchemaState {
  /** 0: there is nothing of Weir's. */
  readonly current: number;
  readonly known: number;
}

/** One transaction. */
interface Migration {
  /** The version that the database has afterwards. */
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/**
 * Brings the schema up to the code, forward only, one transaction a migration. Daemons that start together wait for
 * one another.
 * @returns the names of what was applied now
 * @throws NewerSchemaError if the database is newer than the code; OperatorError if it is older than the baseline
 */
export async function migrate(database: Database, log: Logger): Promise<string[]> {
  return database.session(async (session) => {
    await session.query("migrate_lock", "select pg_advisory_lock($1)", [ADVISORY_LOCK]);
    try {
      return await applyMissing(session, log, Infinity, applyOne);
    } finally {
      await session.query("migrate_unlock", "select pg_advisory_unlock($1)", [ADVISORY_LOCK]);
    }
  });
}

/** Takes the lock of migrations until the end of the transaction: a daemon that starts waits for it. */
export async function lockSchema(client: Queryable): Promise<void> {
  await client.query("", "select pg_advisory_xact_lock($1)", [ADVISORY_LOCK]);
}

/**
 * Does the same in the transaction of a client that holds {@link lockSchema}.
 * @param to the last version to bring it to; default: the code's
 */
export async function migrateWithin(client: Queryable, log: Logger, to = Infinity): Promise<void> {
  await applyMissing(client, log, to, async (_, migration) => {
    await record(client, migration);
    // As a commit does: the next migration finds no event that a deferred trigger still waits for.
    await client.query("", "set constraints all immediate");
    await client.query("", "set constraints all deferred");
  });
}

/** Looks, and changes nothing. */
export async function readSchemaState(database: Queryable): Promise<SchemaState> {
  const [row] = await database.query<{ there: boolean }>(
    "",
    "select to_regclass('schema_migrations') is not null as there",
  );
  return { current: row?.there === true ? await readVersion(database) : 0, known: await readKnownVersion() };
}

/**
 * Looks, and changes nothing.
 * @returns the names of what {@link migrate} would apply
 * @throws OperatorError as it does
 */
export async function listPending(database: Queryable): Promise<string[]> {
  const { current, known } = await readSchemaState(database);
  assertNotNewer(current, known);
  assertNotOlder(current);
  return (await listMissing(current)).map(({ name }) => name);
}

export async function readKnownVersion(): Promise<number> {
  return BASELINE_VERSION + (await listFiles(FORWARD)).length;
}

/**
 * For whoever only reads: this code's statements are for this code's schema.
 * @throws NotMigratedError if the database is behind the code; NewerSchemaError if it is newer
 */
export function assertMigrated({ current, known }: SchemaState): void {
  assertNotNewer(current, known);
  if (current === known) return;
  const where = current === 0 ? "holds nothing of Weir's yet" : `is at ${current}, this Weir knows ${known}`;
  throw new NotMigratedError(`The database ${where}: run \`${weirCommand("migrate")}\`, or start it.`);
}

function assertNotNewer(current: number, known: number): void {
  if (current <= known) return;
  throw new NewerSchemaError(
    `The database is at schema version ${current}, this Weir knows ${known}: it was used by a newer ` +
      "Weir. Start that version, or point database.url at another database.",
  );
}

function assertNotOlder(current: number): void {
  if (current === 0 || current >= BASELINE_VERSION) return;
  throw new OperatorError(
    `The database is at schema version ${current}, this Weir begins at ${BASELINE_VERSION}: start the version before this one ` +
      "on it once, or point database.url at another database.",
  );
}

async function readVersion(database: Queryable): Promise<number> {
  const [row] = await database.query<{ version: number }>(
    "migrate_version",
    "select coalesce(max(version), 0) as version from schema_migrations",
  );
  return row?.version ?? 0;
}

async function applyMissing(
  session: Queryable,
  log: Logger,
  to: number,
  apply: typeof applyOne,
): Promise<string[]> {
  await session.query(
    "migrate_table",
    `create table if not exists schema_migrations (
       version integer primary key, name text not null, applied_at timestamptz not null default now())`,
  );
  const current = await readVersion(session);
  assertNotNewer(current, await readKnownVersion());
  assertNotOlder(current);
  const missing = (await listMissing(current)).filter(({ version }) => version <= to);
  for (const migration of missing) {
    log.debug({ migration: migration.name }, "migration_applied");
    await apply(session, migration);
  }
  return missing.map((migration) => migration.name);
}

async function listMissing(current: number): Promise<Migration[]> {
  const forward = await readForward();
  if (current === 0) return [await readBaseline(), ...forward];
  return forward.filter(({ version }) => version > current);
}

/** All of the baseline's files as one migration: half a schema would have no version. */
async function readBaseline(): Promise<Migration> {
  const files = await listFiles(BASELINE);
  const parts = await Promise.all(files.map(async (file) => readFile(path.join(BASELINE, file), "utf8")));
  return { version: BASELINE_VERSION, name: "baseline", sql: parts.join("\n") };
}

/** What comes after the baseline: a file each, numbered without a gap. */
async function readForward(): Promise<Migration[]> {
  const files = await listFiles(FORWARD);
  const first = BASELINE_VERSION + 1;
  return Promise.all(
    files.map(async (file, index) => {
      const version = Number.parseInt(file, 10);
      if (version !== first + index)
        throw new OperatorError(`migrations/${file}: expected number ${first + index}.`);
      return { version, name: file, sql: await readFile(path.join(FORWARD, file), "utf8") };
    }),
  );
}

/** Names of the tables, indexes, sequences and views that the migrations make. */
export async function listOwnNames(): Promise<ReadonlySet<string>> {
  const migrations = [await readBaseline(), ...(await readForward())];
  return new Set(migrations.flatMap(({ sql }) => Array.from(sql.matchAll(MADE), ([, name = ""]) => name)));
}

const MADE =
  /^[ \t]*create (?:unlogged )?(?:unique )?(?:table|index|sequence|view|materialized view) (?:if not exists )?(\w+)/gm;

async function listFiles(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((file) => file.endsWith(".sql")).toSorted();
}

async function applyOne(session: Queryable, migration: Migration): Promise<void> {
  await session.query("", "begin");
  try {
    await record(session, migration);
    await session.query("", "commit");
  } catch (error) {
    await session.query("", "rollback");
    throw error;
  }
}

async function record(session: Queryable, { version, name, sql }: Migration): Promise<void> {
  await session.query("", sql);
  await session.query("", "insert into schema_migrations (version, name) values ($1, $2)", [version, name]);
}
