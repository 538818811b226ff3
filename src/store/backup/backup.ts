import { pipeline } from "node:stream/promises";
import { OperatorError } from "../../core/errors.ts";
import type { CopyClient } from "../database/copy-client.ts";
import type { Database, Queryable } from "../database/database.ts";
import {
  type BackupHead,
  type BackupReader,
  BackupSums,
  type BackupTable,
  countRows,
  END_OF_ROWS,
  headLine,
  type RowCounts,
} from "./backup-file.ts";

/** Told of each table that is done. */
export type OnTable = (table: string, of: number) => void;

/**
 * What belongs to one database, and not to what was said: which migrations it has, which daemons run on it, and which partitions and shards
 * they have taken. A connection goes on from a session only with the log that it was heard into.
 */
const OF_THE_DATABASE: readonly string[] = [
  "schema_migrations",
  "partitions",
  "members",
  "gateway_sessions",
  "gateway_shard_counts",
  "gateway_shards",
  "gateway_logins",
];

/**
 * All rows of a database as of one moment, as the bytes of a backup that are still to be compressed. The database goes on being
 * written meanwhile.
 * @throws WeirError if it cannot be read
 */
export async function writeBackup(
  database: Database,
  head: Pick<BackupHead, "schema" | "signingKey">,
  write: (bytes: Buffer | string) => Promise<void>,
  onTable: OnTable = () => undefined,
): Promise<RowCounts> {
  return database.copy("read", async (client) => {
    const tables = await readTables(client);
    const sums = new BackupSums();
    await write(sums.add(headLine({ ...head, at: new Date().toISOString(), tables })));
    for (const table of tables) {
      sums.count(table.name, 0);
      for await (const bytes of client.copyOut(`copy ${target(table)} to stdout`)) {
        sums.count(table.name, countRows(bytes));
        await write(sums.add(bytes));
      }
      await write(sums.add(END_OF_ROWS));
      onTable(table.name, tables.length);
    }
    const foot = sums.foot();
    await write(`${JSON.stringify(foot)}\n`);
    return foot.rows;
  });
}

/** Reads a backup to its end, and changes nothing. @throws OperatorError if it is damaged */
export async function checkBackup(
  reader: BackupReader,
): Promise<{ readonly head: BackupHead; readonly rows: RowCounts }> {
  const head = await reader.head();
  for (const table of head.tables) for await (const _ of reader.rows(table));
  return { head, rows: await reader.foot() };
}

/** Whether a database of this schema holds nothing yet. */
export async function isEmpty(database: Database): Promise<boolean> {
  return database.snapshot(async (client) => {
    for (const { name } of await readTables(client)) {
      const [row] = await client.query<{ any: boolean }>({
        name: "",
        text: `select exists (select from ${name}) as any`,
      });
      if (row?.any === true) return false;
    }
    return true;
  });
}

/**
 * Fills an empty database with what a backup holds, whole or not at all.
 * @param reader behind the head
 * @param head the schema's version must be the database's
 * @throws OperatorError if the backup is damaged, or not of this schema
 */
export async function restoreBackup(
  database: Database,
  reader: BackupReader,
  { tables }: BackupHead,
  onTable: OnTable = () => undefined,
): Promise<RowCounts> {
  return database.copy("write", async (client) => {
    const there = new Map((await readTables(client)).map((table) => [table.name, table]));
    for (const table of tables) {
      const columns = there.get(table.name)?.columns;
      if (columns === undefined || JSON.stringify(columns) !== JSON.stringify(table.columns))
        throw new OperatorError(`The backup has a table ${table.name} that this database does not have so.`);
      await fill(client, table, reader);
      onTable(table.name, tables.length);
    }
    return reader.foot();
  });
}

/** What its triggers would do to a row was done when it was written first. */
async function fill(client: CopyClient, table: BackupTable, reader: BackupReader): Promise<void> {
  const run = async (text: string, values: readonly unknown[] = []): Promise<unknown> =>
    client.query({ name: "", text }, values);
  await run(`alter table ${table.name} disable trigger user`);
  await pipeline(reader.rows(table), client.copyIn(`copy ${target(table)} from stdin`));
  await run(`alter table ${table.name} enable trigger user`);
  for (const [column, last] of Object.entries(table.numbered))
    if (last !== null)
      await run("select setval(pg_get_serial_sequence($1, $2), $3)", [table.name, column, last]);
}

function target({ name, columns }: BackupTable): string {
  return `${name} (${columns.map((column) => `"${column}"`).join(", ")})`;
}

/** The tables of a database that hold something of Weir's, each behind those that it refers to. */
async function readTables(client: Queryable): Promise<BackupTable[]> {
  const rows = await client.query<Omit<BackupTable, "numbered"> & { numbered: string[]; needs: string[] }>(
    {
      name: "",
      text: `select c.relname as name,
                    (select jsonb_agg(a.attname order by a.attnum) from pg_attribute a
                      where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
                    (select coalesce(jsonb_agg(a.attname order by a.attnum), '[]') from pg_attribute a
                      where a.attrelid = c.oid and a.attidentity <> '' and not a.attisdropped) as numbered,
                    (select coalesce(jsonb_agg(distinct r.relname), '[]') from pg_constraint k join pg_class r on r.oid = k.confrelid
                      where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs
               from pg_class c
              where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname <> all($1)
              order by c.relname`,
    },
    [OF_THE_DATABASE],
  );
  const tables: BackupTable[] = [];
  for (const { name, columns, numbered } of inOrder(rows))
    tables.push({ name, columns, numbered: await readNumbers(client, name, numbered) });
  return tables;
}

async function readNumbers(
  client: Queryable,
  table: string,
  columns: readonly string[],
): Promise<BackupTable["numbered"]> {
  const numbers: Record<string, number | null> = {};
  for (const column of columns) {
    const [row] = await client.query<{ last: number | null }>(
      { name: "", text: "select pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass) as last" },
      [table, column],
    );
    numbers[column] = row?.last ?? null;
  }
  return numbers;
}

function inOrder<Table extends { readonly name: string; readonly needs: readonly string[] }>(
  tables: readonly Table[],
): Table[] {
  const done = new Set<string>();
  const sorted: Table[] = [];
  for (let left = tables; left.length > 0; left = left.filter(({ name }) => !done.has(name))) {
    const ready = left.filter(({ needs }) => needs.every((name) => done.has(name)));
    if (ready.length === 0)
      throw new Error(`tables refer to one another: ${left.map(({ name }) => name).join(", ")}`);
    for (const table of ready) {
      done.add(table.name);
      sorted.push(table);
    }
  }
  return sorted;
}
