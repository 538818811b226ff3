import { isDeepStrictEqual } from "node:util";
import { pipeline } from "node:stream/promises";
import type { Logger } from "pino";
import { errorMessage, OperatorError } from "../../core/errors.ts";
import type { CopyClient } from "../database/copy-client.ts";
import type { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import { isRefusedValue } from "../database/errors.ts";
import { BASELINE_VERSION, lockSchema, migrateWithin, readSchemaState } from "../database/migrate.ts";
import { findDaemons } from "../database/open.ts";
import { isEmpty, type OnTable, readTables, target } from "./backup.ts";
import type { BackupHead, BackupReader, BackupTable, ReadBackup } from "./backup-file.ts";

/*
 * A backup goes into a database in one transaction: its schema, its rows, the migrations to the schema of this version, and a mark
 * that names the backup. So a crash leaves all of it or nothing. The signing key is placed before the rows: after a crash between the two
 * it is the backup's own, and the same command goes on. After a crash that follows the commit, the mark shows the same command that all is there.
 */

export interface RestoreParts {
  readonly log: Logger;
  /** For errors: where the database is. */
  readonly where: string;
  /** Brings the signing key in place. @returns takes it away again */
  readonly keepKey: () => Promise<() => Promise<void>>;
  readonly onTable?: OnTable;
  /** Once it is aborted, nothing is committed any more. */
  readonly signal?: AbortSignal;
}

/**
 * Fills an empty database with a backup, whole or not at all, and brings it up to this version.
 * @param reader at the beginning of the file
 * @param found in the file, when it was read to its end before
 * @returns `there before`: an earlier call has done it, and nothing was written since
 * @throws OperatorError if the database holds something, a Weir runs on it, or the backup does not fit it
 */
export async function restoreBackup(
  database: Database,
  reader: BackupReader,
  found: Pick<ReadBackup, "head" | "sha256">,
  { log, where, keepKey, onTable = () => undefined, signal }: RestoreParts,
): Promise<"restored" | "there before"> {
  return database.copy("write", async (client) => {
    await lockSchema(client);
    const { current, known } = await readSchemaState(client);
    assertKnown(found.head.schema, known);
    const daemons = await findDaemons(client);
    if (daemons !== null)
      throw new OperatorError(`A Weir (${daemons}) runs on this database. Stop it first.`);
    if (current > 0 && (await isMarked(client, found.sha256))) {
      await keepKey();
      return "there before";
    }
    if (current > 0) await assertFree(client, found.head.schema, current, where);
    const dropKey = await keepKey();
    try {
      await migrateWithin(client, log, found.head.schema);
      await fillAll(client, reader, found, onTable);
      await migrateWithin(client, log);
      await mark(client, found.sha256);
      signal?.throwIfAborted();
      return "restored";
    } catch (error) {
      // The first error says more than a failed removal.
      await dropKey().catch(() => undefined);
      throw error;
    }
  });
}

/** @throws OperatorError if this code cannot make that schema */
function assertKnown(schema: number, known: number): void {
  if (schema > known)
    throw new OperatorError(
      `The backup has schema version ${schema}, this Weir knows ${known}: restore it with the version that wrote it, or a newer one.`,
    );
  if (schema < BASELINE_VERSION)
    throw new OperatorError(
      `The backup has schema version ${schema}, and this Weir restores from ${BASELINE_VERSION} on: restore it with the version before, and back up again.`,
    );
}

async function assertFree(client: Queryable, schema: number, current: number, where: string): Promise<void> {
  const elsewhere = "point database.url, or data_dir, at a new place";
  if (!(await isEmpty(client)))
    throw new OperatorError(
      `${where} is in use already. A backup is restored into an empty one: ${elsewhere}.`,
    );
  if (current > schema)
    throw new OperatorError(
      `${where} is empty, but has schema version ${current} already, and the backup has ${schema}: ${elsewhere}.`,
    );
}

async function fillAll(
  client: CopyClient,
  reader: BackupReader,
  { head, sha256 }: Pick<ReadBackup, "head" | "sha256">,
  onTable: OnTable,
): Promise<void> {
  const tables = await readTables(client);
  const changed = new OperatorError("The file was changed while it was read: nothing was restored.");
  if (!isDeepStrictEqual(await reader.head(), head)) throw changed;
  if (!isDeepStrictEqual(head.tables.map(shapeOf), tables.map(shapeOf)))
    throw new OperatorError(
      `The backup has ${firstDifference(head, tables)}: it is not of schema version ${head.schema} as this Weir knows it.`,
    );
  for (const table of head.tables) {
    await fill(client, table, reader);
    onTable(table.name, tables.length);
  }
  if ((await reader.foot()).sha256 !== sha256) throw changed;
}

function shapeOf({ name, columns, numbered }: BackupTable): object {
  return { name, columns, numbered: Object.keys(numbered).toSorted() };
}

function firstDifference(head: BackupHead, tables: readonly BackupTable[]): string {
  const index = head.tables.findIndex((table, at) => {
    const there = tables[at];
    return there === undefined || !isDeepStrictEqual(shapeOf(table), shapeOf(there));
  });
  const [here, there] = [head.tables[index], tables[index === -1 ? head.tables.length : index]];
  if (here === undefined) return `no table ${there?.name}`;
  if (here.name === there?.name) return `other columns in table ${here.name}`;
  return `a table ${here.name} where ${there?.name ?? "none"} is expected`;
}

/** Fills a table with its triggers off: their effects are in the backup already. */
async function fill(client: CopyClient, table: BackupTable, reader: BackupReader): Promise<void> {
  const { name, numbered } = table;
  const run = async (text: string, values: readonly unknown[] = []): Promise<unknown> =>
    client.query("", text, values);
  try {
    await run(`alter table ${name} disable trigger user`);
    await pipeline(reader.rows(table), client.copyIn(`copy ${target(table)} from stdin`));
    await run(`alter table ${name} enable trigger user`);
    for (const [column, last] of Object.entries(numbered))
      await run(
        `select setval(pg_get_serial_sequence($1, $2), last)
           from (select greatest($3::bigint, (select max("${column}") from ${name})) as last) as given where last is not null`,
        [name, column, last],
      );
  } catch (error) {
    if (!isRefusedValue(error)) throw error;
    throw new OperatorError(
      `The backup has rows in table ${name} that the database refuses (${errorMessage(error)}): nothing was restored.`,
      { cause: error },
    );
  }
}

/**
 * Names the backup, the transaction of its rows and their number. In a comment, for it is of the database alone, and no row of a backup.
 * All rows are of this transaction for as long as nobody writes.
 */
async function mark(client: Queryable, sha256: string): Promise<void> {
  const [row] = await client.query<{ xid: string }>("", "select (txid_current() % 4294967296)::text as xid");
  const rows = await countRows(client, row?.xid ?? "");
  await client.query(
    "",
    `comment on table schema_migrations is 'restored ${sha256} ${row?.xid} ${rows.all}'`,
  );
}

/** Whether the database holds this backup, and nothing was written since. */
async function isMarked(client: Queryable, sha256: string): Promise<boolean> {
  const [row] = await client.query<{ mark: string | null }>(
    "",
    "select obj_description('schema_migrations'::regclass, 'pg_class') as mark",
  );
  const [, restored, xid = "", all] = /^restored (\w+) (\d+) (\d+)$/.exec(row?.mark ?? "") ?? [];
  if (restored !== sha256) return false;
  const rows = await countRows(client, xid);
  return rows.all === Number(all) && rows.ofOthers === 0;
}

async function countRows(client: Queryable, xid: string): Promise<{ all: number; ofOthers: number }> {
  const sum = { all: 0, ofOthers: 0 };
  for (const { name } of await readTables(client)) {
    const [row] = await client.query<{ all: number; others: number }>(
      "",
      `select count(*) as all, count(*) filter (where xmin::text <> $1) as others from ${name}`,
      [xid],
    );
    sum.all += row?.all ?? 0;
    sum.ofOthers += row?.others ?? 0;
  }
  return sum;
}
