import pg from "pg";
import { jittered } from "../../async/backoff.ts";
import { LONGEST_TIMER_MS, pause } from "../../async/clock.ts";
import type { Logger } from "pino";
import {
  hasLostDeadlock,
  isWorthAFreshConnection,
  type ServerOrigin,
  translateDatabaseError,
} from "./errors.ts";
import type { CopyClient } from "./copy-client.ts";
import { Probe } from "./probe.ts";
import { ServerClient } from "./server-client.ts";
import { LookUps } from "./look-ups.ts";
import {
  applySettings,
  type OpenPool,
  type PrepareSession,
  READ_ONLY,
  SESSION_SETTINGS,
} from "./session-settings.ts";
import type { CamelRow, Connection, Queryable } from "./queryable.ts";
import { endClient, runIn, runOn } from "./statements.ts";

/** Seqs and ids are bigint in SQL; a channel will not live to see 2^53 entries. */
const INT8 = 20;
const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: "text" | "binary") {
    // oxlint-disable-next-line typescript/no-unsafe-enum-assignment -- pg's own signature takes any oid
    return oid === INT8 ? Number : pg.types.getTypeParser(oid, format === "binary" ? "binary" : "text");
  },
};

/** Delay before the victim of a deadlock is repeated, give or take a quarter, ms. */
const DEADLOCK_REST_MS = 50;

/**
 * Far more than any statement of ours takes, but a server that vanished without a word would be waited for till then. What
 * is bound to a session may give its statements more.
 */
const STATEMENT_LIMIT_MS = 120_000;
/** A migration makes an index over a long log, or waits for another daemon that does. */
const UNLIMITED_MS = LONGEST_TIMER_MS;

/**
 * In the `from` of a statement: the commit of its transaction does not wait for the disk (a fifth of a millisecond, and on
 * a slow disk far more). It outlives the daemon all the same; a failure of the machine or of Postgres itself undoes what was
 * committed so in the last half second, but never what a later commit has waited for: the log is written in order. So it
 * is for rows alone whose loss leaves what a crash just before them would have left.
 */
export const ASYNC_COMMIT = "set_config('synchronous_commit', 'off', true)";

/**
 * The sessions of a running daemon share this advisory lock, so that whoever looks sees it, whatever the address calls its connections.
 * Any number that no other program on the same database is likely to take.
 */
const DAEMON_LOCK = 7_305_814_002;
/** Nobody takes it for itself alone: it is always free to be shared. */
const SHARE_DAEMON_LOCK = `pg_try_advisory_lock_shared(${DAEMON_LOCK}) as "daemon"`;

/** Process ids of the sessions that hold it in this database, for a statement's `from`. */
export const DAEMON_SESSIONS = `(select pid from pg_locks
   where locktype = 'advisory' and granted and objsubid = 1
     and database = (select oid from pg_database where datname = current_database())
     and (classid::bigint << 32) + objid::bigint = ${DAEMON_LOCK})`;

/** A limit of `pg` of its own, which an address can set for all statements: {@link runOn} has one for each. */
const CLIENT_LIMIT = /(?<=[?&])query_timeout=[^&]*&?/g;

export interface DatabaseOptions {
  /** Default: 10. */
  readonly maxConnections?: number;
  /** How the server's activity calls the connections. Default: weir. */
  readonly applicationName?: string;
  /** Others see a running daemon on the database for as long as it has a connection. Default: false. */
  readonly isDaemon?: boolean;
  /** The server refuses every write. Default: false. */
  readonly isReadOnly?: boolean;
}

/** A message of the server, which `pg` hands on. */
interface ServerParameter {
  readonly parameterName: string;
  readonly parameterValue: string;
}

/** Connections of a pool, and the statements that wait for one. */
export interface PoolUse {
  readonly busy: number;
  readonly idle: number;
  readonly waiting: number;
}

/** The pool of connections, and transactions over it; look-ups have one beside it. All errors are translated once, here. */
export class Database implements Queryable, AsyncDisposable {
  readonly #pool: pg.Pool;
  readonly #lookUps: LookUps;
  readonly #session: pg.ClientConfig;
  readonly #prepare: PrepareSession;
  readonly #origin: ServerOrigin;
  readonly #log: Logger;
  /** In which generation each connection was made. */
  readonly #madeIn = new WeakMap<pg.PoolClient, number>();
  /** Connections of an earlier one are given up: what they have prepared may be of an older schema. */
  #generation = 0;

  constructor(connection: Connection, log: Logger, options: DatabaseOptions = {}) {
    this.#log = log;
    this.#origin = "url" in connection ? "url" : "embedded";
    const target =
      "url" in connection
        ? { connectionString: connection.url.replaceAll(CLIENT_LIMIT, "") }
        : // A blank: of an empty one `pg` would take the environment's PGOPTIONS.
          { ...connection, options: " " };
    const settings = options.isReadOnly === true ? { ...SESSION_SETTINGS, ...READ_ONLY } : SESSION_SETTINGS;
    const more = options.isDaemon === true ? [SHARE_DAEMON_LOCK] : [];
    this.#prepare = async (client, others = {}) => applySettings(client, { ...settings, ...others }, more);
    this.#session = {
      ...target,
      types,
      application_name: options.applicationName ?? "weir",
      connectionTimeoutMillis: 10_000,
      keepAlive: true,
    };
    const openPool: OpenPool = (poolSettings, others) =>
      watched({ ...this.#session, ...poolSettings }, async (client) => this.#prepare(client, others), log);
    this.#pool = openPool({ max: options.maxConnections ?? 10 });
    this.#pool.on("connect", (client) => void this.#madeIn.set(client, this.#generation));
    this.#lookUps = new LookUps(openPool, this.#origin);
  }

  get use(): PoolUse {
    const { totalCount, idleCount, waitingCount } = this.#pool;
    return { busy: totalCount - idleCount, idle: idleCount, waiting: waitingCount };
  }

  /**
   * For statements that may be costly and that can be done without: over a few connections of their own, and ended by the
   * server after some seconds.
   * @param signal ends those that are under way, on the server as well
   */
  lookUps(signal?: AbortSignal): Queryable {
    return {
      query: async (name, text, values = []) =>
        this.#lookUps.query({ name, text, values: [...values] }, signal),
    };
  }

  async query<Row extends pg.QueryResultRow & CamelRow<Row>>(
    name: string,
    text: string,
    values: readonly unknown[] = [],
    limitMs?: number,
  ): Promise<Row[]> {
    return this.#withFresh(
      // Whatever connection the pool has costs a fifth less; that of a statement that fails is given up.
      async () => this.#run<Row>(this.#pool, { name, text, values: [...values] }, limitMs),
      async () => this.#withClient(null, async (client) => client.query<Row>(name, text, values, limitMs)),
    );
  }

  /** Runs a script of several statements, as one implicit transaction. */
  async script(text: string): Promise<void> {
    try {
      await runIn(this.#pool, { text }, STATEMENT_LIMIT_MS);
    } catch (error) {
      throw translateDatabaseError(error, this.#origin);
    }
  }

  /** Runs `work` in a transaction; any error rolls it back. It may be run a second time, from its beginning. */
  async transaction<Result>(work: (client: Queryable) => Promise<Result>): Promise<Result> {
    const attempt = async (): Promise<Result> => this.#withClient("begin", work);
    return this.#withFresh(attempt, attempt);
  }

  async snapshot<Result>(work: (client: Queryable) => Promise<Result>): Promise<Result> {
    const attempt = async (): Promise<Result> =>
      this.#withClient("begin isolation level repeatable read read only", work);
    return this.#withFresh(attempt, attempt);
  }

  /**
   * Moves whole tables over one connection, in a transaction: `read`: over one snapshot of the database, which goes on being
   * written; `write`: any error takes all of it back.
   */
  async copy<Result>(mode: "read" | "write", work: (client: CopyClient) => Promise<Result>): Promise<Result> {
    const { copyStreams } = await import("./copy-client.ts");
    // A table may take hours.
    const client = new ServerClient(this.#session);
    client.on("error", () => undefined);
    const query: Queryable["query"] = async (name, text, values = []) =>
      this.#run(client, { name, text, values: [...values] }, UNLIMITED_MS);
    try {
      await client.connect();
      await this.#prepare(client);
      await client.query(mode === "read" ? "begin isolation level repeatable read read only" : "begin");
      const result = await work({ query, ...copyStreams(client) });
      await client.query("commit");
      return result;
    } catch (error) {
      throw translateDatabaseError(error, this.#origin);
    } finally {
      // Without a commit the server takes all of it back.
      await endClient(client);
    }
  }

  /** Lends one connection, for what is bound to a session (advisory locks, NOTIFY), and may take its time. */
  async session<Result>(work: (client: Queryable) => Promise<Result>): Promise<Result> {
    return this.#withClient(null, work, UNLIMITED_MS);
  }

  /**
   * LISTEN on a connection of its own, outside the pool, until it is disposed of.
   * @param topic one of our own: it becomes part of a statement
   * @param onEnd told once, where the connection ends by itself: nothing is heard from then on
   */
  async listen(topic: string, onMessage: () => void, onEnd: () => void): Promise<AsyncDisposable> {
    const client = new ServerClient(this.#session);
    let isOver = false;
    const end = (): void => {
      if (!isOver) onEnd();
      isOver = true;
    };
    client.on("error", end);
    client.on("end", end);
    client.on("notification", onMessage);
    try {
      await client.connect();
      await this.#prepare(client);
      await runOn(client, { text: `listen ${topic}` }, STATEMENT_LIMIT_MS);
    } catch (error) {
      isOver = true;
      await endClient(client);
      throw translateDatabaseError(error, this.#origin);
    }
    return {
      async [Symbol.asyncDispose]() {
        isOver = true;
        await endClient(client);
      },
    };
  }

  /**
   * Lends two connections without the settings of Weir's sessions, for a look at the server.
   * @param work is also given the version that the server reports
   */
  async withPlainClients<Result>(
    work: (client: pg.Client, other: pg.Client, version: string) => Promise<Result>,
  ): Promise<Result> {
    const clients: pg.Client[] = [];
    const add = (): pg.Client => {
      const client = new ServerClient(this.#session);
      client.on("error", () => undefined);
      clients.push(client);
      return client;
    };
    // An invalid address throws before there is a client.
    try {
      const [client, other] = [add(), add()];
      let version = "";
      client.connection.on("parameterStatus", ({ parameterName, parameterValue }: ServerParameter) => {
        if (parameterName === "server_version") version = parameterValue;
      });
      await Promise.all(clients.map(async (each) => each.connect()));
      return await work(client, other, version);
    } catch (error) {
      throw translateDatabaseError(error, this.#origin);
    } finally {
      await Promise.all(clients.map(endClient));
    }
  }

  /**
   * Opens a probe that checks whether the database responds.
   * @param limitMs an answer that takes longer counts as no response
   */
  openProbe(limitMs: number): Probe {
    return new Probe(this.#session, this.#prepare, limitMs);
  }

  async #connect(): Promise<pg.PoolClient> {
    // An invalid address throws before there is a promise.
    try {
      for (;;) {
        const client = await this.#pool.connect();
        if (this.#madeIn.get(client) === this.#generation) return client;
        client.release(true);
      }
    } catch (error) {
      throw translateDatabaseError(error, this.#origin);
    }
  }

  /**
   * Repeats by a fresh connection what failed for an unknown reason: after a migration by another version, older connections
   * fail ("cached plan must not change result type"). A failed statement has changed nothing: it is a transaction of its own.
   * The victim of a deadlock is repeated as well.
   */
  async #withFresh<Result>(work: () => Promise<Result>, again: () => Promise<Result>): Promise<Result> {
    const generation = this.#generation;
    try {
      return await work();
    } catch (error) {
      if (hasLostDeadlock(error)) {
        // The other one has its locks by then: else both would meet again.
        await pause(jittered(DEADLOCK_REST_MS));
        return again();
      }
      if (!isWorthAFreshConnection(error)) throw error;
      this.#log.warn({ code: error.code }, "database_asked_again");
      // Of several that fail at once the first has done it.
      if (generation === this.#generation) this.#generation += 1;
      return again();
    }
  }

  async #withClient<Result>(
    begin: string | null,
    work: (client: Queryable) => Promise<Result>,
    sessionMs?: number,
  ): Promise<Result> {
    const client = await this.#connect();
    const bare = async (text: string): Promise<unknown> => runOn(client, { text }, STATEMENT_LIMIT_MS);
    let broken = false;
    try {
      if (begin !== null) await bare(begin);
      const query: Queryable["query"] = async (name, text, values = [], limitMs = STATEMENT_LIMIT_MS) =>
        this.#run(client, { name, text, values: [...values] }, sessionMs ?? limitMs);
      const result = await work({ query });
      if (begin !== null) await bare("commit");
      return result;
    } catch (error) {
      if (begin !== null) {
        // A connection that cannot roll back is not given to the next.
        await bare("rollback").catch(() => (broken = true));
      }
      throw translateDatabaseError(error, this.#origin);
    } finally {
      client.release(broken);
    }
  }

  async #run<Row extends pg.QueryResultRow>(
    client: pg.Pool | pg.Client,
    statement: pg.QueryConfig,
    limitMs = STATEMENT_LIMIT_MS,
  ): Promise<Row[]> {
    try {
      return client instanceof pg.Pool
        ? await runIn<Row>(client, statement, limitMs)
        : await runOn<Row>(client, statement, limitMs);
    } catch (error) {
      throw translateDatabaseError(error, this.#origin);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all([this.#pool.end(), this.#lookUps[Symbol.asyncDispose]()]);
  }
}

/** A pool that survives the end of its connections. @param prepare awaited before a new one is lent out */
function watched(config: pg.PoolConfig, prepare: (client: pg.Client) => Promise<void>, log: Logger): pg.Pool {
  // The pool awaits its promise, and its clients are whole ones: the types say neither.
  // oxlint-disable-next-line no-unsafe-type-assertion
  const onConnect = prepare as unknown as (client: pg.ClientBase) => void;
  // A server that has vanished never ends its side of an idle connection, which keeps no process alive for that.
  const pool = new pg.Pool({ ...config, Client: ServerClient, onConnect, allowExitOnIdle: true });
  // Without listeners, a stopped database ends the process. A client's own is there from its first moment: one that is
  // lent out has none of the pool's, and its end may come in the same packet as the answer before it.
  pool.on("connect", (client) => {
    client.on("error", () => undefined);
  });
  pool.on("error", (error) => {
    // A server that is stopped behind us says so to connections that are closing already.
    if (!pool.ending) log.warn({ why: error.message }, "database_connection_lost");
  });
  return pool;
}
