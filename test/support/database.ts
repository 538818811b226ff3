import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { Socket } from "node:net";
import { setTimeout as delay } from "node:timers/promises";
import { Client } from "pg";
import { pino } from "pino";
import { migrate } from "../../src/store/database/migrate.ts";
import { Database } from "../../src/store/database/database.ts";
import type { Connection } from "../../src/store/database/queryable.ts";
import { CONNECTION_VARIABLE, TEMPLATE_NAME, URL_VARIABLE } from "./test-server.ts";

/** A migrated, empty, separate database. Disposing drops it, even with open connections. */
export interface TestDatabase extends AsyncDisposable {
  readonly name: string;
  readonly connection: Connection;
  /** Makes the server end all connections to it and refuse new ones, until it is restored. */
  setAway(isAway: boolean): Promise<void>;
}

/**
 * Makes a database for one test file (about 30 ms), on the server of the global setup.
 * @param original a database to copy, without connections
 * @throws Error if the tests were started without that setup
 */
export async function createTestDatabase(original?: TestDatabase): Promise<TestDatabase> {
  const server = serverConnection();
  const name = `test_${randomBytes(6).toString("hex")}`;
  // A developer's own server lacks our template: migrates an empty database.
  const isOurServer = !("url" in server);
  const template = original?.name ?? (isOurServer ? TEMPLATE_NAME : null);
  // The default strategy writes each page to the write-ahead log, which takes four times as long.
  const copied = template === null ? "" : `TEMPLATE ${template} STRATEGY file_copy`;
  await administer(server, `CREATE DATABASE ${name} ${copied}`);
  const connection = withDatabase(server, name);
  if (template === null) await migrateNow(connection);
  return {
    name,
    connection,
    async setAway(isAway) {
      await administer(server, `ALTER DATABASE ${name} ALLOW_CONNECTIONS ${!isAway}`);
      const ended = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '${name}'`;
      if (isAway) await administer(server, ended);
    },
    async [Symbol.asyncDispose]() {
      await untilLeft(server, name);
      await administer(server, `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`);
    },
  };
}

const LOOK_MS = 2;
const MOST_LOOKS = 50;

/** Ends all connections to a database. To drop it, the server looks for them only each tenth of a second: most of what a drop takes. */
async function untilLeft(server: Connection, name: string): Promise<void> {
  const here = `FROM pg_stat_activity WHERE datname = '${name}'`;
  for (let looks = 0; looks < MOST_LOOKS; looks++) {
    const left = await administer(
      server,
      looks === 0 ? `SELECT pg_terminate_backend(pid) ${here}` : `SELECT ${here}`,
    );
    if (left === 0) return;
    await delay(LOOK_MS);
  }
}

function serverConnection(): Connection {
  const given = process.env[CONNECTION_VARIABLE];
  if (given === undefined) {
    throw new Error(
      "No test database. Start tests with npm run test:all, or one file with: " +
        "node --test --test-global-setup=test/support/global-setup.ts FILE " +
        `(${URL_VARIABLE}=postgres://… runs them on a server of yours)`,
    );
  }
  // oxlint-disable-next-line no-unsafe-type-assertion -- our own global setup wrote it
  return JSON.parse(given) as Connection;
}

/** A connection to another database of the same server. */
function withDatabase(server: Connection, database: string): Connection {
  if (!("url" in server)) return { ...server, database };
  const url = new URL(server.url);
  url.pathname = `/${database}`;
  return { url: url.href };
}

/** Of this process: a connection for each statement would take a third of what making a database takes. */
let administrator: Promise<Client> | null = null;
let statements = 0;

/**
 * `postgres` is the database that every server has for this: to copy another, nobody may be connected to it.
 * @returns the number of rows
 */
async function administer(server: Connection, statement: string): Promise<number> {
  administrator ??= connectAdministrator(server);
  const client = await administrator;
  // It keeps the process alive while it works, and no longer.
  statements++;
  socketOf(client).ref();
  try {
    const { rowCount } = await client.query(statement);
    return rowCount ?? 0;
  } finally {
    if (--statements === 0) socketOf(client).unref();
  }
}

function socketOf({ connection }: Client): Socket {
  assert(connection.stream instanceof Socket);
  return connection.stream;
}

async function connectAdministrator(server: Connection): Promise<Client> {
  const client = plainClient(withDatabase(server, "postgres"));
  client.on("error", () => {
    administrator = null;
  });
  await client.connect();
  return client;
}

/** A client without Weir's settings, not connected yet. */
export function plainClient(connection: Connection): Client {
  return new Client("url" in connection ? { connectionString: connection.url } : connection);
}

/** Runs some work with such a client. */
export async function withClient(
  connection: Connection,
  work: (client: Client) => Promise<unknown>,
): Promise<void> {
  const client = plainClient(connection);
  await client.connect();
  try {
    await work(client);
  } finally {
    await client.end();
  }
}

async function migrateNow(connection: Connection): Promise<void> {
  const log = pino({ level: "warn" });
  await using database = new Database(connection, log, { maxConnections: 1 });
  await migrate(database, log);
}
