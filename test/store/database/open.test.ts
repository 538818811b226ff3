import assert from "node:assert/strict";
import { once } from "node:events";
import { connect, createServer, type Server } from "node:net";
import path from "node:path";
import { after, test } from "node:test";
import { pino } from "pino";
import type { DatabaseConfig } from "../../../src/config/config.ts";
import { WeirError } from "../../../src/core/errors.ts";
import { translateDatabaseError } from "../../../src/store/database/errors.ts";
import { openDatabase } from "../../../src/store/database/open.ts";
import type { Connection } from "../../../src/store/database/queryable.ts";
import { createTestDatabase } from "../../support/database.ts";

const database = await createTestDatabase();
after(async () => database[Symbol.asyncDispose]());

/** A port of its own before the database, on which nobody answers before it listens. */
class Door implements AsyncDisposable {
  readonly #server: Server;
  readonly port: number;

  private constructor(server: Server, port: number) {
    this.#server = server;
    this.port = port;
  }

  static async reserve(target: Connection): Promise<Door> {
    const server = createServer((incoming) => {
      const outgoing = dial(target);
      incoming.pipe(outgoing).pipe(incoming);
      for (const socket of [incoming, outgoing]) socket.on("error", () => undefined);
    });
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const address = server.address();
    assert.ok(typeof address === "object" && address !== null);
    server.close();
    await once(server, "close");
    return new Door(server, address.port);
  }

  async open(): Promise<void> {
    this.#server.listen(this.port, "127.0.0.1");
    await once(this.#server, "listening");
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#server.listening) return;
    this.#server.close();
    await once(this.#server, "close");
  }
}

function dial(target: Connection) {
  if (!("url" in target)) return connect(path.join(target.host, `.s.PGSQL.${target.port}`));
  const url = new URL(target.url);
  return connect(Number(url.port || 5432), url.hostname);
}

function configOf(target: Connection, port: number): DatabaseConfig {
  const url = new URL(
    "url" in target ? target.url : `postgres://${target.user}@localhost/${target.database}`,
  );
  url.host = `127.0.0.1:${port}`;
  return { url: url.href, dataDir: "/nowhere" };
}

/** A log, and a promise of its first line. */
function openLog() {
  const first = Promise.withResolvers<string>();
  const log = pino({ level: "warn" }, { write: (line: string) => first.resolve(line) });
  return { log, first: first.promise };
}

test("a database that comes up later than the daemon is waited for", async () => {
  await using door = await Door.reserve(database.connection);
  const { log, first } = openLog();
  const config = configOf(database.connection, door.port);
  const opening = openDatabase(config, log, "owner", new AbortController().signal);
  assert.match(await first, /database_waited_for/);
  await door.open();
  await using opened = await opening;
  const rows = await opened.database.query("", "select 1 as one");
  assert.deepEqual(rows, [{ one: 1 }]);
});

test("a database that is away is not waited for by a command, nor after the signal to end", async () => {
  await using door = await Door.reserve(database.connection);
  const config = configOf(database.connection, door.port);
  await assert.rejects(openDatabase(config, openLog().log, "reader"), /not available/);
  const { log, first } = openLog();
  const stop = new AbortController();
  const opening = openDatabase(config, log, "owner", stop.signal);
  await first;
  stop.abort();
  await assert.rejects(opening, /not available: .*Check database\.url/);
});

test("a host that cannot be reached, by whatever code, may be reached later", () => {
  for (const code of ["EHOSTUNREACH", "ENETUNREACH", "ENETDOWN", "EAI_AGAIN", "ECONNABORTED", "ENOENT"]) {
    const error = Object.assign(new Error(`connect ${code}`), { code, syscall: "connect" });
    for (const failure of [error, new AggregateError([error])]) {
      const translated = translateDatabaseError(failure);
      assert.ok(translated instanceof WeirError && translated.retryable, code);
    }
  }
});
