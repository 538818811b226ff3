import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import type { Logger } from "pino";
import { OperatorError } from "../../core/errors.ts";
import type { Database, Queryable } from "./database.ts";

/** The repository's own `migrations/`. */
const MIGRATIONS_DIR = path.join(import.meta.dirname, "..", "..", "..", "migrations");

/** Any number that no other program on the same database is likely to take. */
const ADVISORY_LOCK = 7_305_814_001;

/** The database is not at this version's schema; what makes it so is a start, or `weir migrate`. */
export class NotMigratedError extends OperatorError {}

/** Versions of the schema: of the database, and of this code. */
export interface SchemaState {
  /** 0: there is nothing of Weir's. */
  readonly current: number;
  readonly known: number;
}

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
}

/**
 * Brings the schema up to the code, forward only, one transaction a file. Daemons that start together wait for
 * one another.
 * @returns the names of what was applied now
 * @throws OperatorError where the database is newer than the code
 */
export async function migrate(
  database: Database,
  log: Logger,
  directory = MIGRATIONS_DIR,
): Promise<string[]> {
  const migrations = await readMigrations(directory);
  return database.session(async (session) => {
    await session.query({ name: "migrate_lock", text: "select pg_advisory_lock($1)" }, [ADVISORY_LOCK]);
    try {
      return await applyMissing(session, migrations, log);
    } finally {
      await session.query({ name: "migrate_unlock", text: "select pg_advisory_unlock($1)" }, [ADVISORY_LOCK]);
    }
  });
}

/** Looks, and changes nothing. */
export async function readSchemaState(database: Queryable, directory = MIGRATIONS_DIR): Promise<SchemaState> {
  const { length: known } = await listMigrations(directory);
  const [row] = await database.query<{ there: boolean }>({
    name: "",
    text: "select to_regclass('schema_migrations') is not null as there",
  });
  return { current: row?.there === true ? await readVersion(database) : 0, known };
}

/**
 * For whoever only reads: this code's statements are for this code's schema.
 * @throws NotMigratedError where the database is behind the code; OperatorError where it is newer
 */
export function assertMigrated({ current, known }: SchemaState): void {
  assertNotNewer(current, known);
  if (current === known) return;
  const where = current === 0 ? "holds nothing of Weir's yet" : `is at ${current}, this Weir knows ${known}`;
  throw new NotMigratedError(`The database ${where}: run \`weir migrate\`, or start it.`);
}

function assertNotNewer(current: number, known: number): void {
  if (current <= known) return;
  throw new OperatorError(
    `The database is at schema version ${current}, this Weir knows ${known}: it was used by a newer ` +
      "Weir. Start that version, or point database.url at another database.",
  );
}

async function readVersion(database: Queryable): Promise<number> {
  const [row] = await database.query<{ version: number }>({
    name: "migrate_version",
    text: "select coalesce(max(version), 0) as version from schema_migrations",
  });
  return row?.version ?? 0;
}

async function listMigrations(directory: string): Promise<string[]> {
  return (await readdir(directory)).filter((file) => file.endsWith(".sql")).toSorted();
}

async function readMigrations(directory: string): Promise<Migration[]> {
  const files = await listMigrations(directory);
  return Promise.all(
    files.map(async (file, index) => {
      const version = Number.parseInt(file, 10);
      if (version !== index + 1) throw new OperatorError(`migrations/${file}: expected number ${index + 1}.`);
      return { version, name: file, sql: await readFile(path.join(directory, file), "utf8") };
    }),
  );
}

async function applyMissing(
  session: Queryable,
  migrations: readonly Migration[],
  log: Logger,
): Promise<string[]> {
  await session.query({
    name: "migrate_table",
    text: `create table if not exists schema_migrations (
             version integer primary key, name text not null, applied_at timestamptz not null default now())`,
  });
  const current = await readVersion(session);
  assertNotNewer(current, migrations.length);
  const missing = migrations.filter((migration) => migration.version > current);
  for (const migration of missing) {
    log.debug({ migration: migration.name }, "migration_applied");
    await applyOne(session, migration);
  }
  return missing.map((migration) => migration.name);
}

async function applyOne(session: Queryable, migration: Migration): Promise<void> {
  await session.query({ name: "", text: "begin" });
  try {
    await session.query({ name: "", text: migration.sql });
    await session.query({ name: "", text: "insert into schema_migrations (version, name) values ($1, $2)" }, [
      migration.version,
      migration.name,
    ]);
    await session.query({ name: "", text: "commit" });
  } catch (error) {
    await session.query({ name: "", text: "rollback" });
    throw error;
  }
}
