import type { Database } from "../database/database.ts";
import type { Queryable } from "../database/queryable.ts";
import { readSchemaState } from "../database/migrate.ts";
import {
  type BackupHead,
  type BackupReader,
  BackupSums,
  type BackupTable,
  countRows,
  END_OF_ROWS,
  headLine,
  type ReadBackup,
  type RowCounts,
} from "./backup-file.ts";

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
  readKey: () => Promise<BackupHead["signingKey"]>,
  write: (bytes: Buffer | string) => Promise<void>,
  onTable: OnTable = () => undefined,
): Promise<RowCounts> {
  return database.copy("read", async (client) => {
    const { current: schema } = await readSchemaState(client);
    const tables = await readTables(client);
    // After the first statement, by which the rows are fixed: a row that is signed has its key by then.
    const signingKey = await readKey();
    const sums = new BackupSums();
    await write(sums.add(headLine({ schema, signingKey, at: new Date().toISOString(), tables })));
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
export async function checkBackup(reader: BackupReader): Promise<ReadBackup> {
  const head = await reader.head();
  for (const table of head.tables) for await (const _ of reader.rows(table));
  return { head, ...(await reader.foot()) };
}

export async function isEmpty(client: Queryable): Promise<boolean> {
  for (const { name } of await readTables(client)) {
    const [row] = await client.query<{ any: boolean }>("", `select exists (select from ${name}) as any`);
    if (row?.any === true) return false;
  }
  return true;
}

/** How SQL names a table with its columns. */
export function target({ name, columns }: Pick<BackupTable, "name" | "columns">): string {
  return `${name} (${columns.map((column) => `"${column}"`).join(", ")})`;
}

/** The tables of a database that hold something of Weir's, each behind those that it refers to. */
export async function readTables(client: Queryable): Promise<BackupTable[]> {
  const rows = await client.query<Omit<BackupTable, "numbered"> & { numbered: string[]; needs: string[] }>(
    "",
    `select c.relname as name,
            (select jsonb_agg(a.attname order by a.attnum) from pg_attribute a
              where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped and a.attgenerated = '') as columns,
            (select coalesce(jsonb_agg(a.attname order by a.attnum), '[]') from pg_attribute a
              where a.attrelid = c.oid and a.attidentity <> '' and not a.attisdropped) as numbered,
            (select coalesce(jsonb_agg(distinct r.relname), '[]') from pg_constraint k join pg_class r on r.oid = k.confrelid
              where k.conrelid = c.oid and k.contype = 'f' and k.confrelid <> c.oid) as needs
       from pg_class c
      where c.relnamespace = current_schema()::regnamespace and c.relkind = 'r' and c.relname <> all($1)
      order by c.relname`,
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
      "",
      "select pg_sequence_last_value(pg_get_serial_sequence($1, $2)::regclass) as last",
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
