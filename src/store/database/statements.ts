import pg from "pg";
import { camelKey } from "../../config/camel-case.ts";

/**
 * Statements of `pg`, less two of its ways: the promise that `query` returns, and `query_timeout`. For each it assigns a function to
 * `query.callback`, and V8 makes a function that is written where it is assigned to a property among the old objects. It stays
 * there until the next full collection and holds the statement with all its rows, so every collection of young objects copied
 * the rows of hundreds of statements: a pause of 4 to 6 ms.
 */

/** Keys of rows by the names of columns: a few hundred. */
const keys = new Map<string, string>();

function keyOf(column: string): string {
  let key = keys.get(column);
  if (key === undefined) {
    key = camelKey(column);
    keys.set(column, key);
  }
  return key;
}

type Describe = (this: pg.Query, message: { readonly fields: pg.FieldDef[] }) => void;
/** A client of `pg` calls this with the columns of a result, before its rows; the types leave it out. */
const describe: Describe = Reflect.get(pg.Query.prototype, "handleRowDescription");

/** A query whose rows have keys in camel case. The columns are renamed once for a result, so a row costs nothing more. */
class CamelQuery<Row extends pg.QueryResultRow> extends pg.Query<Row> {
  handleRowDescription(message: { readonly fields: pg.FieldDef[] }): void {
    for (const field of message.fields) field.name = keyOf(field.name);
    describe.call(this, message);
  }
}

/** An orderly end may take so long, ms. */
const END_MS = 2000;

/** Told once: with an error, or with what the statement brought. */
type Ended<Row extends pg.QueryResultRow> = (error: Error | null, rows: Row[]) => void;

function settling<Row extends pg.QueryResultRow>(
  resolve: (rows: Row[]) => void,
  reject: (error: Error) => void,
): Ended<Row> {
  return (error, rows) => {
    if (error === null) resolve(rows);
    else reject(error);
  };
}

function begin<Row extends pg.QueryResultRow>(
  client: pg.Client,
  statement: pg.QueryConfig,
  limitMs: number,
  ended: Ended<Row>,
): void {
  let isOver = false;
  const end: Ended<Row> = (error, rows) => {
    if (isOver) return;
    isOver = true;
    clearTimeout(timer);
    ended(error, rows);
  };
  const timer = setTimeout(() => {
    end(new Error(`no answer to a statement for ${limitMs / 1000} s (timeout)`), []);
    // Later statements of this connection would wait in vain, or run after their callers had an error.
    client.end(() => undefined);
  }, limitMs);
  client.query(
    new CamelQuery<Row>(statement, (error, result) => {
      // The types say `undefined`, and it is null; and that there is one result, which of several statements is an array.
      const failure = error ?? null;
      const last: pg.QueryResult<Row> | undefined = Array.isArray(result) ? result.at(-1) : result;
      end(failure, failure === null ? (last?.rows ?? []) : []);
    }),
  );
}

/**
 * Runs a statement on a client that is lent out; of several without values it returns the rows of the last.
 * @param limitMs no answer for so long is an error, and ends the client
 * @throws what `pg` throws
 */
export async function runOn<Row extends pg.QueryResultRow>(
  client: pg.Client,
  statement: pg.QueryConfig,
  limitMs: number,
): Promise<Row[]> {
  return traced(
    new Promise((resolve, reject) => {
      begin<Row>(client, statement, limitMs, settling(resolve, reject));
    }),
  );
}

/** The same on a client of a pool, which is given up if it fails. */
export async function runIn<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  statement: pg.QueryConfig,
  limitMs: number,
): Promise<Row[]> {
  return traced(
    new Promise((resolve, reject) => {
      const settle = settling<Row>(resolve, reject);
      pool.connect((unavailable, client, release) => {
        if (client === undefined) {
          reject(unavailable ?? new Error("no connection"));
          return;
        }
        begin<Row>(client, statement, limitMs, (error, rows) => {
          release(error ?? undefined);
          settle(error, rows);
        });
      });
    }),
  );
}

/** Ends a connection in order, or at once where the server does not answer to that. */
export async function endClient(client: pg.Client): Promise<void> {
  const late = setTimeout(() => client.connection.stream.destroy(), END_MS);
  await client.end().catch(() => undefined);
  clearTimeout(late);
}

/** An error of the socket tells nothing of who asked. */
async function traced<Result>(answer: Promise<Result>): Promise<Result> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof Error) Error.captureStackTrace(error, traced);
    throw error;
  }
}
